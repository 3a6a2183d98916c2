//! Runs and a process that dies, or a store that fails: nothing is recorded twice, nothing is forgotten (W1, W2, L3, R4).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use std::cell::RefCell;

use drystone::{
    CallError, Error, Event, Failure, Fault, Flow, Primitives, RunError, Services, d,
    testing::{self, Executor, Latch, Log, Moment, Setup, World},
    workflow,
    workflow::{Cause, RunPhase},
};
use drystone_tests::{
    typed::both,
    world::{self, toys::call},
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
    doors: Doors,
}

/// What steps wait for: the guilty one's is never opened, for the process dies first.
#[derive(Clone, Default)]
struct Doors {
    guilty: Latch,
    others: Latch,
}

#[derive(Debug, Event, Serialize, Deserialize)]
struct Go(u32);

/// A step that kills the process, if it is guilty.
#[derive(Default, Serialize, Deserialize)]
struct Job;

#[workflow]
impl Job {
    async fn run(flow: &Flow<Self>, name: String, catches: bool) -> Result<String, Failure> {
        let first = flow.work(name.clone());
        let told = if catches { first.catch().await.unwrap_or_else(|fault| fault.to_string()) } else { first.await };
        Ok(format!("{name}: {told}, {}", flow.again(name.clone()).await))
    }

    #[step]
    async fn work(name: String, doors: &Doors, log: &Log) -> String {
        log.say(name.clone());
        let door = if name == "guilty" { &doors.guilty } else { &doors.others };
        door.clone().wait().await;
        "worked".into()
    }

    #[step]
    async fn again(name: String, log: &Log) -> String {
        log.say(format!("{name} again"));
        "and again".into()
    }
}

/// Steps, an event, a sleep, and an end that cleans up.
#[derive(Default, Serialize, Deserialize)]
struct Story {
    at: u32,
}

#[workflow(events(Go))]
impl Story {
    async fn run(flow: &Flow<Self>) -> u32 {
        let one = flow.tell(1).await;
        flow.update(|story| story.at = one);
        let (Go(two), three) = join!(flow.wait_for::<Go>(), flow.tell(3));
        flow.sleep("1m").await;
        one + two + three + flow.tell(4).await
    }

    #[cancelled]
    async fn cleanup(flow: &Flow<Self>) -> Result<(), Failure> {
        let at = flow.look(|story| story.at);
        flow.tell(at + 10).await;
        flow.sleep("1m").await;
        flow.tell(12).await;
        Ok(())
    }

    #[step]
    async fn tell(number: u32, log: &Log) -> u32 {
        log.say(number.to_string());
        number
    }
}

thread_local! {
    /// What kills the process, in this test.
    static BOMB: RefCell<Option<Executor>> = const { RefCell::new(None) };
}

/// Its body kills the process after a minute, if it is guilty.
#[derive(Default, Serialize, Deserialize)]
struct Deadly;

#[workflow]
impl Deadly {
    async fn run(flow: &Flow<Self>, is_guilty: bool) -> u32 {
        flow.sleep("1m").await;
        if is_guilty {
            BOMB.with_borrow(|bomb| bomb.as_ref().unwrap().kill_current());
        }
        7
    }
}

#[derive(Primitives)]
struct Mine {
    deadly: Deadly,
}

#[derive(Primitives)]
struct App {
    job: Job,
    story: Story,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

/// Lets the process die whenever the guilty step runs; how often that was.
async fn die_while_guilty(world: &World<App>, log: &Log) -> Vec<String> {
    let mut said = Vec::new();
    for _ in 0..30 {
        world.advance(d!("1s")).await;
        let new = log.take();
        let is_fatal = new.iter().any(|line| line == "guilty");
        said.extend(new);
        if !is_fatal {
            return said;
        }
        world.crash().await;
        world.restart().await;
    }
    panic!("it dies for ever: {said:?}");
}

/// W2
#[tokio::test]
async fn a_step_that_kills_the_process_each_time_ends_in_a_fault_and_innocents_go_on() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        for (key, catches) in [("guilty", false), ("i1", false), ("i2", false)] {
            world.client().job(key).start(key.into(), catches).await.unwrap();
        }
        fakes.doors.others.open();
        let said = die_while_guilty(&world, &fakes.log).await;
        assert_eq!(said.iter().filter(|line| *line == "guilty").count(), 6, "five deaths are forgiven: {said:?}");
        let Err(CallError::Failed(RunError::Fault(fault))) = world.client().job("guilty").result().await else {
            panic!("it is at fault")
        };
        assert_eq!(fault, Fault { step: "work#1".into(), cause: Cause::Exhausted { crashes: 6 } });
        for key in ["i1", "i2"] {
            let result = world.client().job(key).result().await.unwrap();
            assert_eq!(result, format!("{key}: worked, and again"));
        }
    }
}

