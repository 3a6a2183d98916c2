//! Idempotency keys: a repeated call happens once.

use std::time::Duration;

use drystone_runtime::{
    Borrow, Commit, Cx, Entity, Error, Handler, Hot, Input, Key, Millis, Needed, Next, Now, Registry, Rows, To, Work,
};
use drystone_tests::world::{
    Latch, Log, Moment, World,
    toys::{Code, Toy, add, adder, call, number, ok, registry},
};

/// An adder that logs its calls, and has slow code.
fn telling(latch: &Latch, log: &Log) -> Toy {
    let (latch, fails, declines, runs) = (latch.clone(), log.clone(), log.clone(), log.clone());
    adder()
        .action("decline", move |_| {
            declines.say("declined");
            Next::Refuse(Error::Declined("not now".into()))
        })
        .action("fail", move |_| {
            fails.say("failed");
            Next::Refuse(Error::Failed("no".into()))
        })
        .action("slow", |_| Next::Run(Work { borrow: Borrow::Exclusive, ..Work::new("slow") }))
        .own("wait", |_| Next::Commit(Commit { hold: Some("room".into()), ..Commit::default() }))
        .own("release", |turn| {
            let all = (To::All("room".into()), Ok("released".into()));
            Next::Commit(Commit { replies: vec![all], ..Commit::default() }.clone_state(turn.entity))
        })
        .runs(move |entity, _, _| {
            let (latch, total) = (latch.clone(), entity.map_or(0, |entity| number(&entity.state)));
            runs.say("ran");
            Box::pin(async move {
                latch.wait().await;
                ok(total + 10)
            })
        })
}

trait CloneState {
    fn clone_state(self, entity: Option<&Entity>) -> Self;
}

impl CloneState for Commit {
    fn clone_state(mut self, entity: Option<&Entity>) -> Self {
        self.state = entity.map(|entity| entity.state.clone());
        self
    }
}

fn world() -> (World, Latch, Log) {
    let (latch, log) = (Latch::default(), Log::default());
    (World::of(telling(&latch, &log).alone()), latch, log)
}

/// E12
#[test]
fn a_repeat_gets_the_recorded_reply_also_after_a_crash() {
    let (world, ..) = world();
    assert_eq!(world.call(add("a", 3).once("k")).unwrap(), "3");
    world.call(add("a", 1)).unwrap();
    assert_eq!(world.call(add("a", 3).once("k")).unwrap(), "3");
    world.restart();
    assert_eq!((world.call(add("a", 3).once("k")).unwrap(), world.state("a")), ("3".into(), "4".into()));
    assert_eq!(world.call(add("a", 3).once("other")).unwrap(), "7");
    assert_eq!(world.call(add("b", 3).once("k")).unwrap(), "3", "the key is the entity's own");
}

/// E12
#[test]
fn a_repeat_with_another_action_or_input_is_a_mismatch() {
    let (world, ..) = world();
    world.call(add("a", 3).once("k")).unwrap();
    for other in [add("a", 4), call("adder", "a", "fail", 3)] {
        assert!(matches!(world.call(other.once("k")), Err(Error::IdempotencyMismatch { .. })));
    }
    assert_eq!(world.state("a"), "3");
}

/// E12
#[test]
fn a_repeat_waits_for_the_first_while_that_is_in_progress() {
    let (world, latch, log) = world();
    let slow = || call("adder", "a", "slow", "").once("k");
    let (first, second) = (world.ask(slow()), world.ask(slow()));
    let mismatch = world.ask(call("adder", "a", "slow", "other").once("k"));
    assert!(first.waits() && second.waits() && mismatch.waits());
    latch.open();
    assert_eq!((first.text().unwrap(), second.text().unwrap()), ("10".into(), "10".into()));
    assert!(matches!(mismatch.text(), Err(Error::IdempotencyMismatch { .. })));
    assert_eq!(log.take(), ["ran"]);
}

/// E12
#[test]
fn two_of_one_key_that_wait_for_the_writer_together_happen_once() {
    let (world, ..) = world();
    world.call(add("a", 1)).unwrap();
    world.store.stall();
    let (first, second) = (world.ask(add("a", 3).once("k")), world.ask(add("a", 3).once("k")));
    world.store.go_on();
    assert_eq!((first.text().unwrap(), second.text().unwrap(), world.state("a")), ("4".into(), "4".into(), "4".into()));
}

/// E12
#[test]
fn a_held_caller_is_remembered_when_it_is_answered() {
    let (world, ..) = world();
    world.call(add("a", 1)).unwrap();
    let held = world.ask(call("adder", "a", "wait", "").once("k"));
    let repeat = world.ask(call("adder", "a", "wait", "").once("k"));
    assert!(held.waits() && repeat.waits());
    world.call(call("adder", "a", "release", "")).unwrap();
    assert_eq!((held.text().unwrap(), repeat.text().unwrap()), ("released".into(), "released".into()));
    assert_eq!(world.call(call("adder", "a", "wait", "").once("k")).unwrap(), "released");
}

/// E12
#[test]
fn an_authors_error_is_recorded_and_not_made_again() {
    let (world, _, log) = world();
    world.call(add("bound", 1)).unwrap();
    for key in ["bound", "unbound"] {
        for _ in 0..2 {
            let failed = world.call(call("adder", key, "fail", "").once("k"));
            assert!(matches!(failed, Err(Error::Failed(error)) if error == "no"));
        }
        assert_eq!(log.take(), ["failed"], "{key}");
    }
    assert_eq!((world.state("bound"), world.entity("unbound")), ("1".into(), None));
}

