//! Ticks by the wall clock: when a tick runs, which time it stands for, and what becomes of missed times.

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use drystone::{
    Context, Cron, Failure, Primitives, Services, Timestamp, d,
    kinds::continuous::Status,
    primitive,
    testing::{Clock, Log, Setup, World},
};
use drystone_tests::typed::both;
use serde::{Deserialize, Serialize};

#[derive(Clone, Services)]
struct Fakes {
    log: Log,
    clock: Clock,
}

/// The number of failures to come, and the length of a tick.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Task {
    failures: u32,
    takes_minutes: u64,
}

impl Task {
    async fn run(&self, log: &Log, clock: &Clock, cx: &Context) -> Result<(), Failure> {
        let short = |time: Timestamp| time.to_string()[8..16].to_owned();
        log.say(format!("{} at {}", short(cx.scheduled_for()), short(clock.now())));
        clock.sleep(std::time::Duration::from_secs(60 * self.takes_minutes)).await;
        if cx.attempt() <= self.failures { Err("not tonight".into()) } else { Ok(()) }
    }
}

macro_rules! tasks {
    ($($name:ident($($options:tt)+))+) => {$(
        #[derive(Debug, Default, Serialize, Deserialize)]
        struct $name(Task);

        #[primitive(continuous, $($options)+)]
        impl $name {
            #[tick]
            async fn run(&mut self, log: &Log, clock: &Clock, cx: &Context) -> Result<(), Failure> {
                self.0.run(log, clock, cx).await
            }
        }
    )+};
}

const NEW_YORK: Cron = Cron::new("30 2 * * *").zone("America/New_York");

tasks! {
    Nightly(cron = "30 2 * * *", zone = "Europe/Berlin")
    Overseas(cron = NEW_YORK)
    Hourly(cron = "@hourly", zone = "Europe/Berlin")
    Once(cron = "0 */6 * * *", missed = "once", retry = "10m")
    Skip(cron = "0 */6 * * *", missed = "skip")
    Backfill(cron = "0 */6 * * *", missed = "backfill", retry = "10m", max_attempts = 2, on_exhausted = "continue")
    Rate(every = "6h", retry = "10m")
    Other(cron = "0 9 * * *", zone = "Asia/Kolkata")
}

#[derive(Primitives)]
struct App {
    nightly: Nightly,
    overseas: Overseas,
    hourly: Hourly,
    once: Once,
    skip: Skip,
    backfill: Backfill,
    rate: Rate,
}

/// The same keys, with another primitive behind one name.
#[derive(Primitives)]
struct Later {
    once: Other,
}

