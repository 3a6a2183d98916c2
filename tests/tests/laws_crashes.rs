//! Code that kills the process: bounded, singled out, and nobody else pays for it.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use drystone_runtime::{Change, Commit, Error, Input, Next, Outcome, Parked, Range, Registry, Work, kernel::Wait};
use drystone_tests::world::{
    Executor, Latch, Log, World, key,
    toys::{Toy, add, adder, alarm_in, call, done, letters, message, registry, settles, text},
};

const SECOND: Duration = Duration::from_secs(1);

/// What kills: known once there is a world to kill in.
#[derive(Clone, Default)]
struct Bomb(Arc<OnceLock<Executor>>);

impl Bomb {
    fn explode(&self) {
        self.0.get().expect("the world is there").kill_current();
    }
}

/// `work` lists `bomb` for the guilty and `job` for the others; what ends is told to the log.
fn workers(bomb: &Bomb, latch: &Latch, log: &Log) -> Toy {
    let (bomb, latch, begins, ends) = (bomb.clone(), latch.clone(), log.clone(), log.clone());
    adder()
        .own("work", |turn| Next::Commit(Commit { head: Some(turn.body().into()), ..turn.says("") }))
        .lists(|entity, _| text(&entity.head).split_whitespace().map(|id| Work::new(id.to_owned())).collect())
        .runs(move |_, work, cx| {
            let (bomb, latch, log, id) = (bomb.clone(), latch.clone(), begins.clone(), work.id.clone());
            Box::pin(async move {
                if id.as_str() == "bomb" {
                    log.say("boom");
                    bomb.explode();
                    std::future::pending::<()>().await;
                }
                latch.wait().await;
                drop(cx);
                done()
            })
        })
        .otherwise(move |turn| {
            let Input::Done { work, outcome, .. } = turn.input else { return settles(turn) };
            let entity = turn.entity.expect("only existing entities have work");
            let outcome = if let Outcome::Ok(_) = outcome { "ok".to_owned() } else { format!("{outcome:?}") };
            ends.say(format!("{} {work}: {outcome}", text(&entity.key.key)));
            let left: Vec<_> =
                text(&entity.head).split(' ').filter(|id| *id != work.as_str()).map(str::to_owned).collect();
            Next::Commit(Commit { head: Some(left.join(" ").into()), ..Commit::default() })
        })
}

fn world(registry: Registry, bomb: &Bomb) -> World {
    let world = World::of(registry);
    bomb.0.set(world.executor.clone()).expect("one world per bomb");
    world
}

/// Restarts until the process lives; how often that was.
fn restart_until_it_lives(world: &World) -> usize {
    for restarts in 0..30 {
        world.advance(SECOND);
        if !world.is_dead() {
            return restarts;
        }
        world.restart();
    }
    panic!("it dies for ever");
}

/// W2
#[test]
fn work_that_kills_the_process_is_given_up_and_innocents_complete() {
    let (bomb, latch, log) = (Bomb::default(), Latch::default(), Log::default());
    let world = world(workers(&bomb, &latch, &log).alone(), &bomb);
    for key in ["i1", "i2", "i3"] {
        world.call(call("adder", key, "work", "job")).unwrap();
    }
    drop(world.ask(call("adder", "guilty", "work", "bomb")));
    assert!(world.is_dead());
    latch.open();
    assert!(restart_until_it_lives(&world) <= 6);
    let mut said = log.take();
    assert_eq!(said.iter().filter(|line| *line == "boom").count(), 6, "five crashes are forgiven");
    said.retain(|line| line != "boom");
    said.sort();
    assert_eq!(said, ["guilty bomb: Crashed { crashes: 6 }", "i1 job: ok", "i2 job: ok", "i3 job: ok"]);
    let entity = world.entity("guilty").unwrap();
    assert_eq!((entity.crashes, entity.suspect, entity.parked), (0, None, None));
    assert_eq!(world.call(add("guilty", 1)).unwrap(), "1");
}

/// W2
#[test]
fn the_suspect_is_named_in_the_store_before_it_runs_alone() {
    let (bomb, log) = (Bomb::default(), Log::default());
    let latch = Latch::default();
    latch.open();
    let world = world(workers(&bomb, &latch, &log).alone(), &bomb);
    drop(world.ask(call("adder", "guilty", "work", "bomb")));
    for crashes in 1..=3 {
        world.restart();
        assert!(world.is_dead());
        let entity = world.entity("guilty").unwrap();
        let suspect = entity.suspect.map(|suspect| suspect.to_string());
        assert_eq!((entity.crashes, suspect.as_deref()), (crashes, (crashes >= 2).then_some("bomb")));
    }
}

