//! Turns: one at a time, with no effect visible before it is durable, and none left of a turn that failed.

use std::time::Duration;

use drystone_runtime::{Borrow, Commit, Cx, Error, Input, Next, Outcome, To, Work, kernel::Wait};
use drystone_tests::world::{
    Latch, Log, World,
    toys::{Toy, Turn, add, adder, alarm_in, call, event, message, ok, registry},
};

const SECOND: Duration = Duration::from_secs(1);

/// A slow adder: its code waits for the latch and logs its beginning and its end.
fn slow(latch: &Latch, log: &Log) -> Toy {
    let (latch, log) = (latch.clone(), log.clone());
    adder()
        .action("slow", |turn| {
            let work = Work::new("slow");
            Next::Run(Work { borrow: Borrow::Exclusive, input: turn.body().into(), ..work })
        })
        .runs(move |entity, work, _: Cx| {
            let total = entity.map_or(0, |entity| drystone_tests::world::toys::number(&entity.state));
            let (latch, log, name) = (latch.clone(), log.clone(), work.input.clone());
            Box::pin(async move {
                log.say(format!("{} begins at {total}", String::from_utf8_lossy(&name)));
                latch.wait().await;
                log.say(format!("{} ends", String::from_utf8_lossy(&name)));
                ok(total + 10)
            })
        })
}

/// E3
#[test]
fn exclusive_code_runs_one_at_a_time_in_order_of_arrival() {
    let (latch, log) = (Latch::default(), Log::default());
    let world = World::of(slow(&latch, &log).alone());
    let first = world.ask(call("adder", "a", "slow", "one"));
    let second = world.ask(call("adder", "a", "slow", "two"));
    let third = world.ask(add("a", 1));
    assert_eq!(log.take(), ["one begins at 0"]);
    latch.let_one_through();
    assert_eq!((first.text().unwrap(), second.waits(), third.waits()), ("10".into(), true, true));
    latch.let_one_through();
    assert_eq!((second.text().unwrap(), third.text().unwrap()), ("20".into(), "21".into()));
    assert_eq!(log.take(), ["one ends", "two begins at 10", "two ends"]);
}

/// E3
#[test]
fn reads_and_the_kinds_own_verbs_are_answered_while_exclusive_code_runs() {
    let latch = Latch::default();
    let world = World::of(slow(&latch, &Log::default()).alone());
    world.call(add("a", 5)).unwrap();
    let running = world.ask(call("adder", "a", "slow", "one"));
    let waiting = world.ask(add("a", 1));
    assert_eq!(world.call(call("adder", "a", "get", "")).unwrap(), "5");
    assert_eq!(world.call(call("adder", "a", "peek", "")).unwrap(), "5");
    assert!(running.waits() && waiting.waits());
    latch.open();
    assert_eq!((running.text().unwrap(), waiting.text().unwrap()), ("15".into(), "16".into()));
}

/// E3
#[test]
fn a_read_sees_the_committed_state() {
    let world = World::of(adder().alone());
    world.call(add("a", 5)).unwrap();
    world.store.stall();
    let adding = world.ask(add("a", 1));
    assert_eq!(world.call(call("adder", "a", "get", "")).unwrap(), "5");
    world.store.go_on();
    assert_eq!((adding.text().unwrap(), world.call(call("adder", "a", "get", "")).unwrap()), ("6".into(), "6".into()));
}

/// E4
#[test]
fn nothing_is_seen_of_a_turn_before_its_commit_is_durable() {
    let toy = adder().action("tell", |turn| {
        let send = vec![message("adder", "b", "add", 7)];
        Next::Commit(Commit { send, emit: vec![event("told")], ..turn.sets("1") })
    });
    let world = World::of(toy.alone());
    let mut listener = world.kernel().listen();
    world.store.stall();
    let telling = world.ask(call("adder", "a", "tell", ""));
    world.advance(SECOND);
    assert!(telling.waits());
    assert_eq!((world.entity("a"), world.entity("b")), (None, None));
    assert_eq!(world.waits("a"), [Wait::Commit]);
    world.store.go_on();
    assert_eq!((telling.text().unwrap(), world.state("b")), ("1".into(), "7".into()));
    assert_eq!(world.now(async move { listener.next().await }).unwrap().lifecycle, event("told"));
}