/// W2
#[test]
fn a_body_that_kills_the_process_each_time_is_parked_as_poisoned_and_others_go_on() {
    let world = world::World::of(testing::registry::<(), Mine>(()).unwrap());
    BOMB.set(Some(world.executor.clone()));
    for (key, is_guilty) in [("guilty", true), ("innocent", false)] {
        world.call(call("deadly", key, "start", format!("[{is_guilty}]"))).unwrap();
    }
    world.advance(d!("1m"));
    let mut deaths = 0;
    while world.is_dead() {
        deaths += 1;
        world.restart();
        world.advance(d!("1s"));
    }
    assert_eq!(deaths, 6, "five are forgiven");
    let parked = world.call(call("deadly", "guilty", "status", "[]")).unwrap_err();
    assert!(matches!(parked, Error::Parked { .. }) && parked.to_string().contains("died 6 times"), "{parked}");
    assert_eq!(world.call(call("deadly", "innocent", "result", "[]")).unwrap(), "7");
}

/// W2, W3
#[tokio::test]
async fn a_body_that_catches_the_fault_of_a_deadly_step_goes_on() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().job("a");
        run.start("guilty".into(), true).await.unwrap();
        die_while_guilty(&world, &fakes.log).await;
        assert_eq!(run.result().await.unwrap(), "guilty: `work#1` killed the process 6 times, and again");
    }
}

/// W1, V5, H1
#[tokio::test]
async fn two_deaths_at_any_commits_of_a_run_repeat_at_most_the_steps_in_flight() {
    for (first, then) in [(Moment::Before, Moment::After), (Moment::After, Moment::Before)] {
        for (n, m) in (1..=6).flat_map(|n| (1..=3).map(move |m| (n, m))) {
            let (world, fakes) = started(World::sqlite()).await;
            let run = world.client().story("a");
            let when = format!("{first:?} commit {n}, then {then:?} commit {m}");
            for death in [Some((n, first)), Some((m, then)), None] {
                if let Some((commit, moment)) = death {
                    world.crash_at_commit(commit, moment);
                }
                let _ = run.start().idempotency_key("start").await;
                let _ = run.send(Go(2)).idempotency_key("go").await;
                world.advance(d!("2m")).await;
                world.restart().await;
            }
            assert_eq!(run.result().await.unwrap(), 10, "{when}");
            let mut said = fakes.log.take();
            assert!((3..=5).contains(&said.len()), "{when}: {said:?}");
            said.sort();
            said.dedup();
            assert_eq!(said, ["1", "3", "4"], "{when}");
            let history = run.history().await.unwrap();
            let mut operations: Vec<_> = history.operations().collect();
            operations.sort_unstable();
            assert_eq!(operations, ["sleep#1", "tell#1", "tell#2", "tell#3", "wait:Go#1"], "{when}");
        }
    }
}

/// L3
#[tokio::test]
async fn a_death_at_any_commit_of_the_cleanup_does_not_keep_a_run_from_being_cancelled() {
    for moment in [Moment::Before, Moment::After] {
        for n in 1..=5 {
            let (world, fakes) = started(World::sqlite()).await;
            let run = world.client().story("a");
            run.start().await.unwrap();
            assert_eq!(fakes.log.take(), ["1", "3"]);
            world.crash_at_commit(n, moment);
            let _ = run.cancel().await;
            world.advance(d!("2m")).await;
            world.restart().await;
            let _ = run.cancel().await;
            world.advance(d!("2m")).await;
            let when = format!("death {moment:?} commit {n}");
            assert_eq!(run.result().await.unwrap_err().failed(), Some(RunError::Cancelled), "{when}");
            let mut said = fakes.log.take();
            assert!((2..=3).contains(&said.len()), "{when}: {said:?}");
            said.dedup();
            assert_eq!(said, ["11", "12"], "{when}");
        }
    }
}

