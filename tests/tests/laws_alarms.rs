//! Alarms and time: an alarm is never early, never lost and never doubled, however the clocks behave.

use std::time::Duration;

use drystone_runtime::{
    Change, Commit, Entity, Error, Input, Millis, Next, Parked, Store, Version,
    driver::block_on,
    store::{After, Batch, Guard, Verdict, Want, Worker, Write},
};
use drystone_tests::world::{
    Latch, Log, World,
    toys::{Toy, add, adder, alarm_in, call},
};

const SECOND: Duration = Duration::from_secs(1);
const HOUR_MS: i64 = 3_600_000;

/// `set n` sets an alarm n seconds from now. When the alarm rings, the log gets the time.
fn bell(log: &Log) -> Toy {
    let log = log.clone();
    adder()
        .own("set", |turn| {
            let alarm = alarm_in(turn.now, turn.number() as u32 * SECOND);
            Next::Commit(Commit { alarm, head: Some("set".into()), ..turn.says("") })
        })
        .own("clear", |turn| Next::Commit(Commit { alarm: Change::Clear, head: Some("set".into()), ..turn.says("") }))
        .otherwise(move |turn| {
            let Input::Alarm { at } = turn.input else { return Next::nothing() };
            assert!(*at <= turn.now, "never early");
            let key = turn.entity.map(|entity| entity.key.clone()).expect("only existing entities ring");
            log.say(format!("{key} rang"));
            Next::Commit(Commit { alarm: Change::Clear, ..Commit::default() })
        })
}

fn world() -> (World, Log) {
    let log = Log::default();
    (World::of(bell(&log).alone()), log)
}

/// Writes the entity `a` as an owner whose last time did not reach the store's own record of the time.
fn write_at_a_later_time(world: &World, later: Millis) {
    let store = world.store.inner();
    let worker = Worker { id: "another".into(), address: String::new() };
    let claimed =
        block_on(store.claim(&worker, Want::Take { at_most: u32::MAX, lease: SECOND })).expect("memory does not fail");
    let before = world.entity("a").expect("it is bound");
    let partition = before.key.partition(claimed.partitions);
    let lease = claimed.leases.iter().find(|lease| lease.partition == partition).expect("all were taken");
    let guard = Guard::At { id: before.id, version: before.version };
    let after = Entity { version: Version::of(lease.epoch, 1), updated_at: later, ..before };
    let write = Write::new(partition, after.key.clone(), guard, After::Entity(Box::new(after)));
    let epochs = vec![(partition, lease.epoch)];
    let batch = Batch { now: claimed.now, number: 1, epochs, writes: vec![write], configs: Vec::new() };
    assert_eq!(block_on(store.commit(&batch)).expect("memory does not fail"), [Verdict::Applied]);
    let held = claimed.leases.iter().map(|lease| (lease.partition, lease.epoch)).collect();
    block_on(store.claim(&worker, Want::Release { held, clean: true, now: claimed.now }))
        .expect("memory does not fail");
}

/// A1
#[test]
fn setting_an_alarm_replaces_the_one_before() {
    let (world, log) = world();
    world.call(call("adder", "a", "set", 1)).unwrap();
    world.call(call("adder", "a", "set", 3)).unwrap();
    world.advance(2 * SECOND);
    assert!(log.take().is_empty());
    world.advance(SECOND);
    assert_eq!(log.take(), ["app/a rang"]);
    world.call(call("adder", "a", "set", 3)).unwrap();
    world.call(call("adder", "a", "set", 1)).unwrap();
    world.advance(5 * SECOND);
    assert_eq!(log.take(), ["app/a rang"]);
}

/// A2
#[test]
fn an_alarm_rings_when_it_is_due_and_never_before() {
    let (world, log) = world();
    for seconds in [1, 59, 60, 61, 90_000] {
        world.call(call("adder", "a", "set", seconds)).unwrap();
        world.advance(seconds * SECOND - Duration::from_millis(1));
        assert!(log.take().is_empty(), "{seconds} s: early");
        world.advance(Duration::from_millis(1));
        assert_eq!(log.take(), ["app/a rang"], "{seconds} s");
    }
}

/// A2
#[test]
fn an_alarm_beyond_what_memory_holds_rings_on_time() {
    let log = Log::default();
    let world = World::with(bell(&log).alone(), |options| options.near_max = 2);
    (1..=9).for_each(|number| drop(world.call(call("adder", &format!("a{number}"), "set", number)).unwrap()));
    for number in 1..=9 {
        world.advance(SECOND);
        assert_eq!(log.take(), [format!("app/a{number} rang")]);
    }
}