/// E4
#[test]
fn an_answer_that_rests_on_an_undurable_turn_waits_for_it() {
    let world = World::of(adder().alone());
    world.store.stall();
    let adding = world.ask(add("a", 1));
    let peeking = world.ask(call("adder", "a", "peek", ""));
    assert!(adding.waits() && peeking.waits());
    world.store.go_on();
    assert_eq!(peeking.text().unwrap(), "1");
}

/// E4
#[test]
fn code_that_acts_outside_never_runs_on_an_undurable_state() {
    let (latch, log) = (Latch::default(), Log::default());
    latch.open();
    let world = World::of(slow(&latch, &log).alone());
    world.store.stall();
    let (adding, running) = (world.ask(add("a", 1)), world.ask(call("adder", "a", "slow", "one")));
    assert!(adding.waits() && running.waits() && log.take().is_empty());
    world.store.go_on();
    assert_eq!(running.text().unwrap(), "11");
    assert_eq!(log.take(), ["one begins at 1", "one ends"]);
}

/// E5
#[test]
fn code_that_fails_leaves_state_and_messages_as_they_were() {
    let toy = adder()
        .action("run", |turn| {
            Next::Run(Work { input: turn.body().into(), borrow: Borrow::Exclusive, ..Work::new("run") })
        })
        .runs(|_, work, _| {
            let pure = work.pure;
            assert!(!pure);
            Box::pin(async { Outcome::Failed("sorry".into()) })
        });
    let world = World::of(toy.alone());
    world.call(add("a", 3)).unwrap();
    let before = world.entity("a");
    assert!(matches!(world.call(call("adder", "a", "run", "")), Err(Error::Failed(error)) if error == "sorry"));
    assert!(matches!(world.call(call("adder", "a", "fail", "")), Err(Error::Failed(error)) if error == "no"));
    assert_eq!(world.entity("a"), before);
}

/// E5
#[test]
fn what_the_kind_records_of_a_failure_is_committed() {
    let toy = adder()
        .action("run", |_| Next::Run(Work::new("run")))
        .runs(|_, _, _| Box::pin(async { Outcome::Failed("sorry".into()) }))
        .otherwise(|turn| match turn.input {
            Input::Done { cause: drystone_runtime::Cause::Call(ticket), outcome: Outcome::Failed(error), .. } => {
                let reply = Err(Error::Failed(error.clone()));
                Next::Commit(Commit { head: Some("failed once".into()), ..Commit::reply(*ticket, reply) })
            }
            _ => Next::nothing(),
        });
    let world = World::of(toy.alone());
    world.call(add("a", 3)).unwrap();
    assert!(matches!(world.call(call("adder", "a", "run", "")), Err(Error::Failed(_))));
    let entity = world.entity("a").unwrap();
    assert_eq!((&entity.head[..], &entity.state[..]), (&b"failed once"[..], &b"3"[..]));
}

/// E6
#[test]
fn a_panic_of_a_turn_or_its_code_harms_only_the_caller() {
    let toy = adder()
        .action("run", |_| Next::Run(Work { borrow: Borrow::Exclusive, ..Work::new("run") }))
        .action("pure", |_| Next::Run(Work { pure: true, borrow: Borrow::Exclusive, ..Work::new("pure") }))
        .runs(|_, work, _| {
            let id = work.id.clone();
            Box::pin(async move { panic!("in {id}") })
        });
    let world = World::of(toy.alone());
    world.call(add("a", 3)).unwrap();
    for (verb, said) in [("panic", "as asked"), ("run", "in run"), ("pure", "in pure")] {
        let panicked = world.call(call("adder", "a", verb, ""));
        assert!(matches!(&panicked, Err(Error::Panicked { message, .. }) if message == said), "{verb}: {panicked:?}");
    }
    assert_eq!((world.call(add("a", 1)).unwrap(), world.call(add("b", 1)).unwrap()), ("4".into(), "1".into()));
}

