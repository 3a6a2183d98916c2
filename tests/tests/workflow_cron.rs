//! One run for each time of the wall clock, under a key that is made from the time, even if the process
//! crashes.

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use std::collections::BTreeSet;

use drystone::{
    CallError, Flow, Primitives, RunError, Services, Tick, Timestamp, d,
    testing::{Log, Setup, World, crash_everywhere},
    workflow,
    workflow::{RunPhase, ScheduleStatus, StartError},
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
}

macro_rules! reports {
    ($($name:ident for $minutes:literal ($($options:tt)+))+) => {$(
        #[derive(Debug, Default, Serialize, Deserialize)]
        struct $name;

        #[workflow($($options)+)]
        impl $name {
            async fn run(flow: &Flow<Self>, tick: Tick) -> String {
                let began = flow.say(tick.clone(), flow.now()).await;
                flow.sleep($minutes).await;
                format!("{} {began}", tick.schedule)
            }

            #[step]
            async fn say(tick: Tick, now: Timestamp, log: &Log) -> String {
                let line = format!("{} at {}", short(tick.scheduled_for), short(now));
                log.say(line.clone());
                line
            }
        }
    )+};
}

reports! {
    Brief for "1m" (cron = "0 * * * *")
    Morning for "1m" (cron = "0 9 * * MON", zone = "Europe/Berlin", overlap = "skip", retention = "1d")
    Skips for "150m" (cron = "@hourly", overlap = "skip")
    Queues for "150m" (cron = "@hourly", overlap = "queue")
    Beside for "150m" (cron = "@hourly", overlap = "parallel")
    MissedSkip for "1m" (cron = "@hourly", missed = "skip")
    MissedAll for "1m" (cron = "@hourly", missed = "backfill", overlap = "queue")
}

#[derive(Primitives)]
struct App {
    brief: Brief,
    morning: Morning,
    skips: Skips,
    queues: Queues,
    beside: Beside,
    missed_skip: MissedSkip,
    missed_all: MissedAll,
}

/// The same keys, with other options behind two names.
#[derive(Primitives)]
struct Later {
    brief: Morning,
    queues: Beside,
}

/// Formats the day and the time.
fn short(time: Timestamp) -> String {
    time.to_string()[8..16].to_owned()
}

/// Monday, 2 November 2026, 06:30 in UTC.
fn monday() -> Timestamp {
    Timestamp::from_millis(1_793_601_000_000)
}

async fn started(setup: Setup<()>) -> (World<App>, Log) {
    let fakes = Fakes::default();
    (setup.starts_at(monday()).services(fakes.clone()).start::<App>().await, fakes.log)
}

fn both() -> [Setup<()>; 2] {
    [World::memory(), World::sqlite()]
}

fn counts(status: Option<ScheduleStatus>) -> (u64, u64) {
    let status = status.unwrap();
    (status.started, status.skipped)
}

/// L10, C1
#[tokio::test]
async fn each_time_has_one_run_under_a_key_that_follows_from_it() {
    for setup in both() {
        let (world, log) = started(setup).await;
        let report = world.client().morning("eu");
        assert!(report.schedule().await.unwrap());
        assert!(!report.schedule().await.unwrap(), "it is scheduled already");
        let status = report.schedule_status().await.unwrap().unwrap();
        assert_eq!(status.next.unwrap().to_string(), "2026-11-02T08:00:00.000Z"); // 09:00 in Berlin
        world.advance(d!("14d")).await;
        assert_eq!(log.take(), ["02T08:00 at 02T08:00", "09T08:00 at 09T08:00"]);
        let key = Tick::new("eu", status.next.unwrap().after(d!("7d"))).key();
        assert_eq!(key, "eu@2026-11-09T08:00:00Z");
        assert_eq!(counts(report.schedule_status().await.unwrap()), (2, 0));
        assert!(world.client().morning(key).status().await.unwrap().is_none(), "kept for a day");
        assert!(report.unschedule().await.unwrap());
        assert!(!report.unschedule().await.unwrap());
        world.advance(d!("14d")).await;
        assert!(log.take().is_empty());
        assert_eq!(report.schedule_status().await.unwrap(), None);
    }
}