/// A2
#[test]
fn an_alarm_that_was_ringing_when_the_process_died_rings_again() {
    let (world, log) = world();
    world.call(call("adder", "a", "set", 1)).unwrap();
    world.store.stall();
    world.advance(SECOND);
    assert_eq!(log.take(), ["app/a rang"]);
    world.crash();
    world.store.go_on();
    world.open(bell(&log).alone(), |_| {});
    assert_eq!((log.take(), world.entity("a").unwrap().alarm), (vec!["app/a rang".to_owned()], None));
}

/// A3: The parked alarm is visible.
#[test]
fn a_failing_alarm_is_retried_with_backoff_then_parked() {
    let log = Log::default();
    let says = log.clone();
    let toy = bell(&log).otherwise(move |turn| {
        if matches!(turn.input, Input::Alarm { .. }) {
            says.say("tried");
            panic!("the alarm fails");
        }
        Next::nothing()
    });
    let world = World::of(toy.alone());
    world.call(call("adder", "a", "set", 1)).unwrap();
    world.advance(SECOND);
    assert_eq!(log.take().len(), 1);
    world.advance(SECOND);
    assert_eq!(log.take().len(), 1, "after a second at most");
    world.advance(60 * SECOND);
    assert_eq!(log.take().len(), 3);
    let entity = world.entity("a").unwrap();
    assert!(matches!(&entity.parked, Some(Parked::Poisoned(why)) if why.contains("5 times: the alarm fails")));
    assert!(entity.alarm.is_some() && entity.head == "set", "nothing of it is lost");
    world.advance(600 * SECOND);
    assert!(log.take().is_empty());
    assert!(world.unpark("a"));
    assert_eq!(log.take().len(), 1);
}

/// A3
#[test]
fn a_failing_alarm_is_not_tried_before_its_backoff_is_over() {
    let log = Log::default();
    let says = log.clone();
    let toy = bell(&log).otherwise(move |_| {
        says.say("tried");
        Next::Refuse(Error::Failed("not now".into()))
    });
    let world = World::with(toy.alone(), |options| options.retry = (60 * SECOND, 60 * SECOND));
    world.call(call("adder", "a", "set", 1)).unwrap();
    world.advance(30 * SECOND);
    assert_eq!(log.take().len(), 1, "the upper half of a minute is drawn");
}

/// A3
#[test]
fn an_alarm_that_succeeds_in_the_end_is_not_parked() {
    let (log, failures) = (Log::default(), Log::default());
    let (says, fails) = (log.clone(), failures.clone());
    let toy = bell(&log).otherwise(move |turn| {
        if !matches!(turn.input, Input::Alarm { .. }) {
            return Next::nothing();
        }
        fails.say("tried");
        if turn.now < Millis(1_700_000_003_000) {
            return Next::Refuse(Error::Failed("not yet".into()));
        }
        says.say("rang");
        Next::Commit(Commit { alarm: Change::Clear, ..Commit::default() })
    });
    let world = World::of(toy.alone());
    world.call(call("adder", "a", "set", 1)).unwrap();
    world.advance(60 * SECOND);
    assert_eq!((log.take().len(), world.entity("a").unwrap().parked), (1, None));
    assert!(failures.take().len() > 1);
}

/// A4
#[test]
fn after_downtime_every_overdue_alarm_rings_once_oldest_first() {
    let (world, log) = world();
    for number in [3, 1, 2, 5, 4] {
        world.call(call("adder", &number.to_string(), "set", number)).unwrap();
    }
    world.crash();
    world.advance(60 * SECOND);
    let report = world.open(bell(&log).alone(), |_| {});
    assert_eq!(report.overdue, 5);
    assert_eq!(log.take(), [1, 2, 3, 4, 5].map(|number| format!("app/{number} rang")));
    world.advance(60 * SECOND);
    assert!(log.take().is_empty());
}

