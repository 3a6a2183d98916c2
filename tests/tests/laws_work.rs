//! Work and rows: the work that follows from the stored state runs, ends once, and keeps its limits.

use std::{future::poll_fn, task::Poll, time::Duration};

use drystone_runtime::{Borrow, Change, Commit, Input, Needed, Next, Outcome, Range, Row, Work};
use drystone_tests::world::{
    Latch, Log, World,
    toys::{Toy, add, adder, alarm_in, call, done, key, number, settles},
};

const SECOND: Duration = Duration::from_secs(1);

/// Lists the words of its record as work. The end of work removes its word and goes to the log.
fn jobs(latch: &Latch, log: &Log, shape: impl Fn(Work) -> Work + Send + Sync + 'static) -> Toy {
    let (latch, begins, ends) = (latch.clone(), log.clone(), log.clone());
    adder()
        .own("list", |turn| Next::Commit(Commit { head: Some(turn.body().into()), ..turn.says("") }))
        .lists(move |entity, _| {
            let head = String::from_utf8_lossy(&entity.head).into_owned();
            head.split_whitespace().map(|id| shape(Work::new(id.to_owned()))).collect()
        })
        .runs(move |_, work, cx| {
            let (latch, id) = (latch.clone(), work.id.clone());
            begins.say(format!("{id} begins"));
            Box::pin(async move {
                latch.wait().await;
                cx.heartbeat();
                done()
            })
        })
        .otherwise(move |turn| {
            let Input::Done { work, outcome, .. } = turn.input else { return settles(turn) };
            let outcome = match outcome {
                Outcome::Ok(_) => "ok".to_owned(),
                other => format!("{other:?}"),
            };
            ends.say(format!("{work} ends: {outcome}"));
            let head =
                String::from_utf8_lossy(&turn.entity.expect("only existing entities have work").head).into_owned();
            let left: Vec<_> = head.split_whitespace().filter(|word| *word != work.as_str()).collect();
            Next::Commit(Commit { head: Some(left.join(" ").into()), ..Commit::default() })
        })
}

/// E4, W1
#[test]
fn listed_work_starts_when_its_commit_is_durable_and_ends_once() {
    let (latch, log) = (Latch::default(), Log::default());
    let world = World::of(jobs(&latch, &log, |work| work).alone());
    world.call(add("a", 1)).unwrap();
    world.store.stall();
    let asked = world.ask(call("adder", "a", "list", "one two"));
    assert!(log.take().is_empty());
    world.store.go_on();
    assert!(asked.text().is_ok() && world.entity("a").unwrap().active);
    assert_eq!(log.take(), ["one begins", "two begins"]);
    latch.open();
    world.advance(60 * SECOND);
    assert_eq!(log.take(), ["one ends: ok", "two ends: ok"]);
    assert!(!world.entity("a").unwrap().active);
    assert_eq!((world.kernel().counts().started, world.kernel().counts().late_ends), (2, 0));
}

/// E4
#[test]
fn work_that_is_no_longer_listed_is_dropped_and_its_end_is_nobodys() {
    let (latch, log) = (Latch::default(), Log::default());
    let world = World::of(jobs(&latch, &log, |work| work).alone());
    world.call(call("adder", "a", "list", "one two")).unwrap();
    world.call(call("adder", "a", "list", "two")).unwrap();
    latch.open();
    world.settle();
    assert_eq!(log.take(), ["one begins", "two begins", "two ends: ok"]);
}

/// W1
#[test]
fn a_dropped_piece_that_is_listed_again_runs_again() {
    let (latch, log) = (Latch::default(), Log::default());
    let world = World::of(jobs(&latch, &log, |work| work).alone());
    for listed in ["one", "", "one"] {
        world.call(call("adder", "a", "list", listed)).unwrap();
    }
    latch.open();
    world.settle();
    assert_eq!(log.take(), ["one begins", "one begins", "one ends: ok"]);
}

/// R1, W1
#[test]
fn work_that_ran_when_the_process_died_runs_again_under_the_same_id() {
    let (latch, log) = (Latch::default(), Log::default());
    let world = World::of(jobs(&latch, &log, |work| work).alone());
    world.call(call("adder", "a", "list", "one")).unwrap();
    latch.open();
    let report = world.restart();
    assert_eq!((report.unfinished, report.unclean), (1, 1));
    assert_eq!(log.take(), ["one begins", "one begins", "one ends: ok"]);
}

