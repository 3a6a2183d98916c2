//! What each operation costs the store: the table of ARCHITECTURE.md.

use std::time::Duration;

use drystone_runtime::{Borrow, Commit, Input, Next, To, Work, store::StoreCounts};
use drystone_tests::world::{
    Latch, World,
    toys::{Toy, add, adder, alarm_in, call, done, message, ok},
};

const SECOND: Duration = Duration::from_secs(1);

/// A toy with every operation of the table.
fn kind() -> Toy {
    adder()
        .own("tick", |turn| Next::Commit(Commit { alarm: alarm_in(turn.now, SECOND), ..turn.says("") }))
        .own("send", |turn| Next::Commit(Commit { send: vec![message("adder", "to", "add", 1)], ..turn.says("") }))
        .own("work", |turn| Next::Commit(Commit { head: Some("work".into()), ..turn.says("") }))
        .own("wait", |_| Next::Commit(Commit { hold: Some("room".into()), ..Commit::default() }))
        .own("release", |_| {
            Next::Commit(Commit { replies: vec![(To::All("room".into()), Ok("".into()))], ..Commit::default() })
        })
        .action("run", |_| Next::Run(Work { borrow: Borrow::Exclusive, ..Work::new("run") }))
        .action("pure", |_| Next::Run(Work { borrow: Borrow::Exclusive, pure: true, ..Work::new("pure") }))
        .lists(|entity, _| if entity.head == "work" { vec![Work::new("job")] } else { Vec::new() })
        .runs(|_, work, _| {
            let changes = work.borrow == Borrow::Exclusive;
            Box::pin(async move { if changes { ok(5) } else { done() } })
        })
        .otherwise(|turn| match turn.input {
            Input::Alarm { .. } => Next::Commit(Commit {
                alarm: alarm_in(turn.now, SECOND),
                head: Some("rang".into()),
                ..Commit::default()
            }),
            Input::Done { cause: drystone_runtime::Cause::Listed, .. } => {
                Next::Commit(Commit { head: Some("done".into()), ..Commit::default() })
            }
            _ => drystone_tests::world::toys::settles(turn),
        })
}

/// A world in which `a` and `to` are bound and in memory.
fn world() -> World {
    let world = World::of(kind().alone());
    world.call(add("a", 1)).expect("it is bound");
    world.call(add("to", 1)).expect("it is bound");
    world
}

/// The requests that the store got while `act` ran.
fn cost(world: &World, act: impl FnOnce()) -> StoreCounts {
    let before = world.store.counts();
    act();
    world.settle();
    world.store.counts().since(before)
}

/// The counts of a cost: batches, entity writes and rows, messages, and reads in single calls.
fn of(commits: u64, writes: u64, messages: u64, read_calls: u64, reads: u64) -> StoreCounts {
    let (applied, entities) = (writes, writes);
    StoreCounts { commits, writes, applied, entities, messages, read_calls, reads, ..StoreCounts::default() }
}

/// E4
#[test]
fn a_call_on_a_resident_entity_is_one_write_and_no_read() {
    let world = world();
    assert_eq!(cost(&world, || drop(world.call(add("a", 1)).unwrap())), of(1, 1, 0, 0, 0));
}

/// E4
#[test]
fn a_call_that_runs_code_is_one_write_too() {
    let world = world();
    assert_eq!(cost(&world, || drop(world.call(call("adder", "a", "pure", "")).unwrap())), of(1, 1, 0, 0, 0));
    assert_eq!(cost(&world, || drop(world.call(call("adder", "a", "run", "")).unwrap())), of(1, 1, 0, 0, 0));
}

/// E1: The key is unbound.
#[test]
fn a_first_call_is_one_read_and_one_write() {
    let world = world();
    assert_eq!(cost(&world, || drop(world.call(add("b", 1)).unwrap())), of(1, 1, 0, 1, 2));
}

/// E4
#[test]
fn a_call_on_a_cold_entity_is_one_read_and_one_write() {
    let world = world();
    world.shut_down(SECOND);
    world.restart();
    assert_eq!(cost(&world, || drop(world.call(add("a", 1)).unwrap())), of(1, 1, 0, 1, 2));
}

/// E3
#[test]
fn a_read_costs_nothing_when_resident_and_one_read_when_cold() {
    let world = world();
    let get = || drop(world.call(call("adder", "a", "get", "")).unwrap());
    assert_eq!(cost(&world, get), of(0, 0, 0, 0, 0));
    world.shut_down(SECOND);
    world.restart();
    assert_eq!(cost(&world, get), of(0, 0, 0, 1, 2));
    assert_eq!(cost(&world, get), of(0, 0, 0, 0, 0));
}