/// A4: Calls between them are answered.
#[test]
fn overdue_alarms_ring_paced_and_the_oldest_first() {
    let (log, has_rung) = (Log::default(), Latch::default());
    let (calls, rung) = (log.clone(), has_rung.clone());
    let toy = bell(&log).own("tell", move |turn| {
        calls.say("told".to_owned());
        Next::Commit(turn.says(""))
    });
    let toy = toy.lists(move |entity, _| {
        if entity.alarm.is_none() {
            rung.open();
        }
        Vec::new()
    });
    let world = World::with(toy.alone(), |options| (options.pace, options.lease) = (8, 3_600 * SECOND));
    for number in 1..=200 {
        world.call(call("adder", &number.to_string(), "set", number)).unwrap();
    }
    let kernel = world.kernel();
    let told = world.ask_future(async move {
        has_rung.wait().await;
        kernel.call(call("adder", "x", "tell", "")).await
    });
    // The machine sleeps until all alarms are overdue.
    world.freeze(true);
    world.advance(300 * SECOND);
    world.freeze(false);
    world.advance(SECOND);
    assert!(told.take().is_some_and(|answer| answer.is_ok()));
    let mut said = log.take();
    let between = said.iter().position(|line| line == "told").unwrap();
    said.remove(between);
    assert_eq!(said, (1..=200).map(|number| format!("app/{number} rang")).collect::<Vec<_>>());
    assert!(between <= 3 * 8, "a pace of 8 does not let {between} ring before a call that waits");
}

/// A5
#[test]
fn a_clock_that_jumps_back_loses_and_doubles_nothing() {
    let (world, log) = world();
    world.call(call("adder", "a", "set", 10)).unwrap();
    world.executor.jump(-HOUR_MS);
    world.advance(9 * SECOND);
    assert!(log.take().is_empty());
    world.advance(SECOND);
    assert_eq!(log.take(), ["app/a rang"]);
    world.advance(7_200 * SECOND);
    assert!(log.take().is_empty());
}

/// A5
#[test]
fn a_clock_that_jumps_on_rings_what_is_due_once() {
    let (world, log) = world();
    world.call(call("adder", "a", "set", 1_800)).unwrap();
    world.executor.jump(HOUR_MS);
    world.advance(10 * SECOND);
    assert_eq!(log.take(), ["app/a rang"]);
    world.executor.jump(-HOUR_MS);
    world.advance(7_200 * SECOND);
    assert!(log.take().is_empty());
}

/// A5
#[test]
fn our_time_never_goes_back_also_over_a_restart() {
    let (world, _) = world();
    world.call(add("a", 1)).unwrap();
    let before = world.time();
    world.executor.jump(-HOUR_MS);
    world.advance(SECOND);
    assert_eq!(world.time(), before.after(SECOND));
    world.call(add("a", 1)).unwrap();
    let stored = world.entity("a").unwrap().updated_at;
    world.restart();
    assert!(world.time() >= stored);
    world.call(add("a", 1)).unwrap();
    assert!(world.entity("a").unwrap().updated_at >= stored);
}

/// A5
#[test]
fn our_time_is_never_below_an_entity_that_was_read() {
    let (world, _) = world();
    world.call(add("a", 1)).unwrap();
    world.shut_down(SECOND);
    let later = world.executor.wall().after(60 * SECOND);
    write_at_a_later_time(&world, later);
    world.restart();
    assert!(world.time() < later, "the store was not told that time");
    world.call(add("a", 1)).unwrap();
    assert!(world.entity("a").unwrap().updated_at >= later);
}

/// A5
#[test]
fn a_deadline_is_not_extended_by_a_restart() {
    let (world, log) = world();
    world.call(call("adder", "a", "set", 10)).unwrap();
    for _ in 0..9 {
        world.advance(SECOND);
        world.restart();
        assert!(log.take().is_empty());
    }
    world.advance(SECOND);
    assert_eq!(log.take(), ["app/a rang"]);
}

/// A7
#[test]
fn a_stale_alarm_does_nothing_calls_nothing_and_is_not_counted() {
    let (world, log) = world();
    world.call(call("adder", "cleared", "set", 1)).unwrap();
    world.call(call("adder", "cleared", "clear", "")).unwrap();
    world.call(call("adder", "destroyed", "set", 1)).unwrap();
    world.call(call("adder", "destroyed", "destroy", "")).unwrap();
    let before = (world.entity("cleared"), world.store.counts().writes);
    world.advance(60 * SECOND);
    assert!(log.take().is_empty());
    assert_eq!(((world.entity("cleared"), world.store.counts().writes), world.kernel().counts().alarms), (before, 0));
}

/// A7
#[test]
fn an_alarm_that_its_kind_ignores_is_not_rung_again_and_again() {
    let toy = bell(&Log::default()).otherwise(|_| Next::nothing());
    let world = World::of(toy.alone());
    world.call(call("adder", "a", "set", 1)).unwrap();
    let before = world.store.counts().writes;
    world.advance(60 * SECOND);
    assert!(world.kernel().counts().alarms <= 60 / 5 + 1, "at most once per scan");
    assert_eq!(world.store.counts().writes, before);
}