/// W3, fB22: no thread was free to take the end, and time spent in the store had moved the deadline.
#[test]
fn code_that_ended_in_time_has_not_timed_out_however_late_its_end_is_heard_of() {
    let (latch, log) = (Latch::default(), Log::default());
    let (timed, lasts) = (|work| Work { timeout: Some(2 * SECOND), ..work }, latch.clone());
    let reader = jobs(&latch, &log, timed).runs(move |_, _, cx| {
        let latch = lasts.clone();
        Box::pin(async move {
            cx.rows(Range::first("items", 1)).await.expect("the store is well");
            latch.wait().await;
            done()
        })
    });
    let world = World::with(reader.alone(), |options| options.turn_threads = 2);
    for key in ["a", "warm"] {
        world.call(add(key, 1)).unwrap();
    }
    let first = world.store.hold_reads();
    world.call(call("adder", "a", "list", "one")).unwrap();
    world.advance(3 * SECOND);
    world.store.stall();
    let written = world.ask(add("warm", 1));
    first.open();
    world.settle();
    let second = world.store.hold_reads();
    let read = world.ask(add("cold", 1));
    world.advance(SECOND + SECOND / 2);
    latch.open();
    world.advance(2 * SECOND);
    assert!(log.take().is_empty() && written.waits() && read.waits(), "both hands wait for the store");
    second.open();
    world.store.go_on();
    world.settle();
    assert_eq!(log.take(), ["one ends: ok"]);
}

/// W3
#[test]
fn an_attempt_that_outlasts_its_timeout_is_over() {
    let (latch, log) = (Latch::default(), Log::default());
    let timed = |work| Work { timeout: Some(5 * SECOND), ..work };
    let world = World::of(jobs(&latch, &log, timed).alone());
    world.call(call("adder", "a", "list", "one")).unwrap();
    world.advance(5 * SECOND - Duration::from_millis(1));
    assert_eq!(log.take(), ["one begins"]);
    world.advance(Duration::from_millis(1));
    assert_eq!(log.take(), ["one ends: TimedOut"]);
    latch.open();
    world.advance(SECOND);
    assert!(log.take().is_empty(), "what comes late is nobody's");
}

/// W3
#[test]
fn waits_for_rows_that_overlap_or_are_dropped_move_a_timeout_no_further() {
    let (latch, log) = (Latch::default(), Log::default());
    let (timed, lasts) = (|work| Work { timeout: Some(5 * SECOND), ..work }, latch.clone());
    let toy = jobs(&latch, &log, timed).runs(move |_, _, cx| {
        let latch = lasts.clone();
        Box::pin(async move {
            let range = || Range::first("items", 1);
            let (one, other) = tokio::join!(cx.rows(range()), cx.rows(range()));
            assert!(one.is_ok() && other.is_ok());
            let mut dropped = Box::pin(cx.rows(range()));
            poll_fn(|waker| Poll::Ready(drop(dropped.as_mut().poll(waker)))).await;
            drop(dropped);
            latch.wait().await;
            done()
        })
    });
    let world = World::of(toy.alone());
    world.advance(60 * SECOND);
    world.call(call("adder", "a", "list", "one")).unwrap();
    world.advance(5 * SECOND);
    assert_eq!(log.take(), ["one ends: TimedOut"]);
}

/// W3
#[test]
fn the_time_that_work_waits_for_a_place_does_not_count() {
    let (latch, log) = (Latch::default(), Log::default());
    let timed = |work| Work { timeout: Some(5 * SECOND), ..work };
    let world = World::with(jobs(&latch, &log, timed).alone(), |options| options.work_max = 1);
    world.call(call("adder", "a", "list", "one two")).unwrap();
    world.advance(5 * SECOND);
    assert_eq!(log.take(), ["one begins", "one ends: TimedOut", "two begins"]);
    world.advance(4 * SECOND);
    latch.open();
    world.settle();
    assert_eq!(log.take(), ["two ends: ok"]);
}

/// W10
#[test]
fn silence_beyond_its_limit_ends_an_attempt_and_a_sign_of_life_does_not() {
    let (latch, log) = (Latch::default(), Log::default());
    let (beat, says) = (latch.clone(), log.clone());
    let silent = |work: Work| Work { silence: Some(5 * SECOND), ..work };
    let toy = jobs(&latch, &log, silent).runs(move |_, _, cx| {
        let (beat, says) = (beat.clone(), says.clone());
        Box::pin(async move {
            loop {
                beat.clone().wait().await;
                says.say("beat");
                cx.heartbeat();
            }
        })
    });
    let world = World::of(toy.alone());
    world.call(call("adder", "a", "list", "one")).unwrap();
    for _ in 0..3 {
        world.advance(4 * SECOND);
        latch.let_one_through();
        world.settle();
        assert_eq!(log.take(), ["beat"]);
    }
    world.advance(5 * SECOND - Duration::from_millis(1));
    assert!(log.take().is_empty());
    world.advance(Duration::from_millis(1));
    assert_eq!(log.take(), ["one ends: Silent"]);
}

