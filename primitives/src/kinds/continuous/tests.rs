//! The laws of a continuous entity, turn by turn.

use drystone_runtime::Millis;

use super::*;
use crate::{Timestamp, kind::harness::World};

const SECOND: u64 = 1_000;
const BASE: i64 = 1_000_000;

fn every_10s() -> World<Options> {
    started(Options::NEW.every("10s").retry("2s").checked())
}

fn started(options: Options) -> World<Options> {
    let mut world = World::new(options);
    assert_eq!(world.start(), Started::Started);
    world
}

fn at(seconds: i64) -> Option<Timestamp> {
    Some(Timestamp::from_millis(BASE + seconds * 1_000))
}

fn next(world: &World<Options>) -> Option<Timestamp> {
    world.status().next_run_at
}

/// C1, C2
#[test]
fn the_first_tick_is_after_one_interval_and_each_at_its_point_of_the_grid() {
    let mut world = every_10s();
    world.pass(9_999);
    assert!(world.running.is_empty());
    world.pass(1);
    assert_eq!(world.started, [(1, 1, Millis(BASE + 10_000))]);
    world.pass(3 * SECOND);
    world.end(Ended::Ok);
    assert_eq!(next(&world), at(20));
    assert_eq!((world.status().run_count, world.status().skipped), (1, 0));
}

/// C1
#[test]
fn points_that_pass_during_a_tick_are_skipped_and_counted() {
    let mut world = every_10s();
    world.pass(10 * SECOND);
    world.pass(25 * SECOND);
    world.end(Ended::Ok);
    assert_eq!(next(&world), at(40));
    assert_eq!(world.status().skipped, 2);
}

/// C1
#[test]
fn a_fixed_delay_is_counted_from_the_end() {
    let mut world = started(Options::NEW.after("10s").checked());
    world.pass(10 * SECOND);
    world.pass(25 * SECOND);
    world.end(Ended::Ok);
    assert_eq!(next(&world), at(45));
    assert_eq!(world.status().skipped, 0);
}

/// C2
#[test]
fn first_now_runs_at_once_and_then_on_the_grid() {
    let mut world = started(Options::NEW.every("10s").first("now").checked());
    assert_eq!(world.running.len(), 1);
    world.pass(SECOND);
    world.end(Ended::Ok);
    assert_eq!((next(&world), world.status().skipped), (at(10), 0));
}

/// One commit per tick: the alarm stays set until the tick ends, and after a crash the tick runs again under
/// its number.
#[test]
fn a_tick_is_one_commit_and_runs_again_after_a_crash() {
    let mut world = every_10s();
    let before = world.commits;
    world.pass(10 * SECOND);
    assert_eq!(world.commits, before);
    world.crash(SECOND);
    assert_eq!(world.started.last(), Some(&(1, 1, Millis(BASE + 11_000))));
    world.end(Ended::Ok);
    assert_eq!(world.commits, before + 1);
}

/// A4
#[test]
fn missed_ticks_are_one() {
    let mut world = every_10s();
    world.crash(95 * SECOND);
    world.end(Ended::Ok);
    assert!(world.running.is_empty());
    assert_eq!((next(&world), world.status().skipped), (at(100), 8));
}

/// C3
#[test]
fn stop_lets_a_tick_in_flight_end_and_there_is_no_next() {
    let mut world = every_10s();
    world.pass(10 * SECOND);
    assert!(world.ask::<bool>("stop", "[]"));
    assert!(!world.ask::<bool>("stop", "[]"));
    assert_eq!(world.running.len(), 1);
    world.crash(SECOND);
    world.end(Ended::Ok);
    assert_eq!((world.status().status, world.status().run_count, next(&world)), (Standing::Stopped, 1, None));
    world.pass(100 * SECOND);
    assert_eq!(world.started.len(), 2);
}

/// C3
#[test]
fn a_tick_that_is_due_when_it_is_stopped_counts_as_in_flight() {
    let mut world = every_10s();
    world.lag(10 * SECOND);
    world.ask::<bool>("stop", "[]");
    assert_eq!(world.running.len(), 1);
}

/// C3
#[test]
fn a_tick_that_fails_after_stop_is_not_tried_again() {
    let mut world = every_10s();
    world.pass(10 * SECOND);
    world.ask::<bool>("stop", "[]");
    world.fail();
    assert_eq!((world.status().status, next(&world)), (Standing::Stopped, None));
    assert_eq!(world.status().consecutive_failures, 1);
}

/// C3
#[test]
fn trigger_runs_at_once_and_one_more_after_a_tick_in_flight() {
    let mut world = every_10s();
    world.pass(4 * SECOND);
    assert_eq!(world.ask::<Triggered>("trigger", "[]"), Triggered::Now);
    assert_eq!(world.ask::<Triggered>("trigger", "[]"), Triggered::Next);
    assert_eq!(world.ask::<Triggered>("trigger", "[]"), Triggered::Next);
    world.end(Ended::Ok);
    assert_eq!(world.running[0].number, 2);
    world.end(Ended::Ok);
    assert!(world.running.is_empty());
    assert_eq!((next(&world), world.status().skipped, world.status().run_count), (at(10), 0, 2));
}

/// C3
#[test]
fn trigger_on_a_stopped_entity_runs_once_and_it_stays_stopped() {
    let mut world = every_10s();
    world.ask::<bool>("stop", "[]");
    assert_eq!(world.ask::<Triggered>("trigger", "[]"), Triggered::Now);
    world.end(Ended::Ok);
    assert_eq!((world.status().status, world.status().run_count, next(&world)), (Standing::Stopped, 1, None));
}