/// L10
#[tokio::test]
async fn a_run_is_like_any_other_and_a_schedule_is_no_run() {
    let (world, _) = started(World::memory()).await;
    let client = world.client();
    let (schedule, run) = (client.brief("eu"), client.brief("eu@2026-11-02T07:00:00Z"));
    schedule.schedule().await.unwrap();
    world.advance(d!("30m")).await;
    assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Suspended);
    let (result, ()) = tokio::join!(run.result(), world.advance(d!("1m")));
    assert_eq!(result.unwrap(), "eu 02T07:00 at 02T07:00");
    // There is no run under the schedule's own key.
    assert!(schedule.status().await.unwrap().is_none());
    assert!(schedule.state().await.unwrap().is_none());
    assert!(!schedule.cancel().await.unwrap());
    let refused = schedule.start(Tick::new("eu", monday())).await.unwrap_err();
    assert!(matches!(refused, CallError::Failed(StartError::AlreadyExists { status }) if status == "scheduled"));
    let refused = run.schedule().await.unwrap_err();
    assert!(matches!(refused, CallError::Failed(StartError::AlreadyExists { status }) if status == "succeeded"));
    let long = "k".repeat(500);
    assert!(client.brief(&long).schedule().await.is_err(), "the keys of its runs would be too long");
    assert_eq!(world.entities().await.unwrap().entities.len(), 2);
    assert_eq!(world.dead_letters().count().await.unwrap(), 0);
    assert!(schedule.destroy().await.unwrap());
    assert_eq!(schedule.schedule_status().await.unwrap(), None);
}

/// L10, L2
#[tokio::test]
async fn an_executed_run_does_not_overwrite_the_schedule_of_its_key() {
    for setup in both() {
        let (world, log) = started(setup).await;
        let schedule = world.client().brief("eu");
        schedule.schedule().await.unwrap();
        let refused = schedule.execute(Tick::new("eu", monday())).await.unwrap_err();
        assert!(matches!(refused, CallError::Failed(RunError::AlreadyExists { status }) if status == "scheduled"));
        world.advance(d!("30m")).await;
        assert_eq!(log.take(), ["02T07:00 at 02T07:00"], "it starts its runs as before");
        assert_eq!(counts(schedule.schedule_status().await.unwrap()), (1, 0));
    }
}

/// L10
#[tokio::test]
async fn a_time_during_the_previous_run_is_skipped_queued_or_overlaps() {
    for setup in both() {
        let (world, log) = started(setup).await;
        let client = world.client();
        client.skips("s").schedule().await.unwrap();
        world.advance(d!("5h")).await; // 07:00 to 11:00; each run takes two and a half hours
        assert_eq!(log.take(), ["02T07:00 at 02T07:00", "02T10:00 at 02T10:00"]);
        assert_eq!(counts(client.skips("s").schedule_status().await.unwrap()), (2, 3));
        client.skips("s").unschedule().await.unwrap();

        client.queues("q").schedule().await.unwrap(); // 11:30
        world.advance(d!("6h")).await;
        assert_eq!(log.take(), ["02T12:00 at 02T12:00", "02T13:00 at 02T14:30", "02T14:00 at 02T17:00"]);
        let status = client.queues("q").schedule_status().await.unwrap().unwrap();
        assert_eq!(
            status.queued.iter().map(|time| short(*time)).collect::<Vec<_>>(),
            ["02T15:00", "02T16:00", "02T17:00"]
        );
        client.queues("q").unschedule().await.unwrap();

        client.beside("b").schedule().await.unwrap(); // 17:30
        world.advance(d!("2h")).await;
        assert_eq!(log.take(), ["02T18:00 at 02T18:00", "02T19:00 at 02T19:00"]);
    }
}

/// L10
#[tokio::test]
async fn a_run_that_is_cancelled_terminated_or_destroyed_lets_the_next_go() {
    let (world, log) = started(World::memory()).await;
    let client = world.client();
    client.skips("s").schedule().await.unwrap();
    for (hour, how) in [(7, "cancel"), (8, "terminate"), (9, "destroy")] {
        world.advance(d!("1h")).await;
        let run = client.skips(format!("s@2026-11-02T{hour:02}:00:00Z"));
        let is_done = match how {
            "cancel" => run.cancel().await,
            "terminate" => run.terminate().await,
            _ => run.destroy().await,
        };
        assert!(is_done.unwrap());
    }
    world.advance(d!("1h")).await;
    assert_eq!(log.take().len(), 4);
    assert_eq!(counts(client.skips("s").schedule_status().await.unwrap()), (4, 0));
}