/// E3
#[test]
fn listed_work_that_borrows_exclusively_is_not_starved_by_calls_that_keep_coming() {
    let (latch, log) = (Latch::default(), Log::default());
    let (wait, says) = (latch.clone(), log.clone());
    let toy = jobs(&latch, &log, |work| Work { borrow: Borrow::Exclusive, ..work })
        .action("run", |_| Next::Run(Work { borrow: Borrow::Exclusive, ..Work::new("call") }))
        .runs(move |_, work, _| {
            says.say(work.id.to_string());
            let latch = wait.clone();
            Box::pin(async move {
                latch.wait().await;
                done()
            })
        });
    let world = World::of(toy.alone());
    let run = || world.ask(call("adder", "a", "run", ""));
    let mut callers = vec![run(), run()];
    world.call(call("adder", "a", "list", "tick")).unwrap();
    for _ in 0..5 {
        callers.push(run());
        latch.let_one_through();
        world.settle();
    }
    assert!(log.take().contains(&"tick".to_owned()), "two calls came before it, and it waits for those only");
}

/// Puts rows and returns them.
fn shelf() -> Toy {
    let row = |name: String| Row { lane: "items".into(), key: name.clone().into(), body: name.into() };
    adder()
        .own("put", move |turn| {
            let put = turn.body().split(' ').map(|name| row(name.to_owned())).collect();
            Next::Commit(Commit { put, head: Some("shelf".into()), ..turn.says("") })
        })
        .own("remove", |turn| {
            Next::Commit(Commit { remove: vec![("items".into(), turn.body().into())], ..turn.says("") })
        })
        .own("show", |turn| match turn.rows.get(&Range::first("items", 3)) {
            None => Next::Read(vec![Range::first("items", 3)]),
            Some(rows) => {
                let names: Vec<_> = rows.iter().map(|row| String::from_utf8_lossy(&row.body).into_owned()).collect();
                Next::Commit(turn.says(names.join(" ")))
            }
        })
}

/// E4
#[test]
fn a_turn_sees_the_rows_that_an_undurable_turn_before_it_put_and_removed() {
    let world = World::of(shelf().alone());
    world.call(call("adder", "a", "put", "b d")).unwrap();
    world.store.stall();
    let put = world.ask(call("adder", "a", "put", "a c"));
    let flying = world.ask(call("adder", "a", "show", ""));
    let (removed, both) = (world.ask(call("adder", "a", "remove", "b")), world.ask(call("adder", "a", "show", "")));
    assert!(put.waits() && flying.waits() && removed.waits() && both.waits());
    world.store.go_on();
    assert_eq!((flying.text().unwrap(), both.text().unwrap()), ("a b c".into(), "a c d".into()));
}

/// A shelf whose rows are its work: the first row runs, and is removed at its end.
fn belt(log: &Log) -> Toy {
    let says = log.clone();
    let range = || Range::first("items", 1);
    let work = |row: &Row| Work::new(String::from_utf8_lossy(&row.key).into_owned());
    shelf()
        .lists_rows(move |entity, rows, _| match rows.get(&range()) {
            _ if entity.head.is_empty() => Needed::Ready(Vec::new()),
            None => Needed::Read(vec![range()]),
            Some(rows) => Needed::Ready(rows.iter().map(work).collect()),
        })
        .runs(move |_, work, _| {
            says.say(work.id.to_string());
            Box::pin(async { done() })
        })
        .otherwise(|turn| match turn.input {
            Input::Done { work, .. } => {
                let gone = ("items".into(), work.as_str().to_owned().into());
                Next::Commit(Commit { remove: vec![gone], ..Commit::default() })
            }
            _ => Next::nothing(),
        })
}

/// E4
#[test]
fn work_that_is_listed_by_rows_sees_the_rows_of_the_turn_before_it() {
    let log = Log::default();
    let world = World::of(belt(&log).alone());
    world.call(add("a", 1)).unwrap();
    world.call(call("adder", "a", "put", "1 2 3")).unwrap();
    assert_eq!(log.take(), ["1", "2", "3"]);
}

/// E1, E4
#[test]
fn a_call_that_binds_a_key_may_have_its_work_listed_by_rows() {
    let log = Log::default();
    let world = World::of(belt(&log).alone());
    world.call(call("adder", "a", "put", "1 2 3")).unwrap();
    assert_eq!(log.take(), ["1", "2", "3"]);
}

