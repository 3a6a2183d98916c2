//! Single turns of a semaphore: the changes of each turn, and the alarm.

use drystone_runtime::Ticket;

use super::{
    permit::{Granted, Refused},
    turns::{SLICE, WAITING_MAX},
    *,
};
use crate::{decode, kind::harness::World};

const SECOND: u64 = 1_000;

fn semaphore(options: Options) -> World<Options> {
    let mut world = World::new(options.checked());
    world.start();
    world
}

fn lock() -> World<Options> {
    semaphore(Options::NEW.permits(1).lease("30s"))
}

fn acquire(world: &mut World<Options>) -> Ticket {
    world.call("acquire", "[1]").unwrap();
    world.ticket
}

fn release(world: &mut World<Options>, ticket: Ticket) -> bool {
    world.ask("release", &format!("[{},{}]", ticket.epoch.0, ticket.number))
}

/// S1
#[test]
fn a_permit_that_is_free_is_one_commit_without_a_line() {
    let mut world = lock();
    let before = world.commits;
    let granted: Option<Granted> = world.ask("acquire", "[1]");
    let granted = granted.unwrap();
    assert_eq!((granted.until.as_millis(), granted.lease), (world.now.0 + 30_000, Some(30_000)));
    assert_eq!((world.commits - before, world.lane("line/1").count(), world.lane("held").count()), (1, 0, 1));
    assert_eq!(world.alarm().map(|at| at.0), Some(world.now.0 + 30_000));
    // A refusal writes nothing.
    let none: Option<Granted> = world.ask("try_acquire", "[1]");
    assert_eq!((none, world.commits - before), (None, 1));
}

/// S1
#[test]
fn waiting_is_a_row_and_a_release_is_the_next_ones_grant() {
    let mut world = lock();
    let (first, second) = (acquire(&mut world), acquire(&mut world));
    assert_eq!((world.lane("line/1").count(), world.waiting.len()), (1, 1));
    let before = world.commits;
    assert!(release(&mut world, first));
    assert_eq!((world.commits - before, world.heard[0].0), (1, second));
    assert!(!release(&mut world, first), "what is released is released once");
    assert_eq!(world.record().used, 1);
    assert!(release(&mut world, second));
    assert_eq!((world.alarm(), world.rows().count()), (None, 0));
}

/// S1
#[test]
fn the_line_of_an_earlier_owner_goes_with_the_first_who_asks() {
    let mut world = lock();
    for _ in 0..40 {
        acquire(&mut world);
    }
    world.crash(0);
    let stats: Stats = world.ask("stats", "[]");
    assert_eq!((world.lane("line/1").count(), stats.waiting, stats.line), (39, 0, Vec::new()));
    acquire(&mut world);
    assert_eq!((world.lane("line/1").count(), world.lane("line/2").count(), world.record().waiting), (0, 1, 1));
}

/// S1
#[test]
fn if_nobody_asks_the_line_of_an_earlier_owner_goes_one_by_one_and_nobody_keeps_a_permit() {
    let mut world = lock();
    for _ in 0..40 {
        acquire(&mut world);
    }
    world.crash(0);
    world.pass(30 * SECOND);
    assert_eq!((world.record().used, world.record().waiting, world.rows().count()), (0, 0, 0));
}

/// S1
#[test]
fn only_so_many_may_wait() {
    let mut world = lock();
    for _ in 0..=WAITING_MAX {
        acquire(&mut world);
    }
    let Err(Stop::Failed(refused)) = world.call("acquire", "[1]") else { panic!("one more waits") };
    assert_eq!(decode(&refused), Ok(Refused::Crowded { waiting: WAITING_MAX }));
}

/// S2
#[test]
fn permits_that_ended_come_back_in_slices() {
    let mut world = semaphore(Options::NEW.permits(1_000).window("1s"));
    for _ in 0..3 * SLICE {
        acquire(&mut world);
    }
    world.call("acquire", "[1000]").unwrap();
    let before = world.commits;
    world.pass(SECOND);
    assert_eq!((world.heard.len(), world.record().used, world.commits - before), (1, 1_000, 3));
}

/// S1
#[test]
fn those_who_wait_are_served_in_slices() {
    let mut world = semaphore(Options::NEW.permits(500));
    world.call("acquire", "[500]").unwrap();
    let all = world.ticket;
    for _ in 0..300 {
        acquire(&mut world);
    }
    assert!(release(&mut world, all));
    assert_eq!(world.heard.len(), SLICE as usize);
    world.pass(0);
    assert_eq!((world.heard.len(), world.record().waiting), (300, 0));
}

