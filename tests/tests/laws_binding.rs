//! Keys: how a key is bound, and which calls are refused before anything is written.

use drystone_runtime::{
    Commit, Error, Limit, Next, Row,
    driver::block_on,
    store::{Query, Store},
};
use drystone_tests::world::{
    World,
    toys::{Toy, add, adder, adder_named, call, registry},
};

/// E1
#[test]
fn a_call_that_makes_the_state_binds_in_its_own_commit() {
    let world = World::of(adder().config("shown").alone());
    assert_eq!(world.call(add("a", 3)).unwrap(), "3");
    let entity = world.entity("a").unwrap();
    assert_eq!((entity.kind.as_str(), entity.definition.as_str(), &entity.state[..]), ("toy", "adder", &b"3"[..]));
    assert_eq!((entity.id, entity.created_at), (entity.version, world.time()));
    let kernel = world.kernel();
    let view = world.now(async move { kernel.view(&entity.key).await }).unwrap().unwrap();
    assert_eq!(view.config.unwrap(), "shown");
}

/// E1
#[test]
fn a_call_that_fails_binds_nothing() {
    let world = World::of(adder().alone());
    assert!(matches!(world.call(call("adder", "a", "fail", "")), Err(Error::Failed(_))));
    assert!(matches!(world.call(call("adder", "a", "panic", "")), Err(Error::Panicked { .. })));
    assert_eq!(world.entity("a"), None);
}

/// E1
#[test]
fn a_call_whose_code_runs_and_fails_binds_nothing() {
    let toy =
        Toy::new("adder").action("add", |_| Next::Run(drystone_runtime::Work::new("add"))).runs(|entity, _, _| {
            assert!(entity.is_none());
            Box::pin(async { drystone_runtime::Outcome::Failed("no".into()) })
        });
    let world = World::of(toy.alone());
    assert!(matches!(world.call(add("a", 1)), Err(Error::Failed(_))));
    assert_eq!(world.entity("a"), None);
}

/// E1: The caller of the unbound key is told so.
#[test]
fn a_call_that_makes_no_state_writes_nothing() {
    let row = || Row { lane: "items".into(), key: "1".into(), body: "x".into() };
    let toy = Toy::new("toy")
        .own("put", move |turn| Next::Commit(Commit { put: vec![row()], ..turn.says("") }))
        .own("destroy", |turn| Next::Commit(Commit { destroy: true, ..turn.says("") }));
    let world = World::of(toy.alone());
    for verb in ["put", "destroy"] {
        let refused = world.call(call("toy", "a", verb, ""));
        assert!(matches!(refused, Err(Error::NotBound { key }) if key.key == "a"), "{verb}");
    }
    assert_eq!((world.entity("a"), world.store.counts().writes), (None, 0));
}

/// E1
#[test]
fn a_read_never_binds() {
    let greedy = Toy::new("toy").read("get", |turn| Next::Commit(turn.sets(1)));
    let world = World::of(registry([adder(), greedy]));
    assert!(matches!(world.call(call("adder", "a", "get", "")), Err(Error::NotBound { .. })));
    assert!(world.call(call("toy", "b", "get", "")).is_err());
    assert_eq!((world.entity("a"), world.entity("b"), world.store.counts().writes), (None, None, 0));
}

/// E2
#[test]
fn a_call_through_another_definition_is_refused_and_changes_nothing() {
    let world = World::of(registry([adder(), adder_named("other")]));
    world.call(add("a", 3)).unwrap();
    let before = world.entity("a");
    for verb in ["add", "get", "peek", "destroy"] {
        match world.call(call("other", "a", verb, 1)) {
            Err(Error::TypeMismatch { key, bound, requested }) => {
                assert_eq!((&key.key[..], bound.as_str(), requested.as_str()), (&b"a"[..], "adder", "other"));
            }
            other => panic!("{verb}: {other:?}"),
        }
    }
    assert_eq!(world.entity("a"), before);
}

/// E9
#[test]
fn an_unknown_definition_or_verb_is_told_what_there_is() {
    let world = World::of(registry([adder(), adder_named("other")]));
    match world.call(call("addr", "a", "add", 1)) {
        Err(Error::UnknownDefinition { name, known }) => {
            assert_eq!((name.as_str(), known.join(" ").as_str()), ("addr", "adder other"));
        }
        other => panic!("{other:?}"),
    }
    assert!(
        matches!(world.call(call("adder", "a", "ad", 1)), Err(Error::UnknownVerb { known, .. }) if known.len() == 6)
    );
    assert_eq!(world.store.counts().writes, 0);
}

