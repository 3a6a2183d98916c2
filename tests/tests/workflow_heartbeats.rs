//! Steps with heartbeats, which report progress (W10).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use drystone::{
    CallError, Context, Failure, Flow, Heartbeat, Primitives, RunError, Services, d,
    testing::{Clock, Latch, Log, Setup, World},
    workflow,
    workflow::{Cause, join_all},
};
use drystone_tests::typed::both;
use serde::{Deserialize, Serialize};

#[derive(Clone, Services)]
struct Fakes {
    log: Log,
    latch: Latch,
    clock: Clock,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Page {
    number: u32,
}

/// Loads pages, and fails, hangs or dies at some of them.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Import;

#[workflow]
impl Import {
    async fn run(flow: &Flow<Self>, plan: String) -> Result<u32, Failure> {
        flow.load(plan).await
    }

    #[step(max_attempts = 3, backoff = "1s", heartbeat = "30s")]
    async fn load(
        plan: String,
        beat: &Heartbeat<Page>,
        clock: &Clock,
        latch: &Latch,
        log: &Log,
        cx: &Context,
    ) -> Result<u32, Failure> {
        let from = beat.last().map_or(0, |page| page.number + 1);
        log.say(format!("attempt {} from {from}", cx.attempt()));
        for number in from..10 {
            clock.sleep(d!("300ms")).await;
            beat.beat(&Page { number });
            match plan.as_str() {
                "fails" if number == 4 => return Err("page 4".into()),
                "panics" if number == 4 => panic!("at page 4"),
                "hangs" if number == 4 => latch.clone().wait().await,
                "slow" => clock.sleep(d!("29s")).await,
                _ => {}
            }
        }
        Ok(from)
    }
}

/// A step whose report is too long.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Talker;

#[workflow]
impl Talker {
    async fn run(flow: &Flow<Self>, bytes: usize) {
        flow.talk(bytes).await;
    }

    #[step(max_attempts = 1)]
    async fn talk(bytes: usize, beat: &Heartbeat<String>) {
        beat.beat(&"x".repeat(bytes));
    }
}

/// Many steps with heartbeats, raced against an hour.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Choir;

#[workflow]
impl Choir {
    async fn run(flow: &Flow<Self>, voices: u32) -> String {
        select! {
            _ = join_all((0..voices).map(|number| flow.sing(number))) => "sung".to_owned(),
            _ = flow.sleep("1h") => "too late".to_owned(),
        }
    }

    #[step]
    async fn sing(number: u32, beat: &Heartbeat<u32>, latch: &Latch) {
        if number == 0 {
            beat.beat(&number);
        }
        latch.clone().wait().await;
    }
}

#[derive(Primitives)]
struct App {
    import: Import,
    talker: Talker,
    choir: Choir,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes { log: Log::default(), latch: Latch::default(), clock: setup.clock() };
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

/// W10
#[tokio::test]
async fn an_attempt_after_a_failure_sees_the_last_progress() {
    for plan in ["fails", "panics"] {
        for setup in both() {
            let (world, fakes) = started(setup).await;
            let run = world.client().import("a");
            run.start(plan.into()).await.unwrap();
            world.advance(d!("10s")).await;
            assert_eq!(run.result().await.unwrap(), 5);
            assert_eq!(fakes.log.take(), ["attempt 1 from 0", "attempt 2 from 5"]);
        }
    }
}

/// W10: Or later progress.
#[tokio::test]
async fn an_attempt_after_a_crash_sees_progress_of_a_second_ago() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().import("a");
        run.start("hangs".into()).await.unwrap();
        // Page 4 was loaded at 1.5 seconds and is stored at 2.3 seconds.
        world.advance(d!("1600ms")).await;
        world.restart().await;
        world.settle().await;
        assert_eq!(
            fakes.log.take(),
            ["attempt 1 from 0", "attempt 1 from 4"],
            "what was said at 1.2 s was stored at 1.3 s"
        );
        world.advance(d!("2s")).await;
        world.restart().await;
        fakes.latch.open();
        world.advance(d!("5s")).await;
        assert_eq!(run.result().await.unwrap(), 5);
        assert_eq!(fakes.log.take(), ["attempt 1 from 5"]);
    }
}

