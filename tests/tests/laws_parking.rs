//! Entities that cannot run: they are kept unchanged and visible, and resume when the reason is gone.

use std::time::Duration;

use drystone_runtime::{Change, Commit, Error, Input, Next, Parked, kernel::Wait, store::Query};
use drystone_tests::world::{
    World,
    toys::{Toy, add, adder, alarm_in, call, message, registry},
};

const SECOND: Duration = Duration::from_secs(1);

/// Sets an alarm a second from now. The ring of the alarm adds one.
fn ringing() -> Toy {
    adder().action("set", |turn| Next::Commit(Commit { alarm: alarm_in(turn.now, SECOND), ..turn.sets(0) })).otherwise(
        |turn| match turn.input {
            Input::Alarm { .. } => Next::Commit(Commit { alarm: Change::Clear, ..turn.sets(turn.total() + 1) }),
            _ => Next::nothing(),
        },
    )
}

fn parked(world: &World, key: &str) -> Option<Parked> {
    world.entity(key).expect("it is bound").parked
}

/// E10
#[test]
fn an_entity_without_a_definition_is_parked_seen_and_loses_no_alarm() {
    let world = World::of(ringing().alone());
    world.call(call("adder", "a", "set", "")).unwrap();
    let before = world.entity("a").unwrap();
    world.open(registry([]), |_| {});
    world.advance(2 * SECOND);
    let after = world.entity("a").unwrap();
    assert_eq!((after.parked, after.alarm, after.state), (Some(Parked::Unregistered), before.alarm, before.state));
    assert_eq!(world.waits("a")[0], Wait::Parked(Parked::Unregistered));
    let kernel = world.kernel();
    let listed = world.now(async move { kernel.list(Query { parked: Some(true), ..Query::default() }).await }).unwrap();
    assert_eq!(listed.entities.len(), 1);
    assert_eq!(world.open(ringing().alone(), |_| {}).parked, 1);
    world.settle();
    assert_eq!((world.state("a").as_str(), parked(&world, "a")), ("1", None));
}

/// E10, R3, fF4: workers of two builds hand the entity to each other. The next worker with the definition
/// resumes.
#[test]
fn a_worker_without_a_definition_loses_nothing_of_it() {
    let world = World::of(ringing().alone());
    world.call(call("adder", "a", "set", "")).unwrap();
    world.freeze(true);
    let older = world.second(registry([]), |_| {});
    world.advance(30 * SECOND);
    assert_eq!((parked(&world, "a"), world.state("a").as_str()), (Some(Parked::Unregistered), "0"));
    older.kill();
    let newer = world.second(ringing().alone(), |_| {});
    world.advance(30 * SECOND);
    assert_eq!((parked(&world, "a"), world.state("a").as_str()), (None, "1"));
    newer.kill();
}

/// E10
#[test]
fn a_message_waits_for_the_definition_of_its_entity() {
    let sender = || {
        Toy::new("sender").own("send", |turn| {
            Next::Commit(Commit { send: vec![message("adder", "a", "add", 5)], ..turn.sets("sent") })
        })
    };
    let world = World::of(registry([adder(), sender()]));
    world.call(add("a", 1)).unwrap();
    world.open(sender().alone(), |_| {});
    world.call(call("sender", "s", "send", "")).unwrap();
    assert_eq!((parked(&world, "a"), world.inbox("a")), (Some(Parked::Unregistered), 1));
    world.open(registry([adder(), sender()]), |_| {});
    assert_eq!((world.state("a"), world.inbox("a"), parked(&world, "a")), ("6".into(), 0, None));
}

/// A toy that cannot read the state `broken`, unless it is the later version.
fn picky(version: &'static str) -> Toy {
    picky_with(version, version)
}

fn picky_with(version: &'static str, config: &'static str) -> Toy {
    Toy::new("adder").config(config).action("write", |turn| Next::Commit(turn.sets(turn.body()))).action(
        "get",
        move |turn| match turn.entity {
            Some(entity) if entity.state == "broken" && version == "v1" => {
                Next::Park("state.items[3].qty: expected u32".to_owned())
            }
            Some(entity) => Next::Commit(turn.says(String::from_utf8_lossy(&entity.state))),
            None => Next::nothing(),
        },
    )
}

