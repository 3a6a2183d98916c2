//! A continuous entity by the wall clock, turn by turn.

use super::*;
use crate::{Cron, kind::harness::World};

const MINUTE: u64 = 60_000;

/// Every ten minutes; the world begins 16 minutes and 40 seconds after the epoch.
fn started(missed: &str) -> World<Options> {
    let options = Options::NEW.cron("*/10 * * * *").retry("4m").missed(missed);
    let mut world = World::new(options.checked());
    world.start();
    world
}

fn at(minute: i64) -> Timestamp {
    Timestamp::from_millis(minute * 60_000)
}

/// Checks that the running tick stands for this minute.
fn stands_for(world: &World<Options>) -> Option<i64> {
    let stands_for = world.scheduled_for().filter(|_| !world.running.is_empty());
    stands_for.map(|time| time.as_millis() / 60_000)
}

fn skipped(world: &World<Options>) -> u64 {
    world.status().skipped
}

/// C1, C4
#[test]
fn a_tick_is_at_its_time_and_the_next_five_are_shown() {
    let mut world = started("once");
    assert_eq!(world.status().next_runs, [20, 30, 40, 50, 60].map(at));
    world.pass(3 * MINUTE + 19_999);
    assert!(world.running.is_empty());
    world.pass(1);
    assert_eq!(stands_for(&world), Some(20));
    world.end(Ended::Ok);
    assert_eq!((world.status().next_run_at, skipped(&world)), (Some(at(30)), 0));
}

/// A4
#[test]
fn once_makes_up_for_all_that_passed_with_one_tick_that_stands_for_the_last() {
    let mut world = started("once");
    world.crash(60 * MINUTE);
    assert_eq!((stands_for(&world), skipped(&world)), (Some(70), 5));
    // A tick that was cut short stands for the same time when it runs again.
    world.crash(60 * MINUTE);
    assert_eq!((stands_for(&world), skipped(&world)), (Some(70), 5));
    // The times that passed meanwhile are made up for by one tick again.
    world.end(Ended::Ok);
    assert_eq!((stands_for(&world), skipped(&world)), (Some(130), 10));
    world.end(Ended::Ok);
    assert_eq!((stands_for(&world), world.status().next_run_at), (None, Some(at(140))));
    assert_eq!(world.status().run_count, 2);
}

/// A4
#[test]
fn skip_goes_on_with_the_next_time_and_counts_the_others() {
    let mut world = started("skip");
    world.crash(60 * MINUTE);
    assert_eq!((stands_for(&world), skipped(&world), world.status().next_run_at), (None, 6, Some(at(80))));
    world.pass(4 * MINUTE);
    assert_eq!((stands_for(&world), world.started.len()), (Some(80), 1));
    // The tick takes long: times that pass meanwhile are skipped.
    world.pass(25 * MINUTE);
    world.end(Ended::Ok);
    assert_eq!((stands_for(&world), skipped(&world), world.status().next_run_at), (None, 8, Some(at(110))));
}

/// A4
#[test]
fn a_tick_that_is_a_minute_late_is_not_skipped_and_one_that_began_runs_again() {
    let mut world = started("skip");
    world.crash(4 * MINUTE + 20_000);
    assert_eq!((stands_for(&world), skipped(&world)), (Some(20), 0));
    world.crash(30 * MINUTE);
    assert_eq!(stands_for(&world), Some(20));
    let mut later = started("skip");
    later.crash(4 * MINUTE + 20_001);
    assert_eq!((stands_for(&later), skipped(&later)), (None, 1));
}

/// A4
#[test]
fn backfill_makes_up_for_each_the_oldest_first() {
    let mut world = started("backfill");
    world.crash(40 * MINUTE);
    assert_eq!(world.status().next_runs, [20, 30, 40, 50, 60].map(at));
    for minute in [20, 30, 40, 50] {
        assert_eq!(stands_for(&world), Some(minute));
        world.crash(0);
        world.end(Ended::Ok);
    }
    assert_eq!((stands_for(&world), skipped(&world), world.status().next_run_at), (None, 0, Some(at(60))));
}

/// A4
#[test]
fn backfill_makes_up_for_a_thousand_at_most() {
    let mut world = started("backfill");
    world.crash(10_030 * MINUTE);
    assert_eq!((stands_for(&world), skipped(&world)), (Some(50), 3));
    while stands_for(&world).is_some() {
        world.end(Ended::Ok);
    }
    assert_eq!((world.status().run_count, world.status().next_run_at), (1_000, Some(at(10_050))));
}