/// W2
#[test]
fn a_turn_that_kills_the_process_is_parked_as_poisoned() {
    let bomb = Bomb::default();
    let kills = bomb.clone();
    let toy = adder()
        .own("alarm", |turn| Next::Commit(Commit { alarm: alarm_in(turn.now, SECOND), ..turn.sets(7) }))
        .otherwise(move |turn| {
            if let Input::Alarm { .. } = turn.input {
                kills.explode();
            }
            Next::Commit(Commit { alarm: Change::Clear, ..Commit::default() })
        });
    let world = world(toy.alone(), &bomb);
    world.call(call("adder", "guilty", "alarm", "")).unwrap();
    world.call(add("innocent", 1)).unwrap();
    world.advance(SECOND);
    assert!(world.is_dead());
    assert!(restart_until_it_lives(&world) <= 7);
    let entity = world.entity("guilty").unwrap();
    assert!(matches!(&entity.parked, Some(Parked::Poisoned(why)) if why.contains("died 6 times")), "{entity:?}");
    assert_eq!((&entity.state[..], entity.alarm.is_some()), (&b"7"[..], true));
    assert!(matches!(world.call(add("guilty", 1)), Err(Error::Parked { .. })));
    assert_eq!(world.call(add("innocent", 1)).unwrap(), "2");
}

/// W2, M4
#[test]
fn a_message_that_kills_the_process_stops_killing_it_and_is_kept() {
    for is_bound in [true, false] {
        let bomb = Bomb::default();
        let kills = bomb.clone();
        let toy = adder()
            .action("kill", move |turn| {
                kills.explode();
                Next::Commit(turn.says(""))
            })
            .own("send", |turn| {
                Next::Commit(Commit { send: vec![message("adder", "to", "kill", "")], ..turn.sets(1) })
            });
        let world = world(registry([toy, letters()]).dead_letters("letters", key("dead")), &bomb);
        if is_bound {
            world.call(add("to", 1)).unwrap();
        }
        drop(world.ask(call("adder", "s", "send", "")));
        assert!(world.is_dead());
        restart_until_it_lives(&world);
        world.advance(60 * SECOND);
        if is_bound {
            assert!(matches!(world.entity("to").unwrap().parked, Some(Parked::Poisoned(_))));
            assert_eq!(world.inbox("to"), 1);
        } else {
            assert!(world.state("dead").contains("app/to kill"), "{:?}", world.state("dead"));
            assert_eq!(world.call(add("to", 1)).unwrap(), "1");
        }
    }
}

/// W2
#[test]
fn crashes_of_others_are_forgotten_when_work_gets_on() {
    let (bomb, latch, log) = (Bomb::default(), Latch::default(), Log::default());
    let world = world(workers(&bomb, &latch, &log).alone(), &bomb);
    world.call(call("adder", "a", "work", "job")).unwrap();
    (0..3).for_each(|_| {
        world.restart();
    });
    assert_eq!(world.entity("a").unwrap().crashes, 3);
    world.advance(61 * SECOND);
    assert_eq!(world.entity("a").unwrap().crashes, 0, "it has run long enough");
    world.restart();
    latch.open();
    world.settle();
    assert_eq!((world.entity("a").unwrap().crashes, log.take()), (0, vec!["a job: ok".to_owned()]));
}

/// W2
#[test]
fn whoever_has_got_on_is_cleared_though_a_call_that_only_reads_came_last() {
    let (bomb, dies) = (Bomb::default(), Arc::new(AtomicBool::new(true)));
    let kills = bomb.clone();
    let toy = adder()
        .action("take", move |turn| {
            if dies.swap(false, Ordering::Relaxed) {
                kills.explode();
            }
            Next::Commit(turn.sets(2))
        })
        .own("send", |turn| Next::Commit(Commit { send: vec![message("adder", "to", "take", "")], ..turn.sets(1) }))
        .own("rows", |turn| match turn.rows.get(&Range::first("items", 9)) {
            Some(rows) => Next::Commit(turn.says(rows.len())),
            None => Next::Read(vec![Range::first("items", 9)]),
        });
    let world = world(toy.alone(), &bomb);
    world.call(add("to", 1)).unwrap();
    drop(world.ask(call("adder", "s", "send", "")));
    assert!(world.is_dead());
    // Its count is on the way when it is asked: the message goes first, and the call waits for rows when that is taken.
    world.store.stall();
    world.restart();
    let asked = world.ask(call("adder", "to", "rows", ""));
    world.store.go_on();
    world.settle();
    assert_eq!((asked.text().unwrap().as_str(), world.state("to").as_str()), ("0", "2"));
    assert_eq!(world.entity("to").unwrap().crashes, 0);
}