/// K3
#[test]
fn an_input_that_is_too_large_is_refused_before_any_read() {
    let world = World::of(adder().alone());
    let before = world.store.counts();
    let long = "k".repeat(513);
    let big = "1".repeat((1 << 20) + 1);
    let refused = |call| match world.call(call) {
        Err(Error::TooLarge { what, found, limit }) => (what, found, limit),
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(add(&long, 1)), (Limit::KeyBytes, 513, 512));
    assert_eq!(refused(add("", 1)), (Limit::KeyBytes, 0, 512));
    assert_eq!(refused(call("adder", "a", "add", big)), (Limit::PayloadBytes, (1 << 20) + 1, 1 << 20));
    assert_eq!(refused(add("a", 1).once(long)), (Limit::KeyBytes, 513, 512));
    assert_eq!(world.store.counts(), before);
    assert!(world.call(add(&"k".repeat(512), 1)).is_ok());
}

/// K3: The entity is as it was.
#[test]
fn a_turn_that_writes_too_much_is_refused() {
    let rows = |count: u64, bytes: usize| (0..count).map(move |number| row(number, bytes)).collect::<Vec<_>>();
    let toy = adder()
        .action("state", |turn| Next::Commit(turn.sets("x".repeat(turn.number() as usize))))
        .action("rows", move |turn| Next::Commit(Commit { put: rows(turn.number(), 1), ..turn.sets("rows") }))
        .action("bytes", move |turn| Next::Commit(Commit { put: rows(turn.number(), 1 << 20), ..turn.sets("bytes") }))
        .action("row", move |turn| {
            Next::Commit(Commit { put: vec![row(0, turn.number() as usize)], ..turn.sets("row") })
        });
    let world = World::of(toy.alone());
    world.call(add("a", 3)).unwrap();
    let before = world.entity("a");
    for (verb, size, limit) in [
        ("state", (1 << 20) + 1, Limit::PayloadBytes),
        ("row", (1 << 20) + 1, Limit::PayloadBytes),
        ("rows", 1_001, Limit::CommitRows),
        ("bytes", 5, Limit::CommitBytes),
    ] {
        let refused = world.call(call("adder", "a", verb, size));
        assert!(matches!(refused, Err(Error::TooLarge { what, .. }) if what == limit), "{verb}: {refused:?}");
    }
    assert_eq!(world.entity("a"), before);
    assert!(world.call(call("adder", "a", "rows", 998)).is_ok());
}

/// K3
#[test]
fn calls_that_fit_alone_but_not_together_become_two_commits() {
    let toy = adder().action("rows", |turn| {
        let put = (0..600).map(|number| row(number + turn.number(), 1)).collect();
        Next::Commit(Commit { put, ..turn.sets("rows") })
    });
    let world = World::of(toy.alone());
    world.call(add("a", 0)).unwrap();
    world.store.stall();
    let busy = world.ask(add("a", 0));
    let (one, two) = (world.ask(call("adder", "a", "rows", 0)), world.ask(call("adder", "a", "rows", 600)));
    let before = world.store.counts();
    world.store.go_on();
    assert!(busy.text().is_ok() && one.text().is_ok() && two.text().is_ok());
    let spent = world.store.counts().since(before);
    assert_eq!((spent.commits, spent.rows), (3, 1_200));
}

/// R6
#[test]
fn entities_are_listed_in_pages_that_stay_while_others_change() {
    let world = World::of(registry([adder(), adder_named("other")]));
    (0..7).for_each(|number| drop(world.call(add(&format!("a{number}"), 1)).unwrap()));
    world.call(call("other", "b", "add", 1)).unwrap();
    let list = |query: Query| block_on(world.store.inner().list(&query)).unwrap();
    let page = |after| list(Query { definition: Some("adder".into()), after, limit: 3, ..Query::default() });
    let first = page(None);
    world.call(call("adder", "a0", "destroy", "")).unwrap();
    world.call(add("a4", 1)).unwrap();
    let (second, kernel) = (page(first.next), world.kernel());
    let rest = Query { definition: Some("adder".into()), after: second.next, limit: 3, ..Query::default() };
    let third = world.now(async move { kernel.list(rest).await }).unwrap();
    let keys: Vec<_> = [first, second, third.clone()]
        .iter()
        .flat_map(|page| page.entities.clone())
        .map(|entity| entity.key.key)
        .collect();
    assert_eq!(keys, ["a0", "a1", "a2", "a3", "a4", "a5", "a6"]);
    assert_eq!(third.next, None);
}

fn row(number: u64, bytes: usize) -> Row {
    Row { lane: "items".into(), key: number.to_be_bytes().to_vec().into(), body: vec![0; bytes].into() }
}