/// W10: A slow attempt that beats is left alone.
#[tokio::test]
async fn silence_beyond_its_limit_fails_the_attempt() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().import("a");
        run.start("hangs".into()).await.unwrap();
        world.advance(d!("31s")).await;
        assert_eq!(run.status().await.unwrap().unwrap().waits_for[0].attempt, Some(1));
        world.advance(d!("2s")).await;
        let waits = run.status().await.unwrap().unwrap().waits_for;
        assert_eq!(
            (waits[0].attempt, waits[0].last_error.as_ref().unwrap().to_string()),
            (Some(2), "it gave no sign of life".into())
        );
        world.advance(d!("10s")).await;
        assert_eq!(run.result().await.unwrap(), 5);
        fakes.log.take();
        let run = world.client().import("slow");
        run.start("slow".into()).await.unwrap();
        world.advance(d!("5m")).await;
        assert_eq!(run.result().await.unwrap(), 0);
        assert_eq!(fakes.log.take(), ["attempt 1 from 0"]);
    }
}

/// The number of heartbeat rows in an SQLite file.
fn beats_in(path: &std::path::Path) -> i64 {
    let connection = rusqlite::Connection::open(path).unwrap();
    let sql = "SELECT count(*) FROM drystone_row row WHERE lane LIKE 'beat/%' \
         AND NOT EXISTS (SELECT 1 FROM drystone_gone gone WHERE gone.entity = row.entity AND (whole = 1 OR gone.lane = row.lane))";
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// W10, K3: They are more than a commit has rows.
#[tokio::test]
async fn a_run_of_very_many_beating_steps_can_end() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let (one, two) = (world.client().choir("a"), world.client().choir("b"));
        one.start(1_200).await.unwrap();
        two.start(1_200).await.unwrap();
        assert!(one.terminate().await.unwrap());
        world.advance(d!("1h")).await;
        assert_eq!(two.result().await.unwrap(), "too late");
    }
}

/// W10: It is gone when the step has ended.
#[tokio::test]
async fn progress_is_stored_once_a_second_at_most() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("beats");
    for setup in [World::memory(), World::sqlite_at(&path)] {
        let (world, _) = started(setup).await;
        let run = world.client().import("a");
        run.start("well".into()).await.unwrap();
        let before = world.counts().commits;
        world.advance(d!("2900ms")).await;
        let said = world.counts().commits - before;
        assert!((2..=4).contains(&said), "9 beats in 2.7 seconds, {said} commits");
        assert!(!path.exists() || beats_in(&path) == 1, "it is stored");
        world.advance(d!("5s")).await;
        assert_eq!(run.result().await.unwrap(), 0);
        assert_eq!(run.status().await.unwrap().unwrap().entries, 3);
        assert!(!path.exists() || beats_in(&path) == 0, "it is gone");
    }
}

/// W10, K3
#[tokio::test]
async fn a_heartbeat_that_is_too_long_is_a_fault_that_says_so() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().talker("a");
        run.start(10_000).await.unwrap();
        run.result().await.unwrap();
        let run = world.client().talker("b");
        run.start(100_000).await.unwrap();
        let error = run.result().await.unwrap_err();
        let CallError::Failed(RunError::Fault(fault)) = error else { panic!("{error:?}") };
        assert!(matches!(&fault.cause, Cause::Refused { reason } if reason.contains("heartbeat")), "{fault}");
    }
}

/// W10
#[tokio::test]
async fn a_step_is_a_plain_function_outside_of_a_run() {
    let beat = Heartbeat::<Page>::detached();
    beat.beat(&Page { number: 7 });
    assert_eq!(beat.last(), None);
    Talker::talk(1_000_000, &Heartbeat::detached()).await;
}