/// Two were there for three crashes, then the process ends in order: how many of them run at once afterwards.
fn run_after_an_end_in_order() -> usize {
    let (bomb, latch, log) = (Bomb::default(), Latch::default(), Log::default());
    let world = world(workers(&bomb, &latch, &log).alone(), &bomb);
    let keys = ["a", "b"];
    for key in keys {
        world.call(call("adder", key, "work", "job")).expect("it is the owner");
    }
    (0..3).for_each(|_| {
        world.restart();
    });
    let run = || keys.iter().filter(|key| matches!(world.waits(key)[..], [Wait::Work(_)])).count();
    let crashes = || keys.map(|key| world.entity(key).expect("it is bound").crashes);
    let counted = crashes();
    assert_eq!((run(), counted.iter().sum::<u8>()), (1, 5), "one of them waits, and is counted when its turn comes");
    world.shut_down(SECOND);
    assert_eq!(world.restart().unclean, 0);
    let run_at_once = run();
    assert_eq!(crashes(), counted);
    latch.open();
    world.settle();
    assert_eq!((crashes(), log.take().len()), ([0, 0], 2));
    run_at_once
}

/// W2, R2
#[test]
fn those_who_were_there_for_crashes_run_one_at_a_time_also_after_an_end_in_order() {
    assert_eq!(run_after_an_end_in_order(), 1);
}

/// W2
#[cfg(feature = "planted")]
#[test]
fn it_is_found_if_an_end_in_order_clears_those_who_were_there() {
    drystone_runtime::plant(Some(drystone_runtime::Bug::DoubtForgotten));
    let run_at_once = run_after_an_end_in_order();
    drystone_runtime::plant(None);
    assert_eq!(run_at_once, 2);
}

/// W2
#[test]
fn an_entity_that_was_at_rest_is_not_counted_when_the_process_dies() {
    let (bomb, latch, log) = (Bomb::default(), Latch::default(), Log::default());
    let world = world(workers(&bomb, &latch, &log).alone(), &bomb);
    world.call(add("a", 1)).unwrap();
    let before = world.entity("a").unwrap();
    (0..3).for_each(|_| {
        world.restart();
    });
    assert_eq!(world.call(call("adder", "a", "get", "")).unwrap(), "1");
    assert_eq!(world.entity("a").unwrap(), before);
}

/// W2
#[test]
fn work_that_kills_is_given_up_though_other_work_of_its_entity_gets_on() {
    let (bomb, log) = (Bomb::default(), Log::default());
    let (runs, ends) = (bomb.clone(), log.clone());
    let toy = adder()
        .own("work", |turn| Next::Commit(Commit { head: Some(turn.body().into()), ..turn.says("") }))
        .lists(|entity, _| text(&entity.head).split_whitespace().map(|id| Work::new(id.to_owned())).collect())
        .runs(move |_, work, _| {
            let (bomb, id) = (runs.clone(), work.id.clone());
            Box::pin(async move {
                if id.as_str() == "bomb" {
                    // Slowly, so that others end meanwhile.
                    turns(100).await;
                    bomb.explode();
                    std::future::pending::<()>().await;
                }
                done()
            })
        })
        .otherwise(move |turn| {
            let Input::Done { work, outcome, .. } = turn.input else { return settles(turn) };
            let head = text(&turn.entity.expect("only existing entities have work").head);
            let left = head.split(' ').filter(|id| *id != work.as_str());
            let next = work.as_str().strip_prefix("job-").and_then(|number| number.parse::<u64>().ok());
            let next = next.map(|number| if number < 2_000 { format!("job-{}", number + 1) } else { String::new() });
            if next.is_none() {
                ends.say(format!("{work}: {outcome:?}"));
            }
            let left: Vec<_> = left.map(str::to_owned).chain(next).collect();
            Next::Commit(Commit { head: Some(left.join(" ").into()), ..Commit::default() })
        });
    let world = world(toy.alone(), &bomb);
    world.call(add("a", 1)).unwrap();
    let _ = world.ask(call("adder", "a", "work", "bomb job-1"));
    let restarts = restart_until_it_lives(&world);
    assert!(restarts <= 12, "{restarts}");
    assert_eq!(log.take().len(), 1);
}

/// Lets others run so many times.
async fn turns(count: u32) {
    let mut left = count;
    std::future::poll_fn(|cx| {
        left -= 1;
        cx.waker().wake_by_ref();
        if left == 0 { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}
