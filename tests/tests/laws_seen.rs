//! Inspecting an entity: the view, the reasons for waiting, and the lifecycle events.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use drystone_runtime::{Borrow, Commit, Cx, Input, Lifecycle, Next, Parked, Status, Work, WorkId, kernel::Wait};
use drystone_tests::world::{
    Latch, World, key,
    toys::{Toy, add, adder, alarm_in, call, done, event, message, registry},
};

const SECOND: Duration = Duration::from_secs(1);

/// A toy that waits for everything that an entity can wait for.
fn waiting(latch: &Latch) -> Toy {
    let latch = latch.clone();
    adder()
        .own("work", |turn| Next::Commit(Commit { head: Some("work".into()), ..turn.says("") }))
        .own("alarm", |turn| Next::Commit(Commit { alarm: alarm_in(turn.now, SECOND), ..turn.says("") }))
        .own("wait", |_| Next::Commit(Commit { hold: Some("room".into()), ..Commit::default() }))
        .own("park", |_| Next::Park("as asked".to_owned()))
        .own("lie", |turn| {
            let status = Some(Status::live("waiting"));
            Next::Commit(Commit { status, head: Some("lie".into()), ..turn.says("") })
        })
        .own("send", |turn| Next::Commit(Commit { send: vec![message("adder", "a", "add", 1)], ..turn.says("") }))
        .lists(|entity, _| {
            let work = Work { borrow: Borrow::Exclusive, ..Work::new("job/1") };
            if entity.head == "work" { vec![work] } else { Vec::new() }
        })
        .runs(move |_, _, _| {
            let latch = latch.clone();
            Box::pin(async move {
                latch.wait().await;
                done()
            })
        })
}

/// E14, R7
#[test]
fn explain_names_everything_that_an_entity_waits_for() {
    let world = World::of(waiting(&Latch::default()).alone());
    assert_eq!((world.explain("a").status, world.waits("a")), (None, vec![Wait::Rest]));
    world.call(add("a", 1)).unwrap();
    assert_eq!((world.explain("a").status.unwrap().as_str(), world.waits("a")), ("bound", vec![Wait::Rest]));
    world.call(call("adder", "a", "alarm", "")).unwrap();
    let alarm = Wait::Alarm(world.time().after(SECOND));
    assert_eq!(world.waits("a"), std::slice::from_ref(&alarm));
    world.call(call("adder", "a", "work", "")).unwrap();
    let work = Wait::Work(WorkId::new("job/1"));
    assert_eq!(world.waits("a"), [work.clone(), alarm.clone()]);
    let _asked = (world.ask(add("a", 1)), world.ask(call("adder", "a", "wait", "")));
    world.call(add("b", 1)).unwrap();
    world.call(call("adder", "b", "send", "")).unwrap();
    let rest = [work, alarm, Wait::Inbox(1), Wait::Calls(1), Wait::Callers(1)];
    assert_eq!(world.waits("a"), rest);
    world.store.stall();
    let _asked = world.ask(call("adder", "a", "alarm", ""));
    assert_eq!(world.waits("a").last(), Some(&Wait::Commit));
}

/// E14
#[test]
fn explain_names_work_that_waits_for_a_place() {
    let world = World::with(waiting(&Latch::default()).alone(), |options| options.work_max = 1);
    for key in ["a", "b"] {
        world.call(add(key, 1)).unwrap();
        world.call(call("adder", key, "work", "")).unwrap();
    }
    assert_eq!(world.waits("a"), [Wait::Work(WorkId::new("job/1"))]);
    assert_eq!(world.waits("b"), [Wait::Listed(WorkId::new("job/1"))]);
}

/// E14, E10
#[test]
fn explain_names_the_reason_of_a_parking_in_words() {
    let world = World::of(waiting(&Latch::default()).alone());
    world.call(add("a", 1)).unwrap();
    assert!(world.call(call("adder", "a", "park", "")).is_err());
    assert_eq!(world.waits("a"), [Wait::Parked(Parked::Undecodable("as asked".to_owned()))]);
    let said = world.explain("a").to_string();
    assert_eq!(said, "app/a: bound; it is parked: its record cannot be read: as asked");
}

/// R7, fA5: It is counted.
#[test]
fn a_live_entity_that_nothing_wakes_is_reported_as_stuck() {
    let world = World::of(waiting(&Latch::default()).alone());
    world.call(call("adder", "a", "lie", "")).unwrap();
    assert_eq!(world.waits("a"), [Wait::Stuck]);
    world.advance(10 * SECOND);
    assert_eq!(world.kernel().counts().stuck, 1);
    world.call(call("adder", "a", "alarm", "")).unwrap();
    world.call(add("b", 1)).unwrap();
    assert!(!world.waits("a").contains(&Wait::Stuck) && !world.waits("b").contains(&Wait::Stuck));
}