/// C2
#[test]
fn start_resumes_what_stopped_or_failed_and_changes_nothing_of_what_runs() {
    let mut world = every_10s();
    world.pass(3 * SECOND);
    assert_eq!(world.start(), Started::AlreadyRunning);
    assert_eq!(next(&world), at(10));
    world.ask::<bool>("stop", "[]");
    assert_eq!(world.start(), Started::Resumed);
    assert_eq!(next(&world), at(13));
    for pause in [10, 2, 2] {
        world.pass(pause * SECOND);
        world.fail();
    }
    assert_eq!((world.status().status, world.status().consecutive_failures, next(&world)), (Standing::Error, 3, None));
    assert_eq!(world.start(), Started::Resumed);
    let status = world.status();
    assert_eq!((status.status, status.consecutive_failures, status.errors), (Standing::Running, 0, vec![]));
    assert_eq!(next(&world), at(27));
}

/// C2, C3
#[test]
fn a_start_while_a_stopped_tick_still_runs_keeps_that_tick() {
    let mut world = every_10s();
    world.pass(10 * SECOND);
    world.ask::<bool>("stop", "[]");
    world.pass(SECOND);
    assert_eq!(world.start(), Started::Resumed);
    world.end(Ended::Ok);
    assert_eq!((next(&world), world.status().run_count), (at(21), 1));
}

/// C5, A3
#[test]
fn a_tick_is_executed_three_times_with_pauses_and_then_the_entity_is_in_error() {
    let mut world = every_10s();
    world.pass(10 * SECOND);
    world.fail();
    assert_eq!(next(&world), at(12));
    world.pass(2 * SECOND);
    world.fail();
    world.pass(2 * SECOND);
    world.fail();
    let status = world.status();
    assert_eq!((status.status, status.errors.len(), status.next_run_at), (Standing::Error, 3, None));
    assert_eq!(status.errors[0].at, at(10).unwrap());
    assert_eq!(world.started.iter().map(|start| (start.0, start.1)).collect::<Vec<_>>(), [(1, 1), (1, 2), (1, 3)]);
    assert_eq!(world.told.len(), 1);
    world.pass(100 * SECOND);
    assert_eq!(world.started.len(), 3);
}

/// C5
#[test]
fn success_resets_the_attempts() {
    let mut world = every_10s();
    world.pass(10 * SECOND);
    world.fail();
    world.pass(2 * SECOND);
    world.end(Ended::Ok);
    assert_eq!((world.status().consecutive_failures, next(&world)), (0, at(20)));
    world.pass(8 * SECOND);
    assert_eq!((world.running[0].number, world.running[0].attempt), (2, 1));
}

/// C5
#[test]
fn continue_goes_on_with_the_next_tick() {
    let options = Options::NEW.every("10s").max_attempts(1).on_exhausted("continue").checked();
    let mut world = started(options);
    world.pass(10 * SECOND);
    world.fail();
    world.pass(10 * SECOND);
    world.fail();
    assert_eq!((world.status().status, world.status().consecutive_failures), (Standing::Running, 2));
    assert_eq!((world.started[1].0, next(&world)), (2, at(30)));
}

/// A3
#[test]
fn destroy_ends_it_and_leaves_a_dead_letter_with_the_last_state() {
    let options = Options::NEW.every("10s").max_attempts(1).on_exhausted("destroy").checked();
    let mut world = started(options);
    world.pass(10 * SECOND);
    world.fail();
    assert!(world.entity.is_none());
    let letters: serde_json::Value = serde_json::from_slice(&world.sent[0].body).unwrap();
    let letter = &letters[0];
    assert_eq!((&letter["state"]["the"], &letter["error"]["message"]), (&"state".into(), &"no".into()));
    assert_eq!(
        (&letter["definition"], &letter["key"], &letter["kind"]),
        (&"thing".into(), &"a".into(), &"continuous".into())
    );
}

/// E11
#[test]
fn another_interval_holds_at_once_and_is_counted_from_the_last_tick() {
    let mut world = every_10s();
    world.pass(4 * SECOND);
    world.change(Options::NEW.every("5s").checked());
    assert_eq!(next(&world), at(5));
    world.change(Options::NEW.every("3s").checked());
    assert_eq!(world.running.len(), 1);
    world.end(Ended::Ok);
    assert_eq!(next(&world), at(6));
}

/// A7
#[test]
fn nothing_rings_for_what_is_stopped() {
    let mut world = every_10s();
    world.ask::<bool>("stop", "[]");
    assert_eq!(world.alarm(), None);
    world.crash(100 * SECOND);
    assert!(world.started.is_empty() && world.told.is_empty());
}

#[test]
fn options_that_do_not_fit_together_panic_and_so_do_not_compile() {
    let panics = |options: fn() -> Options| assert!(std::panic::catch_unwind(options).is_err());
    panics(|| Options::NEW.checked());
    panics(|| Options::NEW.every("1s").after("1s").checked());
    panics(|| Options::NEW.every("0s").checked());
    panics(|| Options::NEW.every("1s").first("later"));
    panics(|| Options::NEW.every("1s").on_exhausted("explode"));
    panics(|| Options::NEW.every("1s").max_attempts(0));
}
