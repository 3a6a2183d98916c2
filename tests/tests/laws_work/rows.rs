//! Work that is listed by rows (W).

use super::*;

/// Puts rows and returns them.
fn shelf() -> Toy {
    let row = |name: String| Row { lane: "items".into(), key: name.clone().into(), body: name.into() };
    adder()
        .own("put", move |turn| {
            let put = turn.body().split(' ').map(|name| row(name.to_owned())).collect();
            Next::Commit(Commit { put, head: Some("shelf".into()), ..turn.says("") })
        })
        .own("remove", |turn| {
            Next::Commit(Commit { remove: vec![("items".into(), turn.body().into())], ..turn.says("") })
        })
        .own("show", |turn| match turn.rows.get(&Range::first("items", 3)) {
            None => Next::Read(vec![Range::first("items", 3)]),
            Some(rows) => {
                let names: Vec<_> = rows.iter().map(|row| String::from_utf8_lossy(&row.body).into_owned()).collect();
                Next::Commit(turn.says(names.join(" ")))
            }
        })
}

/// E4
#[test]
fn a_turn_sees_the_rows_of_an_undurable_turn_before_it() {
    let world = World::of(shelf().alone());
    world.call(call("adder", "a", "put", "b d")).unwrap();
    world.store.stall();
    let put = world.ask(call("adder", "a", "put", "a c"));
    let flying = world.ask(call("adder", "a", "show", ""));
    let (removed, both) = (world.ask(call("adder", "a", "remove", "b")), world.ask(call("adder", "a", "show", "")));
    assert!(put.waits() && flying.waits() && removed.waits() && both.waits());
    world.store.go_on();
    assert_eq!((flying.text().unwrap(), both.text().unwrap()), ("a b c".into(), "a c d".into()));
}

/// A shelf whose rows are its work: the first row runs, and is removed at its end.
fn belt(log: &Log) -> Toy {
    let says = log.clone();
    let range = || Range::first("items", 1);
    let work = |row: &Row| Work::new(String::from_utf8_lossy(&row.key).into_owned());
    shelf()
        .lists_rows(move |entity, rows, _| match rows.get(&range()) {
            _ if entity.head.is_empty() => Needed::Ready(Vec::new()),
            None => Needed::Read(vec![range()]),
            Some(rows) => Needed::Ready(rows.iter().map(work).collect()),
        })
        .runs(move |_, work, _| {
            says.say(work.id.to_string());
            Box::pin(async { done() })
        })
        .otherwise(|turn| match turn.input {
            Input::Done { work, .. } => {
                let gone = ("items".into(), work.as_str().to_owned().into());
                Next::Commit(Commit { remove: vec![gone], ..Commit::default() })
            }
            _ => Next::nothing(),
        })
}

/// E4
#[test]
fn work_listed_by_rows_sees_the_rows_of_the_previous_turn() {
    let log = Log::default();
    let world = World::of(belt(&log).alone());
    world.call(add("a", 1)).unwrap();
    world.call(call("adder", "a", "put", "1 2 3")).unwrap();
    assert_eq!(log.take(), ["1", "2", "3"]);
}

/// E1, E4
#[test]
fn a_call_that_binds_a_key_may_list_work_by_rows() {
    let log = Log::default();
    let world = World::of(belt(&log).alone());
    world.call(call("adder", "a", "put", "1 2 3")).unwrap();
    assert_eq!(log.take(), ["1", "2", "3"]);
}

/// E4, R1
#[test]
fn rows_and_their_work_outlive_a_crash_at_any_store_call() {
    for at in 1..12 {
        let log = Log::default();
        let world = World::of(belt(&log).alone());
        world.call(add("a", 1)).unwrap();
        world.call(call("adder", "a", "put", "1 2 3")).unwrap();
        world.store.kills_at(at, drystone_tests::world::Moment::After);
        drop(world.ask(call("adder", "a", "put", "4 5 6").once("k")));
        world.store.spares();
        world.restart();
        world.call(call("adder", "a", "put", "4 5 6").once("k")).unwrap();
        world.advance(60 * SECOND);
        let mut ran = log.take();
        ran.dedup();
        assert_eq!(ran, ["1", "2", "3", "4", "5", "6"], "{at}");
        assert_eq!(world.call(call("adder", "a", "show", "")).unwrap(), "", "{at}");
    }
}