/// E12
#[test]
fn a_refusal_of_the_kinds_own_is_not_recorded() {
    let (world, _, log) = world();
    for key in ["bound", "unbound"] {
        if key == "bound" {
            world.call(add(key, 1)).unwrap();
        }
        for _ in 0..2 {
            let declined = world.call(call("adder", key, "decline", "").once("k"));
            assert!(matches!(declined, Err(Error::Declined(error)) if error == "not now"));
        }
        assert_eq!(log.take(), ["declined", "declined"], "{key}");
        assert_eq!(world.call(add(key, 3).once("k")).unwrap(), if key == "bound" { "4" } else { "3" });
    }
}

/// E12
#[test]
fn a_panic_is_not_recorded() {
    let (world, ..) = world();
    assert!(matches!(world.call(call("adder", "a", "panic", "").once("k")), Err(Error::Panicked { .. })));
    assert_eq!(world.call(add("a", 3).once("k")).unwrap(), "3");
}

/// E12: The repeat learns what became of the call.
#[test]
fn a_deadline_is_not_recorded() {
    let (world, latch, log) = world();
    let slow = call("adder", "a", "slow", "").once("k");
    let first = world.ask(slow.clone().deadline(Duration::from_secs(1)));
    world.advance(Duration::from_secs(1));
    assert!(matches!(first.text(), Err(Error::Deadline { .. })));
    latch.open();
    assert_eq!((world.call(slow).unwrap(), log.take()), ("10".into(), vec!["ran".to_owned()]));
}

/// E12
#[test]
fn a_recorded_reply_outlives_its_entity() {
    let (world, ..) = world();
    world.call(add("a", 3).once("k")).unwrap();
    world.call(call("adder", "a", "destroy", "")).unwrap();
    assert_eq!((world.call(add("a", 3).once("k")).unwrap(), world.entity("a")), ("3".into(), None));
}

/// E12
#[test]
fn a_recorded_reply_is_kept_for_a_day_and_no_longer() {
    let (world, ..) = world();
    world.call(add("a", 3).once("k")).unwrap();
    world.advance(Duration::from_secs(24 * 3600 - 1));
    assert_eq!(world.call(add("a", 3).once("k")).unwrap(), "3");
    world.advance(Duration::from_secs(1));
    assert_eq!(world.call(add("a", 3).once("k")).unwrap(), "6");
}

/// E12
#[test]
fn a_repeated_call_happens_once_after_a_crash_at_any_store_call() {
    for moment in [Moment::Before, Moment::After] {
        for at in 1.. {
            let (world, ..) = world();
            world.store.kills_at(at, moment);
            drop(world.ask(add("a", 3).once("k")));
            if world.store.spares() {
                break;
            }
            assert!(world.is_dead());
            world.restart();
            assert_eq!((world.call(add("a", 3).once("k")).unwrap(), world.state("a")), ("3".into(), "3".into()));
            assert!(at < 20, "a call needs few store calls");
        }
    }
}

/// Keeps the decoded total in the handler's memory and answers from there; its code keeps it, too.
struct Rememberer;

impl Handler for Rememberer {
    fn borrow(&self, _: &str) -> Borrow {
        Borrow::Exclusive
    }

    fn turn(&self, hot: &mut Hot, _: &Key, entity: Option<&Entity>, _: &Rows, input: &Input, _: Now) -> Next {
        let Input::Call { ticket, body, .. } = input else { return Next::nothing() };
        let stored = entity.map_or(0, |entity| number(&entity.state));
        let total = hot.get::<u64>().map_or(stored, |total| *total) + number(body);
        hot.set(total);
        let total = bytes::Bytes::from(total.to_string());
        Next::Commit(Commit { state: Some(total.clone()), ..Commit::reply(*ticket, Ok(total)) })
    }

    fn work(&self, _: &mut Hot, _: &Entity, _: &Rows, _: Millis) -> Needed<Vec<Work>> {
        Needed::Ready(Vec::new())
    }

    fn run(&self, _: &mut Hot, _: Option<&Entity>, _: &Work, _: Cx) -> Code {
        unreachable!("it lists no work")
    }
}

fn rememberer() -> Registry {
    registry([]).with(drystone_runtime::Definition {
        name: "adder".into(),
        kind: "rememberer".into(),
        space: "app".into(),
        config: "".into(),
        handler: std::sync::Arc::new(Rememberer),
    })
}

/// E13: Nothing changes.
#[test]
fn what_a_handler_remembers_may_be_dropped_before_any_turn() {
    let told = [None, Some(2), Some(1)].map(|forget_one_in| {
        let world = World::with(rememberer(), |options| options.forget_one_in = forget_one_in);
        world.store.stall();
        let asked: Vec<_> = (1..=9).map(|number| world.ask(add("a", number))).collect();
        world.store.go_on();
        let told: Vec<_> = asked.iter().map(|asked| asked.text().unwrap()).collect();
        (told, world.state("a"))
    });
    assert_eq!(told[0].1, "45");
    assert!(told[0] == told[1] && told[1] == told[2]);
}

/// E6, E13
#[test]
fn a_handler_forgets_what_belongs_to_a_failed_commit() {
    let world = World::of(rememberer());
    world.call(add("a", 1)).unwrap();
    let huge = call("adder", "a", "add", "1").deadline(Duration::from_secs(1));
    world.store.breaks(Some(drystone_tests::world::Fault::LostCommit));
    let asked = world.ask(huge);
    world.advance(Duration::from_secs(1));
    assert_eq!((asked.text().unwrap(), world.call(add("a", 1)).unwrap()), ("2".into(), "3".into()));
}
