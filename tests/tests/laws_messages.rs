//! Messages between entities: exactly once, in order, independent of other senders; and calls that would
//! wait in a cycle.

use std::time::Duration;

use drystone_runtime::{Borrow, Call, Commit, Error, Next, Registry, Work, kernel::Wait};
use drystone_tests::world::{
    Latch, Log, Moment, World, key,
    toys::{Toy, add, adder, call, letters, message, ok, registry, text},
};

const MINUTE: Duration = Duration::from_secs(60);

/// `send` sends its body to `to`; `list` appends each message.
fn posting() -> Registry {
    let sender = Toy::new("sender").action("send", |turn| {
        let send = turn.body().split(' ').map(|body| message("list", "to", "append", body)).collect();
        Next::Commit(Commit { send, ..turn.sets(turn.total() + 1) })
    });
    registry([sender, list(), letters()]).dead_letters("letters", key("dead"))
}

fn list() -> Toy {
    Toy::new("list").action("append", |turn| {
        let before = turn.entity.map_or_else(String::new, |entity| text(&entity.state));
        Next::Commit(turn.sets(before + &turn.body()))
    })
}

/// M1
#[test]
fn a_message_arrives_once_whatever_dies_at_any_store_call() {
    for moment in [Moment::Before, Moment::After] {
        for at in 1.. {
            let world = World::of(posting());
            world.store.kills_at(at, moment);
            drop(world.ask(call("sender", "s", "send", "1 2 3").once("k")));
            world.advance(Duration::from_secs(4));
            let survived = world.store.spares();
            if !survived {
                world.restart();
                world.call(call("sender", "s", "send", "1 2 3").once("k")).unwrap();
            }
            assert_eq!((world.state("s"), world.state("to"), world.inbox("to")), ("1".into(), "123".into(), 0));
            if survived {
                break;
            }
            assert!(at < 40, "a message needs few store calls");
        }
    }
}

/// M1
#[test]
fn a_commit_that_fails_sends_nothing() {
    let toy = Toy::new("sender").action("send", |turn| {
        let send = vec![message("list", "to", "append", "1")];
        Next::Commit(Commit { send, state: Some(vec![0; 2 << 20].into()), ..turn.says("") })
    });
    let world = World::of(registry([toy, list()]));
    assert!(matches!(world.call(call("sender", "s", "send", "")), Err(Error::TooLarge { .. })));
    assert_eq!((world.entity("to"), world.inbox("to")), (None, 0));
}

/// M1
#[test]
fn messages_of_one_sender_arrive_in_order() {
    let world = World::of(posting());
    world.store.stall();
    let asked: Vec<_> = ["1 2", "3", "4 5 6"].map(|body| world.ask(call("sender", "s", "send", body))).into();
    world.store.go_on();
    assert!(asked.iter().all(|asked| asked.text().is_ok()));
    world.call(call("sender", "s", "send", "7")).unwrap();
    assert_eq!(world.state("to"), "1234567");
}

/// M1
#[test]
fn a_message_whose_commit_has_an_unknown_outcome_arrives_once() {
    for fault in [drystone_tests::world::Fault::LostAnswer, drystone_tests::world::Fault::LostCommit] {
        let world = World::of(posting());
        world.store.breaks(Some(fault));
        let asked = world.ask(call("sender", "s", "send", "1"));
        world.advance(Duration::from_secs(1));
        assert!(asked.text().is_ok());
        assert_eq!((world.state("s"), world.state("to"), world.inbox("to")), ("1".into(), "1".into(), 0), "{fault:?}");
    }
}

/// M2
#[test]
fn a_call_made_after_the_answer_comes_after_the_message() {
    let world = World::of(posting());
    world.call(call("sender", "s", "send", "1")).unwrap();
    world.call(call("list", "to", "append", "2")).unwrap();
    assert_eq!(world.state("to"), "12");
    let sending = world.ask(call("sender", "s", "send", "3"));
    let asked = world.ask(call("list", "to", "append", "4"));
    assert!(sending.text().is_ok() && asked.text().is_ok());
    assert_eq!(world.inbox("to"), 0);
}

/// Calls the first of the given names and passes the rest on.
fn ring() -> Toy {
    Toy::new("ring")
        .action("go", |turn| {
            Next::Run(Work { borrow: Borrow::Exclusive, input: turn.body().into(), ..Work::new("go") })
        })
        .runs(|_, work, cx| {
            let names = text(&work.input);
            Box::pin(async move {
                let Some((next, rest)) = names.split_once(' ') else { return ok("end") };
                let call = Call::new("ring", next.as_bytes().to_vec(), "go", rest.to_owned());
                match cx.call(call).await {
                    Ok(answer) => ok(text(&answer)),
                    Err(error) => ok(error),
                }
            })
        })
}

/// M3
#[test]
fn a_call_in_a_circle_is_refused_with_the_chain() {
    let world = World::of(ring().alone());
    assert_eq!(world.call(call("ring", "a", "go", "b c end")).unwrap(), "end");
    let refused = "a call to `app/a` would wait for itself; these wait for one another: app/a → app/b → app/c → app/a";
    assert_eq!(world.call(call("ring", "a", "go", "b c a end")).unwrap(), refused);
    assert!(world.call(call("ring", "a", "go", "a end")).unwrap().ends_with("app/a → app/a"));
}