/// R7: Its work runs.
#[test]
fn a_live_entity_that_nothing_would_wake_is_woken() {
    let is_forgotten = Arc::new(AtomicBool::new(true));
    let forgotten = is_forgotten.clone();
    let toy = adder()
        .own("work", |turn| {
            let status = Some(Status::live("working"));
            Next::Commit(Commit { status, head: Some("work".into()), ..turn.says("") })
        })
        .lists(move |entity, _| {
            let is_due = entity.head == "work" && !forgotten.load(Ordering::Relaxed);
            if is_due { vec![Work::new("job/1")] } else { Vec::new() }
        })
        .otherwise(|turn| match turn.input {
            Input::Done { .. } => {
                let status = Some(Status::resting("done"));
                Next::Commit(Commit { status, head: Some("done".into()), ..Commit::default() })
            }
            _ => Next::nothing(),
        });
    let world = World::of(toy.alone());
    // The entity is stored without its work, as a bug of the runtime would leave it.
    world.call(call("adder", "a", "work", "")).unwrap();
    assert_eq!(world.waits("a"), [Wait::Stuck]);
    is_forgotten.store(false, Ordering::Relaxed);
    world.advance(20 * SECOND);
    assert_eq!((&world.entity("a").unwrap().head[..], world.kernel().counts().stuck), (&b"done"[..], 1));
}

/// E14
#[test]
fn the_view_shows_type_name_config_meta_and_state() {
    let world = World::of(adder().config("every = 5m").alone());
    let (kernel, unbound) = (world.kernel(), key("a"));
    assert_eq!(world.now(async move { kernel.view(&unbound).await }).unwrap(), None);
    let born = world.time();
    world.call(add("a", 1)).unwrap();
    world.advance(SECOND);
    world.call(add("a", 1)).unwrap();
    let (kernel, bound) = (world.kernel(), key("a"));
    let view = world.now(async move { kernel.view(&bound).await }).unwrap().unwrap();
    assert_eq!((view.entity.kind.as_str(), view.entity.definition.as_str()), ("toy", "adder"));
    assert_eq!((&view.config.unwrap()[..], &view.entity.state[..]), (&b"every = 5m"[..], &b"2"[..]));
    assert_eq!((view.entity.created_at, view.entity.updated_at), (born, born.after(SECOND)));
}

/// E14
#[test]
fn code_can_ask_for_key_definition_time_attempt_work_and_fence() {
    let seen: Arc<Mutex<Option<Cx>>> = Arc::default();
    let keep = seen.clone();
    let toy =
        adder().action("run", |_| Next::Run(Work { attempt: 7, ..Work::new("charge#1") })).runs(move |_, _, cx| {
            *keep.lock().unwrap() = Some(cx);
            Box::pin(async { done() })
        });
    let world = World::of(toy.alone());
    world.call(add("a", 1)).unwrap();
    let entity = world.entity("a").unwrap();
    world.call(call("adder", "a", "run", "")).unwrap();
    let cx = seen.lock().unwrap().take().unwrap();
    assert_eq!((cx.key, cx.definition.as_str(), cx.id), (key("a"), "adder", Some(entity.id)));
    assert_eq!((cx.work.as_str(), cx.attempt, cx.now, cx.fence), ("charge#1", 7, world.time(), entity.version));
}

/// E15
#[test]
fn every_listener_hears_what_an_entity_tells_after_its_commit() {
    let flushed =
        || Lifecycle { name: "buffer.flushed".into(), fields: BTreeMap::from([("count".into(), "3".into())]) };
    let toy = adder()
        .action("tell", move |turn| Next::Commit(Commit { emit: vec![flushed(), event("after")], ..turn.sets(1) }))
        .action("tell and fail", |_| Next::Refuse(drystone_runtime::Error::Failed("no".into())))
        .own("only tell", |turn| Next::Commit(Commit { emit: vec![event("empty")], ..turn.says("") }));
    let world = World::of(toy.alone());
    let listeners = [world.kernel().listen(), world.kernel().listen()];
    world.call(call("adder", "a", "tell", "")).unwrap();
    world.call(call("adder", "a", "tell and fail", "")).unwrap_err();
    world.call(call("adder", "a", "only tell", "")).unwrap();
    for mut listener in listeners {
        let heard = world.now(async move {
            let mut heard = Vec::new();
            for _ in 0..3 {
                heard.extend(listener.next().await);
            }
            heard
        });
        assert!(heard.iter().all(|event| event.key == key("a") && event.definition == "adder"));
        let heard: Vec<_> = heard.into_iter().map(|event| event.lifecycle).collect();
        assert_eq!(heard, [flushed(), event("after"), event("empty")]);
    }
}

/// E15
#[test]
fn a_slow_listener_loses_some_which_are_counted_and_slows_nobody() {
    let toy = adder().own("tell", |turn| {
        let emit = (0..turn.number()).map(|_| event("told")).collect();
        Next::Commit(Commit { emit, ..turn.says("") })
    });
    let world = World::of(registry([toy]));
    let mut listener = world.kernel().listen();
    world.call(call("adder", "a", "tell", 1_500)).unwrap();
    let missed = world.now(async move {
        let first = listener.next().await;
        (first.is_some(), listener.missed())
    });
    assert_eq!(missed, (true, 1_500 - 1_024));
}
