//! Timeouts and silence of work (W).

use super::*;

/// W3, fB22: no thread was free to take the end, and time spent in the store had moved the deadline.
/// However late its end arrives.
#[test]
fn code_that_ended_in_time_has_not_timed_out() {
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
fn overlapping_or_dropped_waits_for_rows_do_not_move_a_timeout() {
    let (latch, log) = (Latch::default(), Log::default());
    let (timed, lasts) = (|work| Work { timeout: Some(5 * SECOND), ..work }, latch.clone());
    let toy = jobs(&latch, &log, timed).runs(move |_, _, cx| {
        let latch = lasts.clone();
        Box::pin(async move {
            let range = || Range::first("items", 1);
            let (one, other) = tokio::join!(cx.rows(range()), cx.rows(range()));
            assert!(one.is_ok() && other.is_ok());
            let mut dropped = Box::pin(cx.rows(range()));
            poll_fn(|waker| {
                let _ = dropped.as_mut().poll(waker);
                Poll::Ready(())
            })
            .await;
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

/// W10: A sign of life does not.
#[test]
fn silence_beyond_its_limit_ends_an_attempt() {
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