/// R4, W1
#[tokio::test]
async fn a_step_that_ends_while_the_store_is_down_is_recorded_when_it_is_back_and_not_executed_again() {
    for wrong in [testing::Fault::Down, testing::Fault::Full] {
        for setup in both() {
            let (world, fakes) = started(setup).await;
            let run = world.client().job("a");
            run.start("a".into(), false).await.unwrap();
            world.store_fails(wrong);
            fakes.doors.others.open();
            world.advance(d!("1m")).await;
            world.store_works();
            world.advance(d!("10s")).await;
            assert_eq!(run.result().await.unwrap(), "a: worked, and again");
            assert_eq!(fakes.log.take(), ["a", "a again"], "{wrong:?}");
        }
    }
}

/// R4, fA15
#[tokio::test]
async fn what_cannot_be_stored_is_refused_in_time_and_can_be_asked_again() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let (run, other) = (world.client().story("a"), world.client().story("b"));
        run.start().await.unwrap();
        world.store_fails(testing::Fault::Full);
        let (sent, begun, ()) = tokio::join!(
            run.send(Go(2)).idempotency_key("go").deadline(d!("5s")).into_future(),
            other.start().idempotency_key("start").deadline(d!("5s")).into_future(),
            world.advance(d!("1m")),
        );
        assert!(matches!(sent, Err(CallError::Fault(error)) if error.is_retryable()));
        assert!(matches!(begun, Err(CallError::Fault(error)) if error.is_retryable()));
        world.store_works();
        world.advance(d!("10s")).await;
        run.send(Go(2)).idempotency_key("go").await.unwrap();
        other.start().idempotency_key("start").await.unwrap();
        other.send(Go(2)).await.unwrap();
        world.advance(d!("2m")).await;
        for run in [run, other] {
            assert_eq!(run.result().await.unwrap(), 10);
        }
        let mut said = fakes.log.take();
        said.sort();
        assert_eq!(said, ["1", "1", "3", "3", "4", "4"]);
    }
}

/// R4
#[tokio::test]
async fn a_commit_whose_answer_is_lost_and_one_that_is_lost_itself_are_made_once() {
    for wrong in [testing::Fault::LostAnswer, testing::Fault::LostCommit] {
        for setup in both() {
            let (world, fakes) = started(setup).await;
            let run = world.client().story("a");
            run.start().await.unwrap();
            world.store_fails(wrong);
            let (sent, ()) = tokio::join!(run.send(Go(2)).into_future(), world.advance(d!("20s")));
            sent.unwrap();
            world.store_fails(wrong);
            world.advance(d!("2m")).await;
            assert_eq!(run.result().await.unwrap(), 10, "{wrong:?}");
            assert_eq!(fakes.log.take(), ["1", "3", "4"], "{wrong:?}");
        }
    }
}

/// R1, A6
#[tokio::test]
async fn sleeping_runs_are_not_read_when_the_process_starts_and_each_wakes_when_it_is_due() {
    let (world, fakes) = started(World::memory()).await;
    for number in 0..200 {
        let run = world.client().story(format!("run-{number}"));
        run.start().await.unwrap();
        run.send(Go(2)).await.unwrap();
    }
    assert_eq!(fakes.log.take().len(), 400);
    world.crash().await;
    let before = world.counts();
    world.restart().await;
    world.settle().await;
    let spent = world.counts().since(before);
    assert_eq!((spent.entities, spent.read_calls), (0, 0), "a scan finds them; nobody reads a journal");
    world.advance(d!("1m")).await;
    assert_eq!(fakes.log.take().len(), 200);
    for number in 0..200 {
        let status = world.client().story(format!("run-{number}")).status().await.unwrap().unwrap();
        assert_eq!(status.phase, RunPhase::Succeeded);
    }
}

/// R2
#[tokio::test]
async fn a_shutdown_lets_steps_end_and_the_next_process_goes_on_without_counting_a_crash() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().job("a");
        run.start("a".into(), false).await.unwrap();
        for _ in 0..8 {
            world.shutdown(d!("1s")).await.unwrap();
            world.restart().await;
            world.settle().await;
        }
        fakes.doors.others.open();
        world.settle().await;
        assert_eq!(run.result().await.unwrap(), "a: worked, and again");
        assert_eq!(fakes.log.take().iter().filter(|line| *line == "a").count(), 9, "given back, and begun again");
    }
}
