//! Unused entities leave memory together with their handlers' memory, and come back unchanged.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use drystone_runtime::{
    Borrow, Cause, Change, Commit, Cx, Definition, Entity, Error, Handler, Hot, Input, Key, Millis, Needed, Next, Now,
    Registry, Rows, To, Work,
};
use drystone_tests::world::{
    Latch, World,
    toys::{Code, Toy, add, adder, alarm_in, call, done, message, settles, text},
};

const SECOND: Duration = Duration::from_secs(1);

/// An entity may stay in memory this long after its last use; one second later it is gone.
const EVICT_AFTER: Duration = Duration::from_secs(5);

/// A toy that keeps something in memory for every key, as a run keeps its future.
struct Remembers {
    toy: Toy,
    memories: Memories,
}

/// The memory of the handlers, by key.
#[derive(Clone, Default)]
struct Memories(Arc<Mutex<BTreeMap<String, Weak<()>>>>);

impl Memories {
    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Weak<()>>> {
        self.0.lock().expect("nobody panics while it is held")
    }

    fn hold(&self, key: &str) -> bool {
        self.all().get(key).is_some_and(|memory| memory.strong_count() > 0)
    }

    fn count(&self) -> usize {
        self.all().values().filter(|memory| memory.strong_count() > 0).count()
    }
}

impl Handler for Remembers {
    fn borrow(&self, verb: &str) -> Borrow {
        self.toy.borrow(verb)
    }

    fn turn(&self, hot: &mut Hot, key: &Key, entity: Option<&Entity>, rows: &Rows, input: &Input, now: Now) -> Next {
        // The memory of a read ends with the read.
        let is_read = matches!(input, Input::Call { verb, .. } if self.borrow(verb) == Borrow::Shared);
        if !is_read && hot.get::<Arc<()>>().is_none() {
            let memory = Arc::new(());
            self.memories.all().insert(text(&key.key), Arc::downgrade(&memory));
            hot.set(memory);
        }
        self.toy.turn(hot, key, entity, rows, input, now)
    }

    fn work(&self, hot: &mut Hot, entity: &Entity, rows: &Rows, now: Millis) -> Needed<Vec<Work>> {
        self.toy.work(hot, entity, rows, now)
    }

    fn run(&self, hot: &mut Hot, entity: Option<&Entity>, work: &Work, cx: Cx) -> Code {
        self.toy.run(hot, entity, work, cx)
    }
}

fn remembering(toy: Toy) -> (Registry, Memories) {
    let memories = Memories::default();
    let handler = Arc::new(Remembers { toy, memories: memories.clone() });
    let definition = Definition {
        name: "adder".into(),
        kind: "toy".into(),
        space: "app".into(),
        config: bytes::Bytes::new(),
        handler,
    };
    (Registry::new().with(definition), memories)
}

fn reads(world: &World, act: impl FnOnce()) -> u64 {
    let before = world.store.counts();
    act();
    world.store.counts().since(before).read_calls
}

/// W8
#[test]
fn an_unused_entity_leaves_memory_and_comes_back_unchanged() {
    let (registry, memories) = remembering(adder());
    let world = World::of(registry);
    world.call(add("a", 1)).unwrap();
    let before = world.entity("a");
    world.advance(EVICT_AFTER);
    assert!(memories.hold("a"), "it may be idle for so long");
    world.advance(SECOND);
    assert!(!memories.hold("a"), "what its handler kept is gone with it");
    assert_eq!((world.entity("a"), world.kernel().counts().left), (before, 1));
    assert_eq!(reads(&world, || assert_eq!(world.call(add("a", 1)).unwrap(), "2")), 1);
    assert_eq!(reads(&world, || assert_eq!(world.call(add("a", 1)).unwrap(), "3")), 0);
}

