//! Code that kills the process: the deaths are limited, the guilty entity is found, and no innocent entity
//! is held.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use drystone_runtime::{
    Borrow, Change, Commit, Conviction, Entity, Error, Input, Next, Outcome, Parked, Range, Registry, Work, WorkId,
    kernel::Wait,
};
use drystone_tests::world::{
    Executor, Latch, Log, World, key,
    toys::{Toy, add, adder, alarm_in, call, done, letters, message, ok, registry, settles, text},
};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// The deaths until a guilty entity is held, whatever runs beside it: three that narrow the suspects down,
/// and six that each follow a control.
const DEATHS_UNTIL_HELD: usize = 9;

/// The means to kill a world, set once there is a world.
#[derive(Clone, Default)]
struct Bomb {
    executor: Arc<OnceLock<Executor>>,
    is_defused: Arc<AtomicBool>,
}

impl Bomb {
    fn explode(&self) {
        self.executor.get().expect("the world is there").kill_current();
    }

    fn defuse(&self) {
        self.is_defused.store(true, Ordering::Relaxed);
    }
}

/// `work` lists `bomb` for the guilty and `job` for the others; each end of work goes to the log.
fn workers(bomb: &Bomb, latch: &Latch, log: &Log) -> Toy {
    let (bomb, latch, begins, ends) = (bomb.clone(), latch.clone(), log.clone(), log.clone());
    adder()
        .own("work", |turn| Next::Commit(Commit { head: Some(turn.body().into()), ..turn.says("") }))
        .lists(|entity, _| text(&entity.head).split_whitespace().map(|id| Work::new(id.to_owned())).collect())
        .runs(move |_, work, cx| {
            let (bomb, latch, log, id) = (bomb.clone(), latch.clone(), begins.clone(), work.id.clone());
            Box::pin(async move {
                if id.as_str() == "bomb" && !bomb.is_defused.load(Ordering::Relaxed) {
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
    bomb.executor.set(world.executor.clone()).expect("one world per bomb");
    world
}

/// Restarts the world until it has lived for an hour. Returns the number of restarts.
fn restart_until_it_lives(world: &World) -> usize {
    for restarts in 0..60 {
        world.advance(60 * MINUTE);
        if !world.is_dead() {
            return restarts;
        }
        world.restart();
    }
    panic!("it dies for ever");
}

fn crashes(world: &World, key: &str) -> u8 {
    world.entity(key).expect("it is bound").crashes.deaths()
}

fn conviction(entity: &Entity) -> Option<&Conviction> {
    match &entity.parked {
        Some(Parked::Held(conviction)) => Some(conviction),
        _ => None,
    }
}

/// Lets 20 innocent entities work until the process has died this often. Returns how many of them succeed.
fn succeed(deaths: usize, apart: Duration) -> usize {
    let (bomb, latch, log) = (Bomb::default(), Latch::default(), Log::default());
    let world = world(workers(&bomb, &latch, &log).alone(), &bomb);
    let keys: Vec<String> = (0..20).map(|number| format!("i{number}")).collect();
    for key in &keys {
        world.call(call("adder", key, "work", "job")).expect("it is the owner");
    }
    for _ in 0..deaths {
        world.advance(apart);
        world.restart();
    }
    latch.open();
    world.advance(60 * MINUTE);
    assert!(keys.iter().all(|key| world.entity(key).is_some_and(|entity| entity.parked.is_none())));
    log.take().iter().filter(|line| line.ends_with("job: ok")).count()
}

/// W2
#[test]
fn innocents_succeed_however_often_and_however_regularly_the_process_dies_of_something_else() {
    let rows = [
        (6, 1),
        (6, 30),
        (12, 1),
        (12, 30),
        (30, 1),
        (60, 1),
        (60, 10),
        (60, 59),
        (120, 1),
        (60, 61),
        // Longer than the shortest control, and a little longer than the longest one.
        (60, 90),
        (60, 150),
        (60, 330),
        (30, 605),
        (30, 655),
    ];
    for (deaths, apart_s) in rows {
        let succeeded = succeed(deaths, apart_s * SECOND);
        assert_eq!(succeeded, 20, "{deaths} deaths, {apart_s} s apart");
    }
}

/// W2
#[cfg(feature = "planted")]
#[test]
fn it_is_found_if_suspects_are_convicted_by_their_deaths_alone() {
    drystone_runtime::plant(Some(drystone_runtime::Bug::NoControl));
    let succeeded = std::panic::catch_unwind(|| succeed(60, SECOND));
    drystone_runtime::plant(None);
    assert!(succeeded.is_err(), "an innocent is held");
}

/// W2
#[test]
fn one_survived_control_convicts_nobody_when_a_crash_loop_ends_while_somebody_is_held_back() {
    let (bomb, latch, log) = (Bomb::default(), Latch::default(), Log::default());
    let world = world(workers(&bomb, &latch, &log).alone(), &bomb);
    world.call(call("adder", "a", "work", "job")).unwrap();
    for _ in 0..3 {
        world.restart();
    }
    // The crash loop is over. After the control come one more death and then no more.
    while !matches!(world.waits("a")[..], [Wait::Work(_)]) {
        world.advance(SECOND);
    }
    world.restart();
    assert_eq!(crashes(&world, "a"), 4);
    world.advance(20 * MINUTE);
    assert_eq!((crashes(&world, "a"), world.waits("a")), (0, vec![Wait::Work(WorkId::new("job"))]));
}

/// W6, W2
#[test]
fn a_call_waits_for_work_that_goes_first_also_while_that_is_held_back() {
    let latch = Latch::default();
    let listed = || Work { goes_first: true, borrow: Borrow::Exclusive, ..Work::new("script") };
    let waiting = latch.clone();
    let toy = adder()
        .own("work", |turn| Next::Commit(Commit { head: Some("script".into()), ..turn.says("") }))
        .lists(move |entity, _| if entity.head.is_empty() { Vec::new() } else { vec![listed()] })
        .runs(move |_, _, _| {
            let latch = waiting.clone();
            Box::pin(async move {
                latch.wait().await;
                // The code used the state from before the call.
                ok(1)
            })
        })
        .otherwise(|turn| match settles(turn) {
            Next::Commit(commit) => Next::Commit(Commit { head: Some("".into()), ..commit }),
            other => other,
        });
    let world = World::of(toy.alone());
    world.call(call("adder", "a", "work", "")).unwrap();
    for _ in 0..3 {
        world.restart();
    }
    assert_eq!(world.waits("a"), [Wait::HeldBack]);
    latch.open();
    let added = world.ask(add("a", 10).deadline(60 * MINUTE));
    world.settle();
    assert!(added.waits());
    world.advance(30 * MINUTE);
    assert_eq!((added.text().unwrap(), world.state("a")), ("11".to_owned(), "11".to_owned()));
}

/// W2
#[test]
fn work_that_kills_the_process_is_held_and_innocents_complete() {
    let (bomb, latch, log) = (Bomb::default(), Latch::default(), Log::default());
    let world = world(workers(&bomb, &latch, &log).alone(), &bomb);
    for number in 1..20 {
        world.call(call("adder", &format!("i{number}"), "work", "job")).unwrap();
    }
    let kernel = world.kernel();
    drop(world.ask(call("adder", "guilty", "work", "bomb")));
    assert!(world.is_dead());
    drop(kernel);
    latch.open();
    restart_until_it_lives(&world);
    let mut said = log.take();
    assert_eq!(said.iter().filter(|line| *line == "boom").count(), DEATHS_UNTIL_HELD);
    said.retain(|line| line != "boom");
    assert_eq!(said.len(), 19, "all innocents: {said:?}");
    let entity = world.entity("guilty").unwrap();
    let expected = Conviction { work: Some(WorkId::new("bomb")), deaths: 9, controls: 6, build: 0 };
    assert_eq!(conviction(&entity), Some(&expected));
    let explained = world.explain("guilty").to_string();
    assert!(explained.contains("`bomb` is suspected") && explained.contains("died 9 times with it"), "{explained}");
    assert!(matches!(world.call(add("guilty", 1)), Err(Error::Parked { .. })));
    // A restart alone does not try the held entity again: it would kill the process once more.
    world.restart();
    world.advance(60 * MINUTE);
    assert!(!world.is_dead() && log.take().is_empty());
    bomb.defuse();
    assert!(world.unpark("guilty"));
    world.settle();
    assert_eq!(log.take(), ["guilty bomb: ok"]);
}

/// W2, E15
#[test]
fn listeners_are_told_of_an_entity_that_is_held() {
    let (bomb, latch, log) = (Bomb::default(), Latch::default(), Log::default());
    let world = world(workers(&bomb, &latch, &log).alone(), &bomb);
    drop(world.ask(call("adder", "guilty", "work", "bomb")));
    for deaths in 1..DEATHS_UNTIL_HELD {
        world.restart();
        world.advance(20 * MINUTE);
        assert!(world.is_dead(), "{deaths}");
    }
    world.store.stall();
    world.restart();
    let mut events = world.kernel().listen();
    world.store.go_on();
    world.settle();
    let told = world.now(async move { events.next().await }).expect("the kernel lives");
    assert_eq!((told.key, told.lifecycle.name.as_str()), (key("guilty"), "entity.held"));
    let fields = ["work", "deaths", "controls"].map(|name| text(&told.lifecycle.fields[name]));
    assert_eq!(fields, ["\"bomb\"", "9", "6"]);
}

/// W2
#[test]
fn another_build_or_other_options_try_what_is_held_once_more() {
    for new_build in [true, false] {
        let (bomb, latch, log) = (Bomb::default(), Latch::default(), Log::default());
        latch.open();
        let toy = || workers(&bomb, &latch, &log);
        let world = world(toy().alone(), &bomb);
        drop(world.ask(call("adder", "guilty", "work", "bomb")));
        restart_until_it_lives(&world);
        log.take();
        bomb.defuse();
        let registry = if new_build { toy().alone() } else { toy().config("other").alone() };
        world.open(registry, |options| options.build = u64::from(new_build));
        assert_eq!(log.take(), ["guilty bomb: ok"]);
    }
}

/// W2
#[test]
fn one_guilty_among_a_thousand_is_held_after_as_many_deaths_and_so_are_two_after_twice_as_many() {
    for (innocents, guilty) in [(1_000, 1), (20, 2)] {
        let (bomb, latch, log) = (Bomb::default(), Latch::default(), Log::default());
        let world = world(workers(&bomb, &latch, &log).alone(), &bomb);
        let guilty: Vec<String> = (0..guilty).map(|number| format!("guilty{number}")).collect();
        for number in 0..innocents {
            world.call(call("adder", &format!("i{number}"), "work", "job")).unwrap();
        }
        world.store.stall();
        let asked: Vec<_> = guilty.iter().map(|key| world.ask(call("adder", key, "work", "bomb"))).collect();
        world.store.go_on();
        drop(asked);
        latch.open();
        restart_until_it_lives(&world);
        let mut said = log.take();
        let booms = said.iter().filter(|line| *line == "boom").count();
        assert!(booms <= guilty.len() * DEATHS_UNTIL_HELD, "{booms}");
        // A turn is repeated if the process dies before its commit.
        said.sort();
        said.dedup();
        assert_eq!(said.len() - 1, innocents);
        assert!(guilty.iter().all(|key| world.entity(key).is_some_and(|entity| conviction(&entity).is_some())));
    }
}

/// W2
#[test]
fn two_guilty_ones_that_begin_at_different_times_do_not_acquit_each_other_for_ever() {
    for lives in 1..=6 {
        let (bomb, latch, log) = (Bomb::default(), Latch::default(), Log::default());
        latch.open();
        let world = world(workers(&bomb, &latch, &log).alone(), &bomb);
        world.call(call("adder", "late", "work", "job")).unwrap();
        drop(world.ask(call("adder", "early", "work", "bomb")));
        for _ in 0..lives {
            world.restart();
            world.advance(20 * MINUTE);
        }
        // A restart without a death. The second entity begins when the first is at some stage.
        world.store.stall();
        world.restart();
        let asked = world.ask(call("adder", "late", "work", "bomb"));
        world.store.go_on();
        world.settle();
        drop(asked);
        assert!(restart_until_it_lives(&world) <= 40, "{lives}");
        let held = |key| world.entity(key).is_some_and(|entity| conviction(&entity).is_some());
        assert!(held("early"), "{lives}");
    }
}

/// W2
#[test]
fn the_suspect_is_named_in_the_store_before_it_runs_alone_and_then_is_held_back() {
    let (bomb, log) = (Bomb::default(), Log::default());
    let latch = Latch::default();
    latch.open();
    let world = world(workers(&bomb, &latch, &log).alone(), &bomb);
    drop(world.ask(call("adder", "guilty", "work", "bomb")));
    for deaths in 1..=3 {
        world.restart();
        assert_eq!(world.is_dead(), deaths < 3);
        let suspect = world.entity("guilty").unwrap().suspect.map(|suspect| suspect.to_string());
        assert_eq!((crashes(&world, "guilty"), suspect.as_deref()), (deaths, (deaths >= 2).then_some("bomb")));
    }
    assert_eq!(world.waits("guilty"), [Wait::HeldBack]);
    assert_eq!(log.take().len(), 3);
}

/// W2
#[test]
fn a_turn_that_kills_the_process_is_held() {
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
    // At the first ring no commit had stored the time, so the alarm may ring once more often.
    assert!(restart_until_it_lives(&world) <= DEATHS_UNTIL_HELD + 1);
    let entity = world.entity("guilty").unwrap();
    let held = conviction(&entity).map(|held| (held.work.clone(), held.deaths));
    assert_eq!((held, &entity.state[..], entity.alarm.is_some()), (Some((None, 9)), &b"7"[..], true));
    assert!(matches!(world.call(add("guilty", 1)), Err(Error::Parked { .. })));
    assert_eq!(world.call(add("innocent", 1)).unwrap(), "2");
}

/// W2, M4
#[test]
fn a_message_that_kills_the_process_stops_killing_it_and_is_held_in_the_inbox() {
    for is_bound in [true, false] {
        let bomb = Bomb::default();
        let kills = bomb.clone();
        let toy = adder()
            .action("kill", move |turn| {
                if !kills.is_defused.load(Ordering::Relaxed) {
                    kills.explode();
                }
                Next::Commit(turn.sets(3))
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
        assert_eq!(restart_until_it_lives(&world), DEATHS_UNTIL_HELD);
        assert_eq!((world.inbox("to"), world.state("dead").as_str()), (1, ""), "it is no dead letter");
        if is_bound {
            assert!(conviction(&world.entity("to").unwrap()).is_some());
        } else {
            assert_eq!(world.waits("to"), [Wait::HeldMessages(1)]);
        }
        world.restart();
        world.advance(60 * MINUTE);
        assert!(!world.is_dead());
        bomb.defuse();
        assert!(world.unpark("to"));
        world.settle();
        assert_eq!((world.inbox("to"), world.state("to").as_str()), (0, "3"));
        assert!(!world.unpark("to"));
    }
}

/// W2, M4
#[test]
fn a_message_to_an_unbound_key_is_taken_however_often_the_process_dies_of_something_else() {
    for apart_s in [1, 30, 61, 200] {
        let (bomb, latch) = (Bomb::default(), Latch::default());
        let waits = latch.clone();
        let toy = adder()
            .own("take", |_| Next::Run(Work::new("take")))
            .own("send", |turn| Next::Commit(Commit { send: vec![message("adder", "to", "take", "")], ..turn.sets(1) }))
            .runs(move |_, _, _| {
                let latch = waits.clone();
                Box::pin(async move {
                    latch.wait().await;
                    ok(2)
                })
            });
        let world = world(registry([toy, letters()]).dead_letters("letters", key("dead")), &bomb);
        drop(world.ask(call("adder", "s", "send", "")));
        for _ in 0..40 {
            world.advance(apart_s * SECOND);
            world.restart();
        }
        assert_eq!(world.inbox("to"), 1);
        latch.open();
        world.advance(60 * MINUTE);
        assert_eq!((world.inbox("to"), world.state("to").as_str(), world.state("dead").as_str()), (0, "2", ""));
    }
}

/// W2
#[test]
fn crashes_of_others_are_forgotten_when_work_gets_on() {
    let (bomb, latch, log) = (Bomb::default(), Latch::default(), Log::default());
    let world = world(workers(&bomb, &latch, &log).alone(), &bomb);
    world.call(call("adder", "a", "work", "job")).unwrap();
    for _ in 0..3 {
        world.restart();
    }
    assert_eq!(crashes(&world, "a"), 3);
    world.advance(12 * MINUTE);
    assert_eq!(crashes(&world, "a"), 0, "it has run long enough");
    world.restart();
    latch.open();
    world.settle();
    assert_eq!((crashes(&world, "a"), log.take()), (0, vec!["a job: ok".to_owned()]));
}

/// W2
#[test]
fn a_death_that_comes_before_any_code_of_an_entity_began_does_not_count_against_it() {
    let (bomb, latch, log) = (Bomb::default(), Latch::default(), Log::default());
    let world = world(workers(&bomb, &latch, &log).alone(), &bomb);
    for number in 0..40 {
        world.call(call("adder", &format!("i{number}"), "work", "job")).unwrap();
    }
    let all = || (0..40).map(|number| crashes(&world, &format!("i{number}"))).collect::<Vec<_>>();
    for _ in 0..2 {
        world.restart();
    }
    let counted = |deaths| all().iter().filter(|found| **found == deaths).count();
    assert_eq!((counted(1), counted(2)), (8, 32), "32 run at once, and 8 wait in line");
    world.restart();
    assert_eq!((counted(1), counted(2), counted(3)), (0, 8, 32), "nothing of the 8 had begun in the life that ended");
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
    // The count of the crash is being written when the call comes. The message goes first, and the call
    // waits for rows when the message is taken.
    world.store.stall();
    world.restart();
    let asked = world.ask(call("adder", "to", "rows", ""));
    world.store.go_on();
    world.settle();
    assert_eq!((asked.text().unwrap().as_str(), world.state("to").as_str()), ("0", "2"));
    assert_eq!(crashes(&world, "to"), 0);
}

/// Two entities run during three crashes, then the process shuts down. Returns how many of them run at once
/// afterwards.
fn run_after_an_end_in_order() -> usize {
    let (bomb, latch, log) = (Bomb::default(), Latch::default(), Log::default());
    let world = world(workers(&bomb, &latch, &log).alone(), &bomb);
    let keys = ["a", "b"];
    for key in keys {
        world.call(call("adder", key, "work", "job")).expect("it is the owner");
    }
    for _ in 0..3 {
        world.restart();
    }
    let run = || keys.iter().filter(|key| matches!(world.waits(key)[..], [Wait::Work(_)])).count();
    let run_when_one_does = || {
        let minutes = 0..11 * 60;
        minutes.map(|_| (world.advance(SECOND), run()).1).find(|count| *count > 0).expect("controls end")
    };
    assert_eq!((run(), run_when_one_does()), (0, 1), "both are held back, then one waits for the other");
    world.shut_down(SECOND);
    assert_eq!(world.restart().unclean, 0);
    let run_at_once = run_when_one_does();
    assert_eq!(keys.map(|key| crashes(&world, key)), [3, 3]);
    latch.open();
    world.advance(20 * MINUTE);
    assert_eq!((keys.map(|key| crashes(&world, key)), log.take().len()), ([0, 0], 2));
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
    for _ in 0..3 {
        world.restart();
    }
    assert_eq!(world.call(call("adder", "a", "get", "")).unwrap(), "1");
    assert_eq!(world.entity("a").unwrap(), before);
}

/// W2
#[test]
fn work_that_kills_is_held_though_other_work_of_its_entity_gets_on() {
    let (bomb, log) = (Bomb::default(), Log::default());
    let (runs, ends) = (bomb.clone(), log.clone());
    let toy = adder()
        .own("work", |turn| Next::Commit(Commit { head: Some(turn.body().into()), ..turn.says("") }))
        .lists(|entity, _| text(&entity.head).split_whitespace().map(|id| Work::new(id.to_owned())).collect())
        .runs(move |_, work, _| {
            let (bomb, id) = (runs.clone(), work.id.clone());
            Box::pin(async move {
                if id.as_str() == "bomb" {
                    // The delay lets the remaining work end before the crash.
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
    assert!(restarts <= 16, "{restarts}");
    assert!(conviction(&world.entity("a").unwrap()).is_some_and(|held| held.work == Some(WorkId::new("bomb"))));
    assert_eq!(log.take().len(), 0);
}

/// Yields `count` times to the remaining tasks.
async fn turns(count: u32) {
    let mut left = count;
    std::future::poll_fn(|cx| {
        left -= 1;
        cx.waker().wake_by_ref();
        if left == 0 { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}
