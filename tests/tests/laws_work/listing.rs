//! Listed work starts, ends and is dropped (W).

use super::*;

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
fn work_that_is_no_longer_listed_is_dropped_with_its_end() {
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
fn work_runs_again_under_the_same_id_after_a_crash() {
    let (latch, log) = (Latch::default(), Log::default());
    let world = World::of(jobs(&latch, &log, |work| work).alone());
    world.call(call("adder", "a", "list", "one")).unwrap();
    latch.open();
    let report = world.restart();
    assert_eq!((report.unfinished, report.unclean), (1, 1));
    assert_eq!(log.take(), ["one begins", "one begins", "one ends: ok"]);
}

/// E3
#[test]
fn calls_do_not_starve_listed_work_that_borrows_exclusively() {
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
fn work_waits_until_what_other_work_left_is_taken() {
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
