//! A store that is down, full, or whose answer is lost (R).

use super::*;

/// R4: They resume by themselves.
#[test]
fn calls_wait_for_the_store_until_their_deadline() {
    let world = World::of(adder().alone());
    world.call(add("a", 1)).unwrap();
    world.store.breaks(Some(Fault::Down));
    let short = world.ask(add("a", 10).deadline(2 * SECOND));
    let long = world.ask(add("b", 5).deadline(8 * SECOND));
    world.advance(2 * SECOND);
    let refused = short.text().unwrap_err();
    assert!(matches!(&refused, Error::Store(error) if error.kind() == StoreErrorKind::Unavailable), "{refused:?}");
    assert!(refused.is_retryable() && long.waits());
    assert_eq!(world.call(call("adder", "a", "get", "")).unwrap(), "1", "reads go on where they can");
    world.store.breaks(None);
    world.advance(5 * SECOND);
    assert_eq!(long.text().unwrap(), "5");
    assert_eq!(world.state("a"), "11", "a call that had begun may still take effect");
    assert_eq!(world.call(add("a", 1)).unwrap(), "12");
}

/// R4: Reads are still answered.
#[test]
fn a_full_store_refuses_writes_and_resumes_by_itself() {
    let world = World::of(adder().alone());
    world.call(add("a", 1)).unwrap();
    world.store.breaks(Some(Fault::Full));
    let first = world.ask(add("a", 1).deadline(4 * SECOND));
    world.advance(Duration::from_millis(100));
    let refused = world.call(add("b", 1)).unwrap_err();
    assert!(matches!(&refused, Error::Store(error) if error.kind() == StoreErrorKind::Full));
    assert!(refused.is_retryable());
    assert_eq!(world.call(call("adder", "a", "get", "")).unwrap(), "1");
    world.store.breaks(None);
    world.advance(3 * SECOND);
    assert_eq!((first.text().unwrap(), world.call(add("b", 1)).unwrap()), ("2".into(), "1".into()));
}

/// R4, E8
#[test]
fn a_destroying_commit_that_happens_after_it_was_looked_for_answers_everybody() {
    let told = || vec![(To::All("line".into()), Ok("ended".into()))];
    let toy = adder().own("wait", |_| Next::Commit(Commit { hold: Some("line".into()), ..Commit::default() })).own(
        "end",
        move |turn| {
            let own = turn.says("");
            Next::Commit(Commit { destroy: true, replies: [told(), own.replies].concat(), ..Commit::default() })
        },
    );
    let world = World::of(toy.alone());
    world.call(add("a", 1)).unwrap();
    let waits = world.ask(call("adder", "a", "wait", ""));
    world.store.delays_commit();
    let ends = world.ask(call("adder", "a", "end", ""));
    world.advance(SECOND);
    assert_eq!(world.entity("a"), None);
    assert_eq!((waits.text().unwrap(), ends.text().unwrap()), ("ended".to_owned(), String::new()));
}

/// R4
#[test]
fn a_commit_of_unknown_outcome_is_read_back_and_happens_once() {
    for fault in [Fault::LostAnswer, Fault::LostCommit] {
        let world = World::of(adder().alone());
        for (verb, expected) in [("add", "1"), ("add", "2"), ("destroy", "gone"), ("add", "1")] {
            world.store.breaks(Some(fault));
            let asked = world.ask(call("adder", "a", verb, 1));
            world.advance(SECOND);
            assert_eq!(asked.text().unwrap(), expected, "{fault:?} {verb}");
        }
        assert_eq!(world.state("a"), "1");
    }
}

/// R4
#[test]
fn an_alarm_during_an_outage_rings_when_the_store_is_back() {
    let (world, ..) = world();
    world.call(call("adder", "r", "alarm", "")).unwrap();
    world.store.breaks(Some(Fault::Down));
    world.advance(10 * SECOND);
    assert!(world.entity("r").unwrap().alarm.is_some());
    world.store.breaks(None);
    world.advance(10 * SECOND);
    assert_eq!(world.entity("r").unwrap().alarm, None);
}