/// W8
#[test]
fn an_entity_that_is_used_stays() {
    let (registry, memories) = remembering(adder());
    let world = World::of(registry);
    world.call(add("a", 1)).unwrap();
    world.call(add("b", 1)).unwrap();
    let uses = || {
        for total in 2..20 {
            world.advance(EVICT_AFTER - SECOND / 2);
            assert_eq!(world.call(add("a", 1)).unwrap(), total.to_string());
            world.advance(EVICT_AFTER);
            assert_eq!(world.call(call("adder", "a", "get", "")).unwrap(), total.to_string());
        }
    };
    assert_eq!(reads(&world, uses), 0);
    assert!(memories.hold("a") && !memories.hold("b"));
    world.advance(EVICT_AFTER + SECOND);
    assert_eq!((memories.hold("a"), world.kernel().counts().left), (false, 2));
}

/// A toy that is busy in every possible way: listed work, a caller's code with other callers behind it,
/// held callers, and messages that fail and are retried.
fn busy(latch: &Latch, is_mended: &Arc<AtomicBool>) -> Toy {
    let (latch, is_mended) = (latch.clone(), is_mended.clone());
    adder()
        .own("work", |turn| Next::Commit(Commit { head: Some("work".into()), ..turn.says("") }))
        .action("run", |_| Next::Run(Work { borrow: Borrow::Exclusive, ..Work::new("run") }))
        .own("wait", |_| Next::Commit(Commit { hold: Some("room".into()), ..Commit::default() }))
        .own("release", |turn| {
            Next::Commit(Commit { replies: vec![(To::All("room".into()), Ok("".into()))], ..turn.says("") })
        })
        .own("send", |turn| Next::Commit(Commit { send: vec![message("adder", "letter", "take", 1)], ..turn.says("") }))
        .action("take", move |turn| match is_mended.load(Ordering::Relaxed) {
            true => Next::Commit(turn.sets(7)),
            false => Next::Refuse(Error::Failed("not yet".into())),
        })
        .lists(|entity, _| if entity.head == "work" { vec![Work::new("job")] } else { Vec::new() })
        .runs(move |_, _, _| {
            let latch = latch.clone();
            Box::pin(async move {
                latch.wait().await;
                done()
            })
        })
        .otherwise(|turn| match turn.input {
            Input::Done { cause: Cause::Listed, .. } => {
                Next::Commit(Commit { head: Some("done".into()), ..Commit::default() })
            }
            _ => settles(turn),
        })
}

/// W8: Until that is over.
#[test]
fn an_entity_with_work_callers_or_mail_stays_in_memory() {
    let (latch, is_mended) = (Latch::default(), Arc::default());
    let (registry, memories) = remembering(busy(&latch, &is_mended));
    let world = World::with(registry, |options| options.retry = (30 * SECOND, 30 * SECOND));
    let ask = |key: &str, verb| world.ask(call("adder", key, verb, "").deadline(3_600 * SECOND));
    for key in ["work", "sender", "run", "queue", "held", "letter"] {
        world.call(add(key, 1)).unwrap();
    }
    world.call(call("adder", "work", "work", "")).unwrap();
    world.call(call("adder", "sender", "send", "")).unwrap();
    // A turn that fails leaves nothing in memory, but this call brings the entity there.
    world.call(call("adder", "letter", "peek", "")).unwrap();
    let (runs, also, behind, held) = (ask("run", "run"), ask("queue", "run"), ask("queue", "add"), ask("held", "wait"));
    assert!([&runs, &also, &behind, &held].iter().all(|asked| asked.waits()));

    world.advance(2 * EVICT_AFTER);
    assert_eq!(["work", "run", "queue", "letter"].map(|key| memories.hold(key)), [true; 4]);
    assert!(!memories.hold("held") && held.waits(), "whoever waits needs no memory of the handler's");
    assert!(!memories.hold("sender"), "nothing holds it back");
    world.store.stall();
    let written = world.ask(add("written", 1).deadline(3_600 * SECOND));
    world.advance(2 * EVICT_AFTER);
    assert!(memories.hold("written") && written.waits(), "its commit is on the way");

    world.store.go_on();
    latch.open();
    is_mended.store(true, Ordering::Relaxed);
    world.call(call("adder", "held", "release", "")).unwrap();
    world.advance(60 * SECOND);
    assert!([runs, also, behind, held, written].iter().all(|asked| asked.text().is_ok()));
    assert_eq!((world.entity("work").unwrap().head.as_ref(), world.state("letter").as_str()), (&b"done"[..], "7"));
    assert_eq!(memories.count(), 0, "and then they leave like all others");
}