/// S2
#[test]
fn a_renewed_permit_ends_a_lease_after_that() {
    let mut world = lock();
    let ticket = acquire(&mut world);
    let body = format!("[{},{}]", ticket.epoch.0, ticket.number);
    world.pass(20 * SECOND);
    let until: Option<crate::Timestamp> = world.ask("renew", &body);
    assert_eq!(until.map(crate::Timestamp::as_millis), Some(world.now.0 + 30_000));
    world.pass(29 * SECOND);
    assert_eq!(world.record().used, 1);
    world.lag(SECOND);
    let until: Option<crate::Timestamp> = world.ask("renew", &body);
    assert_eq!(until, None, "what has ended is not renewed, also if nobody has taken it back yet");
}

/// S3
#[test]
fn a_rate_limit_wakes_once_for_all_that_ended_while_nobody_waits() {
    let mut world = semaphore(Options::NEW.permits(100).window("1s"));
    for _ in 0..10 {
        acquire(&mut world);
        world.pass(50);
    }
    let before = world.commits;
    world.pass(2 * SECOND);
    assert_eq!((world.record().used, world.commits - before), (0, 2));
}

/// M1
#[test]
fn a_message_cannot_ask_for_a_permit() {
    let options = Options::NEW.permits(1).checked();
    let (key, rows) = (drystone_runtime::Key::new("app", "a").unwrap(), drystone_runtime::Rows::default());
    let author = lock().author;
    let now = drystone_runtime::Now { at: drystone_runtime::Millis(1), mark: drystone_runtime::Mark::new(1) };
    let mut turn = Turn::new(Record::default(), now, &key, None, &rows, author);
    assert!(matches!(options.verb(&mut turn, "acquire", b"[1]"), Err(Stop::Malformed(_))));
}

fn given(world: &mut World<Options>, holder: &str) -> Option<Granted> {
    world.ask("acquire_as", &format!("[1,{holder:?}]"))
}

fn withdraw(world: &mut World<Options>, holder: &str) {
    world.call("withdraw_as", &format!("[{holder:?}]")).unwrap();
}

/// M5.1
#[test]
fn a_run_that_has_withdrawn_is_given_nothing_however_late_it_is_asked_for() {
    let mut world = lock();
    withdraw(&mut world, "run/1/permit#1");
    assert!(matches!(world.call("acquire_as", "[1,\"run/1/permit#1\"]"), Err(Stop::Malformed(_))));
    assert_eq!(world.record().used, 0);
    assert!(given(&mut world, "run/1/permit#2").is_some(), "another name is another permit");
}

/// M5.1
#[test]
fn a_run_that_withdraws_leaves_the_line_and_gives_its_permit_to_the_next() {
    let mut world = lock();
    assert!(given(&mut world, "first").is_some());
    world.call("acquire_as", "[1,\"second\"]").unwrap();
    world.call("acquire_as", "[1,\"third\"]").unwrap();
    let third = world.ticket;
    withdraw(&mut world, "second");
    assert_eq!((world.record().used, world.record().waiting), (1, 1));
    withdraw(&mut world, "first");
    assert_eq!((world.heard[0].0, world.record().used, world.record().waiting), (third, 1, 0));
    let released: bool = world.ask("release_as", "[\"third\"]");
    assert_eq!((released, world.record().used), (true, 0));
}

/// M5.1
#[test]
fn names_that_were_withdrawn_are_forgotten_after_an_hour() {
    let mut world = lock();
    for number in 0..50 {
        withdraw(&mut world, &number.to_string());
    }
    assert_eq!((world.lane("withdrawn").count(), world.lane("runs").count()), (50, 50));
    world.pass(3_600 * SECOND);
    for number in 50..150 {
        withdraw(&mut world, &number.to_string());
    }
    assert_eq!((world.lane("withdrawn").count(), world.lane("runs").count()), (100, 100));
}

/// S3
#[test]
fn a_run_gives_back_nothing_of_a_rate_limit() {
    let mut world = semaphore(Options::NEW.permits(1).window("1s"));
    assert!(given(&mut world, "first").is_some());
    world.call("acquire_as", "[1,\"second\"]").unwrap();
    let released: bool = world.ask("release_as", "[\"first\"]");
    assert_eq!((released, world.record().used, world.record().waiting), (false, 1, 1));
    world.pass(SECOND);
    let released: bool = world.ask("release_as", "[\"second\"]");
    assert_eq!((released, world.record().used, world.lane("runs").count()), (false, 1, 0));
}