/// M3
#[test]
fn a_call_from_code_has_a_deadline() {
    let latch = Latch::default();
    let wait = latch.clone();
    let toy = Toy::new("ring")
        .action("go", |turn| {
            Next::Run(Work { borrow: Borrow::Exclusive, input: turn.body().into(), ..Work::new("go") })
        })
        .runs(move |_, work, cx| {
            let (latch, hangs) = (wait.clone(), work.input == "hang");
            Box::pin(async move {
                if hangs {
                    latch.wait().await;
                }
                let called = cx.call(Call::new("ring", "b", "go", "hang")).await;
                ok(called.map_or_else(|error| error.code(), |_| "answered"))
            })
        });
    let world = World::of(toy.alone());
    let asked = world.ask(call("ring", "a", "go", "").deadline(MINUTE));
    world.advance(Duration::from_secs(29));
    assert!(asked.waits());
    world.advance(Duration::from_secs(1));
    let deadline = Error::Deadline { key: key("b") };
    assert_eq!(asked.text().unwrap(), deadline.code());
}

/// `poison` always fails; `bad` is always refused as malformed.
fn receiver(log: &Log) -> Registry {
    let log = log.clone();
    let picky = adder()
        .action("poison", move |_| {
            log.say("tried");
            Next::Refuse(Error::Failed("not now".into()))
        })
        .action("bad", |turn| Next::Refuse(Error::Malformed { verb: "bad".to_owned(), reason: turn.body() }))
        .own("only bound", |turn| match turn.entity {
            Some(_) => Next::nothing(),
            None => Next::Refuse(Error::NotBound { key: key("to") }),
        });
    let sender = Toy::new("sender").action("send", |turn| {
        let body = turn.body();
        let send = body.split(", ").map(|one| {
            let (verb, number) = one.rsplit_once(' ').expect("a verb and a number");
            let verb = ["add", "poison", "bad", "only bound", "panic"].into_iter().find(|known| *known == verb);
            message("adder", "to", verb.expect("a known verb"), number)
        });
        Next::Commit(Commit { send: send.collect(), ..turn.sets("sent") })
    });
    registry([picky, sender, letters()]).dead_letters("letters", key("dead"))
}

/// M4: Whether the message binds the key depends on the kind.
#[test]
fn a_message_to_an_unbound_key_binds_it_or_is_dead() {
    let world = World::of(receiver(&Log::default()));
    world.call(call("sender", "s", "send", "only bound 1")).unwrap();
    assert_eq!((world.entity("to"), world.inbox("to")), (None, 0));
    assert!(world.state("dead").starts_with("app/to only bound 1 after 1: nothing is bound to `app/to`"));
    world.call(call("sender", "s", "send", "add 5")).unwrap();
    assert_eq!((world.state("to"), world.kernel().counts().dead_letters), ("5".into(), 1));
}

/// M4
#[test]
fn a_message_that_cannot_be_decoded_is_a_dead_letter_at_once() {
    let world = World::of(receiver(&Log::default()));
    world.call(call("sender", "s", "send", "bad 7, add 1")).unwrap();
    assert_eq!(world.state("dead"), "app/to bad 7 after 1: `bad` is refused: 7");
    assert_eq!(world.state("to"), "1");
}

/// M4: After its retries the message is a dead letter.
#[test]
fn a_message_whose_code_fails_blocks_its_own_sender_only() {
    let log = Log::default();
    let world = World::of(receiver(&log));
    world.call(call("sender", "s", "send", "poison 1, add 10")).unwrap();
    world.call(call("sender", "other", "send", "add 5")).unwrap();
    assert_eq!((world.state("to"), world.inbox("to"), log.take().len()), ("5".into(), 2, 1));
    assert_eq!(world.waits("to"), [Wait::Inbox(2)]);
    world.advance(MINUTE);
    assert_eq!((world.state("to"), world.inbox("to"), log.take().len()), ("15".into(), 0, 4));
    assert!(world.state("dead").starts_with("app/to poison 1 after 5:"));
}

/// M4, E3
#[test]
fn a_call_is_answered_while_a_message_waits_to_be_tried_again() {
    let world = World::of(receiver(&Log::default()));
    world.call(call("sender", "s", "send", "poison 1")).unwrap();
    assert_eq!(world.call(add("to", 1)).unwrap(), "1");
}

/// M4
#[test]
fn tries_of_a_message_are_counted_over_a_crash() {
    let log = Log::default();
    let world = World::of(receiver(&log));
    world.call(add("to", 1)).unwrap();
    world.call(call("sender", "s", "send", "poison 1")).unwrap();
    world.restart();
    world.advance(MINUTE);
    assert_eq!(log.take().len(), 5);
    assert!(world.state("dead").starts_with("app/to poison 1 after 5:"));
}

/// M4, E6
#[test]
fn a_message_whose_turn_panics_is_tried_again_then_a_dead_letter() {
    let world = World::of(receiver(&Log::default()));
    world.call(call("sender", "s", "send", "panic 1, add 2")).unwrap();
    world.advance(MINUTE);
    assert!(world.state("dead").starts_with("app/to panic 1 after 5:"), "{}", world.state("dead"));
    assert_eq!(world.state("to"), "2");
}

/// M4: There it is seen.
#[test]
fn a_dead_letter_without_a_taker_stays_in_its_inbox() {
    let sender = Toy::new("sender").action("send", |turn| {
        Next::Commit(Commit { send: vec![message("adder", "to", "nothing", "1")], ..turn.sets("sent") })
    });
    let world = World::of(registry([adder(), sender]));
    world.call(call("sender", "s", "send", "")).unwrap();
    world.call(add("to", 1)).unwrap();
    world.restart();
    world.advance(MINUTE);
    assert_eq!((world.state("to"), world.inbox("to")), ("1".into(), 1));
}