/// C5
#[test]
fn a_retry_stands_for_its_time_and_moves_nothing() {
    for missed in ["once", "skip", "backfill"] {
        let mut world = started(missed);
        world.pass(4 * MINUTE);
        world.fail();
        assert_eq!(
            world.status().next_runs,
            [at(24).after(std::time::Duration::from_secs(40)), at(30), at(40), at(50), at(60)]
        );
        world.pass(4 * MINUTE);
        assert_eq!((stands_for(&world), world.running[0].attempt), (Some(20), 2));
        world.end(Ended::Ok);
        assert_eq!((world.status().next_run_at, skipped(&world)), (Some(at(30)), 0), "{missed}");
    }
}

/// C5
#[test]
fn exhausted_it_goes_on_at_the_next_time() {
    let options = Options::NEW.cron("*/10 * * * *").max_attempts(1).on_exhausted("continue");
    let mut world = World::new(options.checked());
    world.start();
    world.pass(5 * MINUTE);
    world.fail();
    assert_eq!((world.status().status, world.status().next_run_at), (Standing::Running, Some(at(30))));
}

/// C3
#[test]
fn a_trigger_is_a_tick_more_and_stop_and_start_leave_the_times_where_they_are() {
    let mut world = started("backfill");
    assert_eq!(world.ask::<Triggered>("trigger", "[]"), Triggered::Now);
    assert_eq!(world.scheduled_for(), Some(Timestamp::from_millis(1_000_000)));
    world.pass(4 * MINUTE);
    world.end(Ended::Ok);
    assert_eq!(stands_for(&world), Some(20));
    world.ask::<bool>("stop", "[]");
    world.end(Ended::Ok);
    assert_eq!(world.status().next_runs, []);
    world.pass(60 * MINUTE);
    // Times that passed while the entity was stopped were not missed.
    world.start();
    assert_eq!((stands_for(&world), world.status().next_run_at), (None, Some(at(90))));
}

/// C2
#[test]
fn first_now_is_a_tick_at_once() {
    let mut world = World::new(Options::NEW.cron("@hourly").first("now").checked());
    world.start();
    assert_eq!(world.running.len(), 1);
    world.end(Ended::Ok);
    assert_eq!(world.status().next_run_at, Some(at(60)));
}

/// E11
#[test]
fn another_expression_or_zone_holds_at_once_and_its_past_was_not_missed() {
    let mut world = started("backfill");
    world.pass(10 * MINUTE);
    world.end(Ended::Ok);
    world.change(Options::NEW.cron("* * * * *").missed("backfill").checked());
    assert_eq!((stands_for(&world), world.status().next_run_at), (None, Some(at(27))));
    let noon = Options::NEW.cron("0 12 * * *").zone("Asia/Kolkata");
    world.change(noon.checked());
    assert_eq!(world.status().next_run_at, Some(at(6 * 60 + 30)));
    world.change(Options::NEW.every("1m").checked());
    assert_eq!(world.status().next_run_at, Some(at(27).after(std::time::Duration::from_secs(40))));
    assert_eq!(skipped(&world), 0);
}

#[test]
fn options_that_do_not_fit_together_panic_and_so_do_not_compile() {
    const NIGHTLY: Cron = Cron::new("0 3 * * *").zone("Europe/Berlin");
    let stored = |options: Options| serde_json::to_value(options.checked()).unwrap();
    let nightly = stored(Options::NEW.cron_with(NIGHTLY));
    assert_eq!(nightly["schedule"]["cron"]["zone"], "Europe/Berlin");
    assert_eq!(nightly, stored(Options::NEW.zone("Europe/Berlin").cron("0 3 * * *")));
    let panics = |options: fn() -> Options| assert!(std::panic::catch_unwind(options).is_err());
    panics(|| Options::NEW.cron("0 3 * *"));
    panics(|| Options::NEW.cron("0 3 * * *").zone("Mars"));
    panics(|| Options::NEW.cron("0 3 * * *").every("1s"));
    panics(|| Options::NEW.every("1s").zone("UTC").checked());
    panics(|| Options::NEW.every("1s").missed("once").checked());
    panics(|| Options::NEW.cron("0 3 * * *").missed("never"));
}