/// E5
#[test]
fn a_call_that_fails_costs_nothing() {
    let world = world();
    assert_eq!(cost(&world, || drop(world.call(call("adder", "a", "fail", "")).unwrap_err())), of(0, 0, 0, 0, 0));
}

/// A2
#[test]
fn an_alarm_that_sets_the_next_one_is_one_write() {
    let world = world();
    world.call(call("adder", "a", "tick", "")).unwrap();
    assert_eq!(cost(&world, || world.advance(3 * SECOND)), of(3, 3, 0, 0, 0));
}

/// A6
#[test]
fn an_alarm_of_an_entity_outside_memory_needs_no_read() {
    let world = world();
    world.call(call("adder", "a", "tick", "")).unwrap();
    world.shut_down(Duration::from_millis(10));
    world.restart();
    let spent = cost(&world, || world.advance(SECOND));
    assert_eq!((spent.writes, spent.read_calls), (1, 0));
}

/// M1: It is in the sender's commit, and gone in the receiver's.
#[test]
fn a_message_is_one_row_for_sender_and_receiver() {
    let world = world();
    let send = || drop(world.call(call("adder", "a", "send", "")).unwrap());
    assert_eq!(cost(&world, send), of(2, 2, 1, 0, 0));
    assert_eq!(world.inbox("to"), 0);
}

/// W1, W2: The first write asks for the work, the second ends it.
#[test]
fn a_piece_of_listed_work_costs_two_writes() {
    let world = world();
    assert_eq!(cost(&world, || drop(world.call(call("adder", "a", "work", "")).unwrap())), of(2, 2, 0, 0, 0));
    assert_eq!(&world.entity("a").unwrap().head[..], b"done");
}

/// E12
#[test]
fn an_idempotency_key_costs_one_read_more_and_no_commit_more() {
    let world = world();
    assert_eq!(cost(&world, || drop(world.call(add("a", 1).once("k")).unwrap())), of(1, 1, 0, 1, 1));
    assert_eq!(cost(&world, || drop(world.call(add("a", 1).once("k")).unwrap())), of(0, 0, 0, 1, 1));
}

/// E14
#[test]
fn waiting_and_being_answered_cost_nothing() {
    let world = world();
    let both = || {
        let held = world.ask(call("adder", "a", "wait", ""));
        world.call(call("adder", "a", "release", "")).unwrap();
        assert!(held.text().is_ok());
    };
    assert_eq!(cost(&world, both), of(0, 0, 0, 0, 0));
}

/// E8
#[test]
fn destroying_is_one_write() {
    let world = world();
    assert_eq!(cost(&world, || drop(world.call(call("adder", "a", "destroy", "")).unwrap())), of(1, 1, 0, 0, 0));
}

/// R8
#[test]
fn calls_of_one_key_that_wait_for_the_writer_are_one_write() {
    let world = world();
    world.store.stall();
    let busy = world.ask(add("to", 1));
    let asked: Vec<_> = (0..64).map(|_| world.ask(add("a", 1))).collect();
    let spent = cost(&world, || world.store.go_on());
    assert!(busy.text().is_ok() && asked.iter().all(|asked| asked.text().is_ok()));
    assert_eq!((spent, world.state("a").as_str()), (of(2, 2, 0, 0, 0), "65"));
}

/// R8
#[test]
fn calls_of_many_keys_that_wait_for_the_writer_share_one_batch() {
    let world = world();
    let keys: Vec<_> = (0..64).map(|number| format!("k{number}")).collect();
    keys.iter().for_each(|key| drop(world.call(add(key, 1)).unwrap()));
    world.store.stall();
    let busy = world.ask(add("to", 1));
    let asked: Vec<_> = keys.iter().map(|key| world.ask(add(key, 1))).collect();
    let spent = cost(&world, || world.store.go_on());
    assert!(busy.text().is_ok() && asked.iter().all(|asked| asked.text().is_ok()));
    assert_eq!(spent, of(2, 65, 0, 0, 0));
}

/// W2
#[test]
fn a_crash_costs_one_write_per_entity_that_may_have_run() {
    let latch = Latch::default();
    let wait = latch.clone();
    let toy = kind().runs(move |_, _, _| {
        let latch = wait.clone();
        Box::pin(async move {
            latch.wait().await;
            done()
        })
    });
    let world = World::of(toy.alone());
    world.call(add("rests", 1)).unwrap();
    world.call(call("adder", "works", "work", "")).unwrap();
    let spent = cost(&world, || {
        world.restart();
    });
    assert_eq!((spent.writes, world.entity("works").unwrap().crashes.deaths()), (1, 1));
}
