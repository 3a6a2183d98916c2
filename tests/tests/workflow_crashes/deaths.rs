//! Deaths, outages and shutdowns at any time (W2, R).

use super::*;

#[derive(Primitives)]
struct App {
    job: Job,
    story: Story,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

#[derive(Debug, Event, Serialize, Deserialize)]
struct Go(u32);

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

/// W1, V5, H1: At any two commits of a run.
#[tokio::test]
async fn two_deaths_repeat_at_most_the_steps_in_flight() {
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

/// L3: At any commit.
#[tokio::test]
async fn a_death_during_the_cleanup_does_not_prevent_the_cancel() {
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

/// R4, W1: It is not executed again.
#[tokio::test]
async fn a_step_that_ends_while_the_store_is_down_is_recorded_later() {
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

/// R4, fA15: It can be repeated.
#[tokio::test]
async fn a_call_that_cannot_be_stored_is_refused_in_time() {
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

/// R4: A lost commit is made once, too.
#[tokio::test]
async fn a_commit_with_a_lost_answer_is_made_once() {
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

/// R1, A6: Each wakes when it is due.
#[tokio::test]
async fn sleeping_runs_are_not_read_at_the_start() {
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

/// R2: The next process resumes the run.
#[tokio::test]
async fn a_shutdown_lets_steps_end_and_is_no_crash() {
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