/// L10, H2, L4
#[tokio::test]
async fn a_paused_or_continued_run_is_still_the_previous_run() {
    for setup in both() {
        let (world, log) = started(setup).await;
        let (schedule, run) = (world.client().skips("s"), world.client().skips("s@2026-11-02T07:00:00Z"));
        schedule.schedule().await.unwrap();
        world.advance(d!("1h")).await;
        assert!(run.pause().await.unwrap());
        world.advance(d!("4h 15m")).await;
        assert_eq!(counts(schedule.schedule_status().await.unwrap()), (1, 4));
        assert_eq!(run.restart().await.unwrap().generation, 2);
        world.advance(d!("3h 30m")).await; // the run takes from 11:45 to 14:15
        assert_eq!(counts(schedule.schedule_status().await.unwrap()), (2, 7));
        assert_eq!(log.take(), ["02T07:00 at 02T07:00", "02T07:00 at 02T11:45", "02T15:00 at 02T15:00"]);
    }
}

/// L10
#[tokio::test]
async fn a_hundred_times_wait_for_a_run_and_the_others_are_skipped() {
    let (world, log) = started(World::memory()).await;
    let (schedule, run) = (world.client().queues("q"), world.client().queues("q@2026-11-02T07:00:00Z"));
    schedule.schedule().await.unwrap();
    world.advance(d!("1h")).await;
    assert!(run.pause().await.unwrap());
    world.advance(d!("110h")).await;
    let status = schedule.schedule_status().await.unwrap().unwrap();
    assert_eq!((status.started, status.queued.len(), status.skipped), (1, 100, 10));
    assert!(run.resume().await.unwrap());
    world.settle().await;
    assert_eq!(log.take(), ["02T07:00 at 02T07:00", "02T08:00 at 06T21:30"], "the oldest goes first");
}

/// L10, A4
#[tokio::test]
async fn missed_times_are_made_up_for_as_declared() {
    for setup in both() {
        let (world, log) = started(setup).await;
        let client = world.client();
        client.brief("a").schedule().await.unwrap();
        client.missed_skip("b").schedule().await.unwrap();
        client.missed_all("c").schedule().await.unwrap();
        world.crash().await;
        world.advance(d!("3h")).await; // 07:00, 08:00 and 09:00
        world.restart().await;
        world.advance(d!("10m")).await;
        let ran: BTreeSet<String> = log.take().into_iter().collect();
        let expected = ["02T07:00 at 02T09:30", "02T08:00 at 02T09:31", "02T09:00 at 02T09:30", "02T09:00 at 02T09:32"];
        assert_eq!(ran, expected.map(str::to_owned).into());
        assert_eq!(counts(client.brief("a").schedule_status().await.unwrap()), (1, 2));
        assert_eq!(counts(client.missed_skip("b").schedule_status().await.unwrap()), (0, 3));
        assert_eq!(counts(client.missed_all("c").schedule_status().await.unwrap()), (3, 0));
    }
}

/// L10, E11
#[tokio::test]
async fn another_schedule_is_followed_from_when_it_is_there() {
    let (world, log) = started(World::memory()).await;
    world.client().brief("a").schedule().await.unwrap();
    world.client().queues("q").schedule().await.unwrap();
    world.advance(d!("2h")).await;
    assert_eq!(log.take().len(), 3); // two and one; one waits
    let world = world.restart_as::<Later, _>(Fakes { log: log.clone() }).await.unwrap();
    world.advance(d!("1s")).await;
    assert_eq!(log.take(), ["02T08:00 at 02T08:30"], "what waited need not any more");
    let status = world.client().brief("a").schedule_status().await.unwrap().unwrap();
    assert_eq!(status.next.unwrap().to_string(), "2026-11-09T08:00:00.000Z");
}

/// L10, M1
#[tokio::test]
async fn a_crash_at_any_commit_starts_each_scheduled_run_once() {
    let survived = crash_everywhere(async |setup| {
        let (world, log) = started(setup).await;
        let client = world.client();
        client.skips("s").schedule().await.unwrap();
        client.queues("q").schedule().await.unwrap();
        client.beside("b").schedule().await.unwrap();
        world.advance(d!("6h")).await;
        client.beside("b").unschedule().await.unwrap();
        let lines: BTreeSet<String> = log.take().into_iter().collect();
        let runs = world.entities().limit(100).await.unwrap().entities.len();
        let skips = client.skips("s").schedule_status().await.unwrap();
        let queues = client.queues("q").schedule_status().await.unwrap();
        (lines, runs, skips, queues, world.dead_letters().count().await.unwrap())
    });
    assert!(survived.await.unwrap().commits > 20);
}
