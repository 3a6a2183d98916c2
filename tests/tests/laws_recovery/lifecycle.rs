//! Opening, shutting down and resuming (R).

use super::*;

/// R1
#[test]
fn opening_reports_what_it_found_and_resumes_it() {
    let (world, latch, log) = world();
    world.call(call("adder", "w", "work", "")).unwrap();
    world.call(call("adder", "r", "alarm", "")).unwrap();
    world.call(add("p", 1)).unwrap();
    assert!(world.call(call("adder", "p", "park", "")).is_err());
    world.call(call("adder", "s", "send", "")).unwrap();
    world.crash();
    world.advance(10 * SECOND);
    log.take();
    let report = world.open(busy(&latch, &log).alone(), |_| {});
    let expected = Report { partitions: 1, unclean: 1, overdue: 1, unfinished: 1, inboxes: 1, parked: 1 };
    assert_eq!(report, expected);
    let mut began = log.take();
    began.sort();
    assert_eq!(
        (began, world.entity("r").unwrap().alarm),
        (vec!["hang begins".to_owned(), "job/1 begins".to_owned()], None)
    );
}

/// R2
#[test]
fn shutdown_lets_work_end_and_takes_its_end() {
    let (world, latch, _) = world();
    world.call(call("adder", "a", "work", "")).unwrap();
    let asked = world.ask(call("adder", "b", "hang", ""));
    latch.open();
    world.shut_down(5 * SECOND);
    assert_eq!((asked.text().unwrap().as_str(), &world.entity("a").unwrap().head[..]), ("", &b"done"[..]));
}

/// R2: It does not count as a crash.
#[test]
fn work_that_outlasts_the_shutdown_limit_is_given_back() {
    let (world, latch, log) = world();
    world.call(call("adder", "a", "work", "")).unwrap();
    world.shut_down(5 * SECOND);
    assert!(matches!(world.call(add("b", 1)), Err(Error::Closing)));
    assert!(world.entity("a").unwrap().active);
    latch.open();
    let report = world.restart();
    assert_eq!((report.unclean, report.unfinished), (0, 1));
    let entity = world.entity("a").unwrap();
    assert_eq!((&entity.head[..], entity.crashes.deaths(), log.take().len()), (&b"done"[..], 0, 2));
}

/// R2
#[test]
fn no_alarm_rings_and_no_call_begins_after_shutdown_has_begun() {
    let (world, _, log) = world();
    world.call(call("adder", "a", "work", "")).unwrap();
    world.call(call("adder", "r", "alarm", "")).unwrap();
    log.take();
    let kernel = world.kernel();
    let closing = world.kernel();
    let shutdown = world.ask_future(async move { closing.shutdown(10 * SECOND).await });
    world.settle();
    assert!(matches!(world.call(add("b", 1)), Err(Error::Closing)));
    world.advance(20 * SECOND);
    assert!(shutdown.take().is_some_and(|ended| ended.is_ok()));
    assert_eq!((kernel.counts().alarms, log.take().len()), (0, 0));
}