/// E7: In one commit.
#[test]
fn the_alarm_is_kept_set_or_cleared_with_the_state() {
    let toy = adder()
        .action("set", |turn| Next::Commit(Commit { alarm: alarm_in(turn.now, SECOND), ..turn.sets(1) }))
        .action("clear", |turn| Next::Commit(Commit { alarm: drystone_runtime::Change::Clear, ..turn.sets(3) }));
    let world = World::of(toy.alone());
    world.call(call("adder", "a", "set", "")).unwrap();
    let due = Some(world.time().after(SECOND));
    assert_eq!((world.entity("a").unwrap().alarm, world.state("a")), (due, "1".into()));
    world.call(add("a", 1)).unwrap();
    assert_eq!((world.entity("a").unwrap().alarm, world.state("a")), (due, "2".into()));
    world.call(call("adder", "a", "clear", "")).unwrap();
    assert_eq!((world.entity("a").unwrap().alarm, world.state("a")), (None, "3".into()));
}

/// E7
#[test]
fn an_alarm_whose_commit_is_not_durable_does_not_ring() {
    let log = Log::default();
    let says = log.clone();
    let toy = adder()
        .action("set", |turn| Next::Commit(Commit { alarm: alarm_in(turn.now, SECOND), ..turn.sets(1) }))
        .otherwise(move |_| {
            says.say("rang");
            Next::Commit(Commit { alarm: drystone_runtime::Change::Clear, ..Commit::default() })
        });
    let world = World::of(toy.alone());
    world.store.stall();
    let setting = world.ask(call("adder", "a", "set", ""));
    world.advance(2 * SECOND);
    assert!(setting.waits() && log.take().is_empty());
    world.store.go_on();
    world.advance(SECOND);
    assert_eq!(log.take(), ["rang"]);
}

/// Holds callers until a later call releases them, and logs callers who leave.
fn waiting_room(log: &Log) -> Toy {
    let log = log.clone();
    adder()
        .own("wait", |turn| {
            Next::Commit(Commit { hold: Some("room".into()), ..Commit::default() }.also_if_unbound(turn))
        })
        .own("ticket", |turn| {
            let Input::Call { ticket, .. } = turn.input else { return Next::nothing() };
            let head = format!("{} {}", ticket.epoch.0, ticket.number);
            Next::Commit(Commit { hold: Some("line".into()), head: Some(head.into()), ..Commit::default() })
        })
        .own("release", |turn| {
            let all = (To::All("room".into()), Ok(turn.body().into()));
            Next::Commit(Commit { replies: vec![all], ..Commit::default() })
        })
        .own("serve", |turn| {
            let ticket = first_in_line(turn);
            Next::Commit(Commit { replies: vec![(To::Ticket(ticket), Ok(turn.body().into()))], ..Commit::default() })
        })
        .own("serve_and_write", |turn| {
            let ticket = first_in_line(turn);
            let head = turn.entity.map(|entity| entity.head.clone());
            Next::Commit(Commit { head, replies: vec![(To::Ticket(ticket), Ok("you".into()))], ..Commit::default() })
        })
        .otherwise(move |turn| {
            if let Input::Gone { .. } = turn.input {
                log.say("one left");
            }
            Next::nothing()
        })
}

