//! Runs whose process dies or whose store fails: nothing is recorded twice, and nothing is forgotten (W1,
//! W2, L3, R4).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use std::cell::RefCell;

use drystone::{
    CallError, Error, Event, Failure, Flow, Primitives, RunError, Services, d,
    testing::{self, Executor, Latch, Log, Moment, Setup, World},
    workflow,
    workflow::RunPhase,
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

/// The latches for which steps wait. The latch of the guilty step is never opened, because the process dies
/// first.
#[derive(Clone, Default)]
struct Doors {
    guilty: Latch,
    others: Latch,
}

#[derive(Debug, Event, Serialize, Deserialize)]
struct Go(u32);

/// A workflow whose step kills the process if the run is guilty.
#[derive(Default, Serialize, Deserialize)]
struct Job;

#[workflow]
impl Job {
    async fn run(flow: &Flow<Self>, name: String) -> Result<String, Failure> {
        flow.book(name.clone()).await;
        let told = flow.work(name.clone()).await;
        Ok(format!("{name}: {told}, {}", flow.again(name.clone()).await))
    }

    #[step(undo = unbook)]
    async fn book(name: String) -> String {
        name
    }

    #[step]
    async fn unbook(name: String, log: &Log) {
        log.say(format!("{name} is unbooked"));
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

/// A workflow with steps, an event, a sleep and a cleanup.
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
    /// The means to kill the process of this test.
    static BOMB: RefCell<Option<Executor>> = const { RefCell::new(None) };
}

/// A workflow whose body kills the process after a minute if the run is guilty.
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

/// Lets the process die whenever the guilty step runs, until it has lived for an hour. Returns the log.
async fn die_while_guilty(world: &World<App>, log: &Log) -> Vec<String> {
    let mut said = Vec::new();
    let mut lived_s = 0;
    while lived_s < 3_600 {
        world.advance(d!("10s")).await;
        lived_s += 10;
        let new = log.take();
        let is_fatal = new.iter().any(|line| line == "guilty");
        said.extend(new);
        if is_fatal {
            lived_s = 0;
            world.restart().await;
        }
    }
    said
}

/// W2, R6
#[tokio::test]
async fn a_step_that_kills_the_process_each_time_holds_its_run_with_all_it_has_until_it_is_resumed() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let keys: Vec<String> = (1..20).map(|number| format!("i{number}")).chain(["guilty".to_owned()]).collect();
        for key in &keys {
            world.client().job(key).start(key.clone()).await.unwrap();
        }
        fakes.doors.others.open();
        let said = die_while_guilty(&world, &fakes.log).await;
        assert_eq!(said.iter().filter(|line| *line == "guilty").count(), 9, "eight deaths are forgiven: {said:?}");
        for key in &keys[..19] {
            let result = world.client().job(key).result().await.unwrap();
            assert_eq!(result, format!("{key}: worked, and again"));
        }
        let guilty = world.client().job("guilty");
        assert!(matches!(guilty.try_result().await, Err(CallError::Fault(Error::Parked { .. }))));
        let failing = world.entities().failing().await.unwrap().entities;
        assert_eq!(failing.iter().map(|entity| entity.key.as_str()).collect::<Vec<_>>(), ["guilty"]);
        let explained = world.explain("job", "guilty").await.unwrap().to_string();
        assert!(explained.contains("work#1` is suspected of killing the process, which died 9 times"), "{explained}");
        assert!(!said.iter().any(|line| line.contains("unbooked")), "nothing is undone: {said:?}");
        assert!(world.dead_letters().list(Default::default()).await.unwrap().letters.is_empty());
        fakes.doors.guilty.open();
        assert!(guilty.resume().await.unwrap());
        world.settle().await;
        assert_eq!(guilty.result().await.unwrap(), "guilty: worked, and again");
    }
}

/// W2
#[tokio::test]
async fn runs_that_were_merely_there_succeed_however_often_the_process_dies() {
    for (deaths, apart_s) in [(6, 1), (12, 30), (60, 1), (60, 10), (60, 59), (60, 61), (120, 1)] {
        let (world, fakes) = started(World::memory()).await;
        let keys: Vec<String> = (0..20).map(|number| format!("i{number}")).collect();
        for key in &keys {
            world.client().job(key).start(key.clone()).await.unwrap();
        }
        for _ in 0..deaths {
            world.advance(std::time::Duration::from_secs(apart_s)).await;
            world.restart().await;
        }
        fakes.doors.others.open();
        world.advance(d!("1h")).await;
        for key in &keys {
            let result = world.client().job(key).result().await.unwrap();
            assert_eq!(result, format!("{key}: worked, and again"), "{deaths} deaths, {apart_s} s apart");
        }
        assert!(world.entities().failing().await.unwrap().entities.is_empty());
        assert!(world.dead_letters().list(Default::default()).await.unwrap().letters.is_empty());
    }
}

/// W2
#[test]
fn a_body_that_kills_the_process_each_time_is_held_and_others_go_on() {
    let world = world::World::of(testing::registry_with_shared_keys::<(), Mine>(()).unwrap());
    BOMB.set(Some(world.executor.clone()));
    for (key, is_guilty) in [("guilty", true), ("innocent", false)] {
        world.call(call("deadly", key, "start", format!("[{is_guilty}]"))).unwrap();
    }
    world.advance(d!("1m"));
    let mut deaths = 0;
    while world.is_dead() {
        deaths += 1;
        world.restart();
        world.advance(d!("1h"));
    }
    assert_eq!(deaths, 9, "eight are forgiven");
    let parked = world.call(call("deadly", "guilty", "status", "[]")).unwrap_err();
    assert!(matches!(parked, Error::Parked { .. }) && parked.to_string().contains("died 9 times"), "{parked}");
    assert_eq!(world.call(call("deadly", "innocent", "result", "[]")).unwrap(), "7");
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
            run.start("a".into()).await.unwrap();
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
        run.start("a".into()).await.unwrap();
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