/// E4, R1
#[test]
fn rows_and_the_work_that_they_list_outlive_a_crash_at_any_store_call() {
    for at in 1..12 {
        let log = Log::default();
        let world = World::of(belt(&log).alone());
        world.call(add("a", 1)).unwrap();
        world.call(call("adder", "a", "put", "1 2 3")).unwrap();
        world.store.kills_at(at, drystone_tests::world::Moment::After);
        drop(world.ask(call("adder", "a", "put", "4 5 6").once("k")));
        world.store.spares();
        world.restart();
        world.call(call("adder", "a", "put", "4 5 6").once("k")).unwrap();
        world.advance(60 * SECOND);
        let mut ran = log.take();
        ran.dedup();
        assert_eq!(ran, ["1", "2", "3", "4", "5", "6"], "{at}");
        assert_eq!(world.call(call("adder", "a", "show", "")).unwrap(), "", "{at}");
    }
}

/// E7, A3
#[test]
fn a_tick_is_one_commit_and_stopping_keeps_what_it_made() {
    let latch = Latch::default();
    let wait = latch.clone();
    let toy = adder()
        .action("start", |turn| {
            Next::Commit(Commit { head: Some("on".into()), alarm: alarm_in(turn.now, SECOND), ..turn.sets(0) })
        })
        .own("stop", |turn| Next::Commit(Commit { head: Some("off".into()), alarm: Change::Clear, ..turn.says("") }))
        .lists(|entity, now| {
            let due = entity.alarm.is_some_and(|alarm| alarm <= now) || entity.head == "off" && entity.active;
            let work = Work { borrow: Borrow::Exclusive, ..Work::new(format!("tick/{}", number(&entity.state))) };
            if due { vec![work] } else { Vec::new() }
        })
        .runs(move |entity, _, _| {
            let (latch, total) = (wait.clone(), entity.map_or(0, |entity| number(&entity.state)));
            Box::pin(async move {
                latch.wait().await;
                drystone_tests::world::toys::ok(total + 1)
            })
        })
        .otherwise(|turn| match (turn.input, settles(turn)) {
            (Input::Done { .. }, Next::Commit(commit)) if turn.entity.is_some_and(|entity| entity.head == "on") => {
                Next::Commit(Commit { alarm: alarm_in(turn.now, SECOND), ..commit })
            }
            (_, next) => next,
        });
    let world = World::of(toy.alone());
    world.call(call("adder", "a", "start", "")).unwrap();
    let before = world.store.counts();
    (0..3).for_each(|_| latch.let_one_through());
    world.advance(3 * SECOND);
    assert_eq!((world.state("a").as_str(), world.store.counts().since(before).writes), ("3", 3));
    world.advance(SECOND);
    world.call(call("adder", "a", "stop", "")).unwrap();
    assert!(world.entity("a").unwrap().key == key("a"));
    world.advance(60 * SECOND);
    assert_eq!(world.entity("a").unwrap().alarm, None);
}

/// E3
#[test]
fn work_waits_for_the_struct_until_what_other_work_left_in_it_is_taken() {
    let toy = adder()
        .own("list", |turn| Next::Commit(Commit { head: Some(turn.body().into()), ..turn.says("") }))
        .lists(|entity, _| {
            let head = String::from_utf8_lossy(&entity.head).into_owned();
            let work = |id: &str| Work { borrow: Borrow::Exclusive, ..Work::new(id.to_owned()) };
            head.split_whitespace().map(work).collect()
        })
        .runs(|entity, _, _| {
            let total = entity.map_or(0, |entity| number(&entity.state));
            Box::pin(std::future::ready(drystone_tests::world::toys::ok(total + 1)))
        })
        .otherwise(|turn| {
            let Input::Done { work, .. } = turn.input else { return settles(turn) };
            // Each end reads rows of its own first.
            let range = Range::first(work.to_string(), 1);
            let (Some(_), Next::Commit(commit)) = (turn.rows.get(&range), settles(turn)) else {
                return Next::Read(vec![range]);
            };
            let head = String::from_utf8_lossy(&turn.entity.expect("it has work").head).into_owned();
            let left: Vec<_> = head.split_whitespace().filter(|word| *word != work.as_str()).collect();
            Next::Commit(Commit { head: Some(left.join(" ").into()), ..commit })
        });
    let world = World::of(toy.alone());
    world.call(add("a", 1)).unwrap();
    world.call(call("adder", "a", "list", "one two three")).unwrap();
    world.advance(SECOND);
    assert_eq!(world.state("a"), "4");
}