/// E10: It is never reset.
#[test]
fn an_unreadable_entity_is_parked_with_the_reason() {
    let world = World::of(picky("v1").alone());
    world.call(call("adder", "a", "write", "broken")).unwrap();
    let expected = Parked::Undecodable("state.items[3].qty: expected u32".to_owned());
    for verb in ["get", "write"] {
        let refused = world.call(call("adder", "a", verb, "other"));
        assert!(matches!(&refused, Err(Error::Parked { reason, .. }) if *reason == expected), "{verb}: {refused:?}");
    }
    world.restart();
    assert!(matches!(world.call(call("adder", "a", "get", "")), Err(Error::Parked { .. })));
    assert!(matches!(world.call(call("adder", "a", "write", "x")), Err(Error::Parked { .. })));
    assert_eq!((world.state("a"), parked(&world, "a")), ("broken".into(), Some(expected)));
}

/// E10: Its options are the same.
#[test]
fn an_unreadable_entity_resumes_with_mended_code() {
    let world = World::of(picky("v1").alone());
    world.call(call("adder", "a", "write", "broken")).unwrap();
    assert!(world.call(call("adder", "a", "get", "")).is_err());
    world.open(picky_with("v2", "v1").alone(), |_| {});
    assert_eq!((world.call(call("adder", "a", "get", "")).unwrap().as_str(), parked(&world, "a")), ("broken", None));
}

/// E10
#[test]
fn an_unreadable_entity_resumes_with_a_changed_definition() {
    let world = World::of(picky("v1").alone());
    world.call(call("adder", "a", "write", "broken")).unwrap();
    assert!(world.call(call("adder", "a", "get", "")).is_err());
    world.open(picky("v2").alone(), |_| {});
    assert_eq!((world.call(call("adder", "a", "get", "")).unwrap().as_str(), parked(&world, "a")), ("broken", None));
}

/// E10
#[test]
fn a_parked_entity_that_is_unparked_is_tried_again() {
    let world = World::of(picky("v1").alone());
    world.call(call("adder", "a", "write", "broken")).unwrap();
    assert!(!world.unpark("a"), "it is not parked");
    assert!(world.call(call("adder", "a", "get", "")).is_err());
    assert!(world.unpark("a"));
    assert_eq!(parked(&world, "a"), None);
    assert_eq!(world.call(call("adder", "a", "write", "mended")).unwrap(), "mended");
    assert_eq!(world.call(call("adder", "a", "get", "")).unwrap(), "mended");
}

/// Notes the new version in the record when the definition changes.
fn versioned(version: &'static str) -> Toy {
    adder().config(version).otherwise(move |turn| match turn.input {
        Input::Changed => Next::Commit(Commit { head: Some(version.into()), ..Commit::default() }),
        _ => Next::nothing(),
    })
}

/// E11
#[test]
fn a_changed_definition_reaches_every_entity_after_opening() {
    let world = World::of(versioned("v1").alone());
    let keys: Vec<String> = (0..5).map(|number| format!("a{number}")).collect();
    keys.iter().for_each(|key| drop(world.call(add(key, 1)).unwrap()));
    let before = world.entity("a0").unwrap().config;
    world.open(versioned("v2").alone(), |_| {});
    world.advance(10 * SECOND);
    for key in &keys {
        let entity = world.entity(key).unwrap();
        assert_eq!((&entity.head[..], &entity.state[..]), (&b"v2"[..], &b"1"[..]));
        assert_ne!(entity.config, before);
    }
}

/// E11
#[test]
fn an_entity_adapts_before_it_is_asked_anything() {
    let world = World::of(versioned("v1").alone());
    world.call(add("a", 1)).unwrap();
    world.open(versioned("v2").alone(), |_| {});
    world.call(add("a", 1)).unwrap();
    assert_eq!((world.state("a"), world.entity("a").unwrap().head), ("2".into(), "v2".into()));
}

/// E11
#[test]
fn an_unchanged_definition_tells_nobody() {
    let world = World::of(versioned("v1").alone());
    world.call(add("a", 1)).unwrap();
    world.restart();
    world.advance(30 * SECOND);
    assert_eq!(world.entity("a").unwrap().head, "");
}
