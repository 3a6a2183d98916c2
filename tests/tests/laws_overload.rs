//! Limits: too much load is refused with a typed error, derived work waits, and no key starves.

use std::time::Duration;

use drystone_runtime::{Borrow, Commit, Error, Limit, Next, Work};
use drystone_tests::world::{
    Latch, Log, World,
    toys::{Toy, add, adder, call, done, text},
};

/// A toy with slow calls and slow listed work that logs everything.
fn slow(latch: &Latch, log: &Log) -> Toy {
    let (latch, log, turns) = (latch.clone(), log.clone(), log.clone());
    adder()
        .action("slow", |_| Next::Run(Work { borrow: Borrow::Exclusive, ..Work::new("slow") }))
        .action("tell", move |turn| {
            turns.say(turn.body());
            Next::Commit(turn.sets(turn.total() + 1))
        })
        .own("work", |turn| Next::Commit(Commit { head: Some("work".into()), ..turn.says("") }))
        .lists(|entity, _| if entity.head == "work" { vec![Work::new("job")] } else { Vec::new() })
        .runs(move |entity, _, _| {
            let (latch, log) = (latch.clone(), log.clone());
            log.say(format!("{} runs", entity.map_or_else(String::new, |entity| text(&entity.key.key))));
            Box::pin(async move {
                latch.wait().await;
                done()
            })
        })
        .otherwise(|turn| match turn.input {
            drystone_runtime::Input::Done { cause: drystone_runtime::Cause::Listed, .. } => {
                Next::Commit(Commit { head: Some("done".into()), ..Commit::default() })
            }
            _ => drystone_tests::world::toys::settles(turn),
        })
}

fn overloaded(answer: Result<String, Error>) -> Limit {
    match answer {
        Err(error @ Error::Overloaded { what }) => {
            assert!(error.is_retryable());
            what
        }
        other => panic!("{other:?}"),
    }
}

/// R8: Other keys do not notice.
#[test]
fn too_many_calls_of_one_key_are_refused() {
    let latch = Latch::default();
    let toy = slow(&latch, &Log::default());
    let world = World::with(toy.alone(), |options| options.calls_per_key_max = 2);
    let running = world.ask(call("adder", "a", "slow", ""));
    let waiting = [world.ask(add("a", 1)), world.ask(add("a", 1))];
    assert_eq!(overloaded(world.call(add("a", 1))), Limit::CallsPerKey);
    assert_eq!(world.call(add("b", 1)).unwrap(), "1");
    latch.open();
    assert!(running.text().is_ok() && waiting.iter().all(|caller| caller.text().is_ok()));
    assert_eq!(world.call(add("a", 1)).unwrap(), "3");
}

/// R8
#[test]
fn too_many_waiting_bytes_are_refused_until_some_have_gone() {
    let latch = Latch::default();
    let toy = slow(&latch, &Log::default());
    let world = World::with(toy.alone(), |options| options.waiting_bytes_max = 2_500);
    let big = |key: &str| call("adder", key, "tell", "x".repeat(1_000));
    let running = world.ask(call("adder", "a", "slow", ""));
    let waiting = [world.ask(big("a")), world.ask(big("a"))];
    assert_eq!(overloaded(world.call(big("b"))), Limit::WaitingBytes);
    latch.open();
    assert!(running.text().is_ok() && waiting.iter().all(|caller| caller.text().is_ok()));
    assert_eq!(world.call(big("b")).unwrap(), "1");
}

/// R8: Until some are written.
#[test]
fn too_many_waiting_commits_are_refused() {
    let world = World::with(adder().alone(), |options| options.batch_writes_max = 2);
    world.store.stall();
    // One write is in flight and three wait, which is more than the next batch takes.
    let waiting = ["a", "b", "c", "d"].map(|key| world.ask(add(key, 1)));
    assert_eq!(overloaded(world.call(add("e", 1))), Limit::WaitingCommits);
    world.store.go_on();
    assert!(waiting.iter().all(|caller| caller.text().is_ok()));
    assert_eq!(world.call(add("e", 1)).unwrap(), "1");
}

/// R8
#[test]
fn work_beyond_the_limit_waits_and_still_all_of_it_runs() {
    let (latch, log) = (Latch::default(), Log::default());
    let world = World::with(slow(&latch, &log).alone(), |options| options.work_max = 2);
    let keys = ["a", "b", "c", "d", "e"];
    for key in keys {
        world.call(call("adder", key, "work", "")).unwrap();
    }
    assert_eq!(log.take().len(), 2);
    for running in [1, 1, 1, 0, 0] {
        latch.let_one_through();
        world.settle();
        assert_eq!(log.take().len(), running);
    }
    assert!(keys.iter().all(|key| world.entity(key).unwrap().head == "done"));
}

/// R8
#[test]
fn a_call_whose_code_finds_no_place_is_refused_and_changes_nothing() {
    let (latch, log) = (Latch::default(), Log::default());
    let world = World::with(slow(&latch, &log).alone(), |options| options.work_max = 1);
    let running = world.ask(call("adder", "a", "slow", ""));
    assert_eq!(overloaded(world.call(call("adder", "b", "slow", ""))), Limit::Work);
    assert_eq!((world.entity("b"), world.call(add("b", 1)).unwrap()), (None, "1".into()));
    latch.open();
    assert!(running.text().is_ok());
    assert!(world.call(call("adder", "b", "slow", "")).is_ok());
}

/// R8
#[test]
fn one_hot_key_does_not_starve_the_others() {
    let log = Log::default();
    let world = World::of(slow(&Latch::default(), &log).alone());
    world.call(add("hot", 0)).unwrap();
    world.call(add("cold", 0)).unwrap();
    let ask = |key: &'static str| {
        let kernel = world.kernel();
        world.ask_future(async move { kernel.call(call("adder", key, "tell", key)).await })
    };
    let mut asked: Vec<_> = (0..1_000).map(|_| ask("hot")).collect();
    asked.push(ask("cold"));
    assert!(asked.iter().all(|asked| asked.text().is_ok()));
    let cold = log.take().iter().position(|said| said == "cold").unwrap();
    assert!(cold <= 32, "it waits for one visit of the hot key at most, not {cold} turns");
}

/// R8
#[test]
fn entities_leave_memory_by_their_bytes_and_come_back_as_they_were() {
    let world = World::with(adder().alone(), |options| options.resident_bytes_max = 20_000);
    let keys: Vec<_> = (0..200).map(|number| format!("a{number}")).collect();
    keys.iter().for_each(|key| drop(world.call(add(key, 1)).unwrap()));
    let before = world.store.counts();
    assert!(keys.iter().all(|key| world.call(add(key, 1)).unwrap() == "2"));
    assert!(world.store.counts().since(before).read_calls > 150, "most had left");
}

/// R8
#[test]
fn a_caller_who_left_before_its_turn_is_not_served() {
    let (latch, log) = (Latch::default(), Log::default());
    let world = World::of(slow(&latch, &log).alone());
    let running = world.ask(call("adder", "a", "slow", ""));
    let left = world.ask(call("adder", "a", "tell", "left").deadline(Duration::from_secs(1)));
    world.advance(Duration::from_secs(1));
    assert!(matches!(left.text(), Err(Error::Deadline { .. })));
    latch.open();
    assert!(running.text().is_ok());
    assert_eq!(
        (world.call(call("adder", "a", "tell", "came")).unwrap(), log.take()),
        ("1".into(), vec![" runs".to_owned(), "came".to_owned()])
    );
}