/// Sets an alarm 20 seconds from now, and notes in its record when the alarm rings. The state is as long as
/// the call asks.
fn ringing() -> Toy {
    adder()
        .action("set", |turn| {
            let state = "x".repeat(turn.number() as usize);
            Next::Commit(Commit { alarm: alarm_in(turn.now, 20 * SECOND), state: Some(state.into()), ..turn.says("") })
        })
        .otherwise(|turn| match turn.input {
            Input::Alarm { .. } => {
                let head = turn.now.0.to_string();
                Next::Commit(Commit { alarm: Change::Clear, head: Some(head.into()), ..Commit::default() })
            }
            _ => Next::nothing(),
        })
}

/// W8, A6
#[test]
fn a_short_record_outside_memory_rings_on_time_without_a_read() {
    for (length, read_calls) in [(10, 0), (10_000, 1)] {
        let (registry, memories) = remembering(ringing());
        let world = World::of(registry);
        world.call(call("adder", "a", "set", length)).unwrap();
        let due = world.entity("a").unwrap().alarm.unwrap();
        world.advance(19 * SECOND);
        assert!(!memories.hold("a"));
        assert_eq!(reads(&world, || world.advance(SECOND)), read_calls);
        let after = world.entity("a").unwrap();
        assert_eq!((text(&after.head), after.state.len(), after.alarm), (due.0.to_string(), length, None));
    }
}

/// W8, A6, R8
#[test]
fn an_entity_evicted_for_lack_of_memory_rings_without_a_read() {
    let (registry, memories) = remembering(ringing());
    let world = World::with(registry, |options| options.resident_bytes_max = 20_000);
    for number in 0..100 {
        world.call(call("adder", &number.to_string(), "set", 10)).unwrap();
    }
    assert!(!memories.hold("0") && memories.count() < 50, "{} are in memory", memories.count());
    assert_eq!(reads(&world, || world.advance(20 * SECOND)), 0);
    for number in 0..100 {
        let after = world.entity(&number.to_string()).unwrap();
        assert!(after.alarm.is_none() && !after.head.is_empty(), "{number} did not ring");
    }
}

/// W8
#[test]
fn however_many_there_are_they_leave_when_their_time_has_come() {
    let (registry, memories) = remembering(adder());
    let world = World::of(registry);
    for number in 0..1_000 {
        world.call(add(&number.to_string(), 1)).unwrap();
    }
    world.advance(EVICT_AFTER);
    assert_eq!(memories.count(), 1_000);
    world.advance(SECOND + SECOND / 10);
    assert_eq!((memories.count(), world.kernel().counts().left), (0, 1_000));
}

/// W8
#[test]
fn how_long_one_may_be_idle_is_an_option() {
    for (after, early, late) in [
        (Duration::ZERO, Duration::ZERO, SECOND / 10),
        (60 * SECOND, 60 * SECOND, 12 * SECOND),
        (Duration::MAX, 3_600 * SECOND, Duration::ZERO),
    ] {
        let (registry, memories) = remembering(adder());
        let world = World::with(registry, |options| options.evict_after = after);
        world.call(add("a", 1)).unwrap();
        world.advance(early);
        assert!(memories.hold("a"), "{after:?}");
        world.advance(late);
        assert_eq!(memories.hold("a"), after == Duration::MAX, "{after:?}");
    }
}

/// W8
#[test]
fn an_entity_that_arrives_late_leaves_as_soon_as_the_others() {
    let (registry, memories) = remembering(adder());
    let world = World::of(registry);
    for key in ["a", "b", "c"] {
        world.call(add(key, 1)).unwrap();
        world.advance(EVICT_AFTER);
        assert!(memories.hold(key));
        world.advance(SECOND);
        assert!(!memories.hold(key));
        world.advance(17 * SECOND / 10);
    }
}
