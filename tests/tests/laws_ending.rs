//! Destroying an entity: one commit removes all of it, and the next entity of the key gets none of it.

use std::time::Duration;

use drystone_runtime::{Borrow, Commit, Error, Input, Next, Range, Row, Work};
use drystone_tests::world::{
    Latch, Log, World,
    toys::{Toy, add, adder, alarm_in, call, message, ok, registry},
};

const SECOND: Duration = Duration::from_secs(1);

/// A toy with slow code, held callers, rows and an alarm.
fn rich(latch: &Latch, log: &Log) -> Toy {
    let (latch, log) = (latch.clone(), log.clone());
    adder()
        .action("slow", |_| Next::Run(Work { borrow: Borrow::Exclusive, ..Work::new("slow") }))
        .own("wait", |_| Next::Commit(Commit { hold: Some("room".into()), ..Commit::default() }))
        .own("alarm", |turn| Next::Commit(Commit { alarm: alarm_in(turn.now, SECOND), ..turn.says("set") }))
        .own("put", |turn| {
            let row = Row { lane: "items".into(), key: "1".into(), body: "old".into() };
            Next::Commit(Commit { put: vec![row], ..turn.says("put") })
        })
        .own("rows", |turn| match turn.rows.get(&Range::first("items", 9)) {
            Some(rows) => Next::Commit(turn.says(rows.len())),
            None => Next::Read(vec![Range::first("items", 9)]),
        })
        .runs(move |_, _, _| {
            let latch = latch.clone();
            Box::pin(async move {
                latch.wait().await;
                ok("late")
            })
        })
        .otherwise(move |turn| {
            log.say(turn.input.name().to_string());
            if matches!(turn.input, Input::Done { .. }) {
                drystone_tests::world::toys::settles(turn)
            } else {
                Next::nothing()
            }
        })
}

/// E8: The key is free.
#[test]
fn callers_of_a_destroyed_entity_are_told() {
    let world = World::of(rich(&Latch::default(), &Log::default()).alone());
    world.call(add("a", 3)).unwrap();
    let held = world.ask(call("adder", "a", "wait", ""));
    let running = world.ask(call("adder", "a", "slow", ""));
    assert_eq!(world.call(call("adder", "a", "destroy", "")).unwrap(), "gone");
    for caller in [held, running] {
        assert!(matches!(caller.text(), Err(Error::Destroyed { key }) if key.key == "a"));
    }
    assert_eq!(world.entity("a"), None);
}

/// E8
#[test]
fn a_call_that_waited_for_its_turn_gets_destroyed_and_binds_nothing() {
    let world = World::of(rich(&Latch::default(), &Log::default()).alone());
    world.call(add("a", 3)).unwrap();
    let _running = world.ask(call("adder", "a", "slow", ""));
    let waiting = world.ask(add("a", 1));
    world.call(call("adder", "a", "destroy", "")).unwrap();
    assert!(matches!(waiting.text(), Err(Error::Destroyed { .. })));
    assert_eq!(world.entity("a"), None);
}

/// E8
#[test]
fn the_next_entity_of_a_key_has_nothing_of_the_previous_one() {
    let (latch, log) = (Latch::default(), Log::default());
    let world = World::of(rich(&latch, &log).alone());
    world.call(add("a", 3)).unwrap();
    world.call(call("adder", "a", "put", "")).unwrap();
    world.call(call("adder", "a", "alarm", "")).unwrap();
    let _running = world.ask(call("adder", "a", "slow", ""));
    let before = world.entity("a").unwrap();
    world.call(call("adder", "a", "destroy", "")).unwrap();
    assert_eq!(world.call(add("a", 1)).unwrap(), "1");
    assert!(world.entity("a").unwrap().id > before.version);
    assert_eq!(world.call(call("adder", "a", "rows", "")).unwrap(), "0");
    latch.open();
    world.advance(2 * SECOND);
    assert!(log.take().is_empty(), "neither its alarm nor the end of its code");
    assert_eq!(world.state("a"), "1");
}

/// E8
#[test]
fn a_key_destroyed_and_bound_before_durability_ends_as_told() {
    let world = World::of(adder().alone());
    world.store.stall();
    let asked = [add("a", 3), call("adder", "a", "destroy", ""), add("a", 4)].map(|call| world.ask(call));
    world.store.go_on();
    assert_eq!(asked.map(|asked| asked.text().unwrap()), ["3", "gone", "4"]);
    assert_eq!(world.state("a"), "4");
}

/// E8, M1
#[test]
fn a_message_to_a_destroyed_entity_reaches_the_next_one() {
    let latch = Latch::default();
    let sender = Toy::new("sender")
        .own("send", |turn| Next::Commit(Commit { send: vec![message("adder", "a", "add", 5)], ..turn.sets("sent") }));
    let world = World::of(registry([rich(&latch, &Log::default()), sender]));
    world.call(add("a", 3)).unwrap();
    let _running = world.ask(call("adder", "a", "slow", ""));
    world.call(call("sender", "s", "send", "")).unwrap();
    world.call(call("adder", "a", "destroy", "")).unwrap();
    assert_eq!((world.state("a"), world.inbox("a")), ("5".into(), 0));
}

/// E8
#[test]
fn an_entity_is_as_gone_after_a_crash_as_before_it() {
    let world = World::of(rich(&Latch::default(), &Log::default()).alone());
    world.call(add("a", 3)).unwrap();
    world.call(call("adder", "a", "put", "")).unwrap();
    world.call(call("adder", "a", "destroy", "")).unwrap();
    world.restart();
    assert!(matches!(world.call(call("adder", "a", "get", "")), Err(Error::NotBound { .. })));
    assert_eq!(
        (world.call(add("a", 1)).unwrap(), world.call(call("adder", "a", "rows", "")).unwrap()),
        ("1".into(), "0".into())
    );
}