trait AlsoIfUnbound {
    fn also_if_unbound(self, turn: &Turn<'_>) -> Self;
}

impl AlsoIfUnbound for Commit {
    fn also_if_unbound(mut self, turn: &Turn<'_>) -> Self {
        self.head = turn.entity.is_none().then(|| "open".into());
        self
    }
}

fn first_in_line(turn: &Turn<'_>) -> drystone_runtime::Ticket {
    let head = turn.entity.map_or_else(String::new, |entity| String::from_utf8_lossy(&entity.head).into_owned());
    let numbers: Vec<u64> = head.split(' ').filter_map(|word| word.parse().ok()).collect();
    drystone_runtime::Ticket { epoch: drystone_runtime::Epoch(numbers[0] as u32), number: numbers[1] }
}

/// E4, E14
#[test]
fn callers_held_under_a_name_are_all_answered_by_one_commit() {
    let world = World::of(waiting_room(&Log::default()).alone());
    let held: Vec<_> = (0..3).map(|_| world.ask(call("adder", "a", "wait", ""))).collect();
    let other = world.ask(call("adder", "a", "ticket", ""));
    assert!(held.iter().all(drystone_tests::world::Asked::waits));
    assert_eq!(world.waits("a"), [Wait::Callers(4)]);
    world.call(call("adder", "a", "release", "now")).unwrap();
    assert!(held.iter().all(|caller| caller.text().unwrap() == "now"));
    assert!(other.waits());
}

/// E4, E14
#[test]
fn a_caller_held_under_its_ticket_is_answered_alone() {
    let world = World::of(waiting_room(&Log::default()).alone());
    let first = world.ask(call("adder", "a", "ticket", ""));
    let second = world.ask(call("adder", "a", "ticket", ""));
    world.call(call("adder", "a", "serve", "you")).unwrap();
    assert_eq!((second.text().unwrap(), first.waits()), ("you".into(), true));
}

/// S1
#[test]
fn only_the_kind_is_told_that_a_held_caller_left() {
    let log = Log::default();
    let world = World::of(waiting_room(&log).alone());
    let stays = world.ask(call("adder", "a", "wait", ""));
    let leaves = world.ask(call("adder", "a", "wait", ""));
    drop(leaves);
    world.settle();
    assert_eq!(log.take(), ["one left"]);
    let times_out = world.ask(call("adder", "a", "wait", "").deadline(SECOND));
    world.advance(SECOND);
    assert!(matches!(times_out.text(), Err(Error::Deadline { .. })));
    assert_eq!((log.take(), stays.waits()), (vec!["one left".to_owned()], true));
}

/// S1
#[test]
fn an_answer_that_reaches_nobody_comes_back_as_one_who_left() {
    let log = Log::default();
    let world = World::of(waiting_room(&log).alone());
    let leaves = world.ask(call("adder", "a", "ticket", ""));
    world.store.stall();
    // The caller was served and leaves while the commit is being written.
    let serving = world.ask(call("adder", "a", "serve_and_write", "you"));
    world.settle();
    drop(leaves);
    world.store.go_on();
    world.settle();
    assert!(serving.text().is_ok());
    assert_eq!(log.take().last().map(String::as_str), Some("one left"));
    // No caller waits under that ticket any more, so a permit given to it comes back, too.
    world.call(call("adder", "a", "serve", "you")).unwrap();
    assert_eq!((log.take(), world.waits("a")), (vec!["one left".to_owned()], vec![Wait::Rest]));
}

/// S1: A read or an error does not.
#[test]
fn an_answer_that_was_not_fetched_comes_back() {
    let log = Log::default();
    let world = World::of(waiting_room(&log).alone());
    world.call(add("a", 1)).unwrap();
    for (verb, told) in [("add", vec!["one left".to_owned()]), ("get", vec![]), ("fail", vec![])] {
        world.store.stall();
        let leaves = world.ask(call("adder", "a", verb, "1"));
        world.settle();
        drop(leaves);
        world.store.go_on();
        world.settle();
        assert_eq!(log.take(), told, "{verb}");
    }
}

/// E13
#[test]
fn a_handler_that_forgets_before_every_visit_does_the_same() {
    for forget_one_in in [None, Some(1)] {
        let (latch, log) = (Latch::default(), Log::default());
        latch.open();
        let world = World::with(registry([slow(&latch, &log)]), |options| options.forget_one_in = forget_one_in);
        world.call(add("a", 1)).unwrap();
        assert_eq!(world.call(call("adder", "a", "slow", "one")).unwrap(), "11");
        assert_eq!(world.call(add("a", 1)).unwrap(), "12");
        assert_eq!(log.take(), ["one begins at 1", "one ends"]);
    }
}