/// A world that starts at this time, in milliseconds.
async fn started(setup: Setup<()>, at: i64) -> (World<App>, Fakes) {
    let setup = setup.starts_at(Timestamp::from_millis(at));
    let fakes = Fakes { log: Log::default(), clock: setup.clock() };
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

/// 2026-03-28T00:00:00Z, the day before clocks go forward in Berlin.
const SPRING: i64 = 1_774_656_000_000;
/// 2026-10-24T00:00:00Z, the day before clocks go back in Berlin.
const AUTUMN: i64 = 1_792_800_000_000;
/// 2026-11-16T01:00:00Z.
const NOVEMBER: i64 = 1_794_790_800_000;

async fn status(world: &World<App>, key: &str) -> Status {
    let client = world.client();
    let status = match key {
        "once" => client.once(key).status().await,
        "skip" => client.skip(key).status().await,
        "backfill" => client.backfill(key).status().await,
        _ => client.rate(key).status().await,
    };
    status.unwrap().unwrap()
}

fn shown(times: &[Timestamp]) -> Vec<String> {
    times.iter().map(|time| time.to_string()[8..16].to_owned()).collect()
}

/// C1
#[tokio::test]
async fn a_time_that_the_clock_leaves_out_comes_when_it_jumps() {
    for setup in both() {
        let (world, fakes) = started(setup, SPRING).await;
        world.client().nightly("a").start().await.unwrap();
        world.advance(d!("3d")).await;
        // 02:30 in winter is 01:30 in UTC. On the 29th this time does not exist, and the clock jumps at
        // 01:00.
        assert_eq!(fakes.log.take(), ["28T01:30 at 28T01:30", "29T01:00 at 29T01:00", "30T00:30 at 30T00:30"]);
    }
}

/// C1: An hour always comes.
#[tokio::test]
async fn a_time_that_the_clock_shows_twice_comes_once() {
    for setup in both() {
        let (world, fakes) = started(setup, AUTUMN).await;
        world.client().nightly("a").start().await.unwrap();
        world.client().overseas("b").start().await.unwrap();
        world.advance(d!("3d")).await;
        let ran: Vec<String> = fakes.log.take().iter().map(|line| line[..8].to_owned()).collect();
        assert_eq!(ran, ["24T00:30", "24T06:30", "25T00:30", "25T06:30", "26T01:30", "26T06:30"]);
    }
    for setup in both() {
        let (world, fakes) = started(setup, AUTUMN).await;
        world.client().hourly("a").start().await.unwrap();
        world.advance(d!("49h")).await;
        assert_eq!(fakes.log.take().len(), 49, "one for each hour that passed");
    }
}

/// C1, C4
#[tokio::test]
async fn the_next_five_times_are_shown() {
    for setup in both() {
        let (world, _) = started(setup, NOVEMBER).await;
        world.client().once("once").start().await.unwrap();
        world.client().rate("rate").start().await.unwrap();
        let once = status(&world, "once").await;
        assert_eq!(shown(&once.next_runs), ["16T06:00", "16T12:00", "16T18:00", "17T00:00", "17T06:00"]);
        assert_eq!(once.next_run_at, Some(once.next_runs[0]));
        let rate = status(&world, "rate").await;
        assert_eq!(shown(&rate.next_runs), ["16T07:00", "16T13:00", "16T19:00", "17T01:00", "17T07:00"]);
    }
}

/// A4
#[tokio::test]
async fn after_downtime_missed_times_are_one_or_none_or_each() {
    for setup in both() {
        let (world, fakes) = started(setup, NOVEMBER).await;
        world.client().once("once").start().await.unwrap();
        world.client().skip("skip").start().await.unwrap();
        world.client().backfill("backfill").start().await.unwrap();
        world.crash().await;
        world.advance(d!("24h")).await;
        assert_eq!(fakes.log.take(), [""; 0]);
        world.restart().await;
        world.settle().await;
        let mut ran = fakes.log.take();
        ran.sort();
        assert_eq!(
            ran,
            ["16T06:00", "16T12:00", "16T18:00", "17T00:00", "17T00:00"].map(|time| format!("{time} at 17T01:00"))
        );
        for (key, runs, skipped) in [("once", 1, 3), ("skip", 0, 4), ("backfill", 4, 0)] {
            let status = status(&world, key).await;
            assert_eq!((status.run_count, status.skipped), (runs, skipped), "{key}");
            assert_eq!(shown(&status.next_runs)[0], "17T06:00", "{key}");
        }
        world.advance(d!("5h")).await;
        assert_eq!(fakes.log.take(), ["17T06:00 at 17T06:00"; 3]);
    }
}

/// A4
#[tokio::test]
async fn what_passes_during_a_long_tick_is_one_or_none_or_each() {
    let long = || Task { takes_minutes: 15 * 60, ..Task::default() };
    for setup in both() {
        let (world, fakes) = started(setup, NOVEMBER).await;
        world.client().once("once").start_with(Once(long())).await.unwrap();
        world.advance(d!("30h")).await;
        assert_eq!(fakes.log.take(), ["16T06:00 at 16T06:00", "16T18:00 at 16T21:00"]);
        world.client().skip("skip").start_with(Skip(long())).await.unwrap();
        world.client().once("once").destroy().await.unwrap();
        world.advance(d!("30h")).await;
        assert_eq!(fakes.log.take(), ["17T12:00 at 17T12:00", "18T06:00 at 18T06:00"]);
        world.client().skip("skip").destroy().await.unwrap();
        world.client().backfill("backfill").start_with(Backfill(long())).await.unwrap();
        world.advance(d!("40h")).await;
        assert_eq!(fakes.log.take(), ["18T18:00 at 18T18:00", "19T00:00 at 19T09:00", "19T06:00 at 20T00:00"]);
    }
}

/// A4, E14
#[tokio::test]
async fn a_backfill_that_is_cut_short_goes_on_where_it_was() {
    for setup in both() {
        let (world, fakes) = started(setup, NOVEMBER).await;
        let task = Task { takes_minutes: 1, ..Task::default() };
        world.client().backfill("backfill").start_with(Backfill(task)).await.unwrap();
        world.crash().await;
        world.advance(d!("24h")).await;
        world.restart().await;
        world.advance(d!("90s")).await;
        world.crash().await;
        world.restart().await;
        world.advance(d!("10m")).await;
        let stood_for: Vec<String> = fakes.log.take().iter().map(|line| line[..8].to_owned()).collect();
        assert_eq!(stood_for, ["16T06:00", "16T12:00", "16T12:00", "16T18:00", "17T00:00"]);
        let status = status(&world, "backfill").await;
        assert_eq!((status.run_count, status.skipped), (4, 0));
    }
}

/// C5
#[tokio::test]
async fn a_retry_stands_for_its_time_and_moves_nothing() {
    let failing = |failures| Task { failures, ..Task::default() };
    for setup in both() {
        let (world, fakes) = started(setup, NOVEMBER).await;
        world.client().once("once").start_with(Once(failing(1))).await.unwrap();
        world.advance(d!("12h")).await;
        assert_eq!(
            fakes.log.take(),
            ["16T06:00 at 16T06:00", "16T06:00 at 16T06:10", "16T12:00 at 16T12:00", "16T12:00 at 16T12:10"]
        );
        world.client().once("once").destroy().await.unwrap();
        world.client().backfill("backfill").start_with(Backfill(failing(9))).await.unwrap();
        world.advance(d!("12h")).await;
        assert_eq!(
            fakes.log.take(),
            ["16T18:00 at 16T18:00", "16T18:00 at 16T18:10", "17T00:00 at 17T00:00", "17T00:00 at 17T00:10"]
        );
        assert_eq!(status(&world, "backfill").await.consecutive_failures, 4);
        world.client().rate("rate").start_with(Rate(failing(1))).await.unwrap();
        world.client().backfill("backfill").destroy().await.unwrap();
        world.advance(d!("7h")).await;
        assert_eq!(fakes.log.take(), ["17T07:00 at 17T07:00", "17T07:00 at 17T07:10"]);
    }
}

/// C3
#[tokio::test]
async fn a_trigger_stands_for_its_moment_and_stop_and_start_for_nothing() {
    for setup in both() {
        let (world, fakes) = started(setup, NOVEMBER).await;
        let once = world.client().once("once");
        once.start().await.unwrap();
        world.advance(d!("30m")).await;
        once.trigger().await.unwrap();
        assert_eq!(fakes.log.take(), ["16T01:30 at 16T01:30"]);
        once.stop().await.unwrap();
        world.advance(d!("24h")).await;
        assert_eq!(status(&world, "once").await.next_runs, []);
        once.start().await.unwrap();
        world.advance(d!("5h")).await;
        assert_eq!(fakes.log.take(), ["17T06:00 at 17T06:00"]);
        assert_eq!(status(&world, "once").await.skipped, 0);
    }
}

/// E11
#[tokio::test]
async fn another_expression_or_zone_in_the_code_holds_soon_after_the_start() {
    for setup in both() {
        let (world, fakes) = started(setup, NOVEMBER).await;
        world.client().once("once").start().await.unwrap();
        world.advance(d!("6h")).await;
        fakes.log.take();
        let world = world.restart_as::<Later, _>(fakes.clone()).await.unwrap();
        world.settle().await;
        let status = world.client().once("once").status().await.unwrap().unwrap();
        assert_eq!(shown(&status.next_runs)[..2], ["17T03:30", "18T03:30"]);
        world.advance(d!("24h")).await;
        assert_eq!(fakes.log.take(), ["17T03:30 at 17T03:30"]);
    }
}
