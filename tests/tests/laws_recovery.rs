//! Opening a store, shutting down, losing the store, and losing a lease.

use std::time::Duration;

use drystone_runtime::{Commit, DropLane, Error, Next, Range, Row, To, Work, kernel::Report, store::StoreErrorKind};
use drystone_tests::world::{
    Fault, Latch, Log, Moment, World,
    toys::{Toy, add, adder, alarm_in, call, done, message},
};

const SECOND: Duration = Duration::from_secs(1);

/// Works as long as its record says so; has alarms and messages.
fn busy(latch: &Latch, log: &Log) -> Toy {
    let (latch, log) = (latch.clone(), log.clone());
    adder()
        .own("work", |turn| Next::Commit(Commit { head: Some("work".into()), ..turn.says("") }))
        .own("alarm", |turn| {
            Next::Commit(Commit { alarm: alarm_in(turn.now, SECOND), head: Some("".into()), ..turn.says("") })
        })
        .own("park", |_| Next::Park("as asked".to_owned()))
        .own("send", |turn| {
            Next::Commit(Commit {
                send: vec![message("adder", "to", "hang", "")],
                head: Some("".into()),
                ..turn.says("")
            })
        })
        .action("hang", |_| Next::Run(Work::new("hang")))
        .lists(|entity, _| if entity.head == "work" { vec![Work::new("job/1")] } else { Vec::new() })
        .runs(move |_, work, _| {
            let (latch, log, id) = (latch.clone(), log.clone(), work.id.clone());
            log.say(format!("{id} begins"));
            Box::pin(async move {
                latch.wait().await;
                done()
            })
        })
        .otherwise(|turn| match turn.input {
            drystone_runtime::Input::Done { .. } => {
                Next::Commit(Commit { head: Some("done".into()), ..Commit::default() })
            }
            drystone_runtime::Input::Alarm { .. } => {
                Next::Commit(Commit { alarm: drystone_runtime::Change::Clear, ..Commit::default() })
            }
            _ => Next::nothing(),
        })
}

fn world() -> (World, Latch, Log) {
    let (latch, log) = (Latch::default(), Log::default());
    (World::of(busy(&latch, &log).alone()), latch, log)
}

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

/// R2
#[test]
fn work_that_outlasts_the_limit_is_given_back_and_nothing_counts_as_a_crash() {
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

/// R3
#[test]
fn of_two_kernels_over_one_store_one_owns_the_key_and_the_other_says_who() {
    let world = World::with(adder().alone(), |options| options.address = "here:1".to_owned());
    let other = world.second(adder().alone(), |_| {});
    assert_eq!(other.report.partitions, 0);
    let refused = other.ask_call(add("a", 1)).text();
    assert!(matches!(refused, Err(Error::NotOwner { owner: Some(owner), .. }) if owner == "here:1"));
    assert_eq!(world.call(add("a", 1)).unwrap(), "1");
    other.kill();
}

/// R3
#[test]
fn a_worker_that_slept_over_its_lease_writes_nothing_and_starts_nothing() {
    let (world, latch, log) = world();
    world.call(add("a", 1)).unwrap();
    world.call(call("adder", "w", "work", "")).unwrap();
    log.take();
    world.freeze(true);
    let late = world.ask(add("a", 10));
    let other = world.second(busy(&latch, &log).alone(), |_| {});
    world.advance(60 * SECOND);
    assert_eq!(other.ask_call(add("a", 1)).text().unwrap(), "2");
    assert_eq!(log.take(), ["job/1 begins"], "the new owner's");
    latch.open();
    world.freeze(false);
    world.advance(30 * SECOND);
    assert!(matches!(late.text(), Err(Error::NotOwner { .. } | Error::Deadline { .. })));
    assert_eq!((world.state("a"), log.take().len()), ("2".into(), 0));
    assert!(matches!(world.call(add("a", 1)), Err(Error::NotOwner { .. })));
    other.kill();
}

/// R3, fA9
#[test]
fn a_batch_of_a_worker_that_was_replaced_is_refused_by_the_store() {
    let (world, latch, log) = world();
    world.call(add("a", 1)).unwrap();
    world.store.stall();
    let late = [world.ask(add("untouched", 10)), world.ask(add("a", 10))];
    world.freeze(true);
    let other = world.second(busy(&latch, &log).alone(), |_| {});
    world.advance(60 * SECOND);
    world.store.go_on();
    assert_eq!(other.ask_call(add("a", 1)).text().unwrap(), "2");
    world.freeze(false);
    world.advance(SECOND);
    assert!(late.iter().all(|caller| caller.text().is_err()));
    assert_eq!(
        (world.state("a"), world.entity("untouched")),
        ("2".into(), None),
        "also where no version is in its way"
    );
    other.kill();
}

/// Makes a commit, and loses and regains its partition before the store's answer arrives. Returns whether
/// the next call is answered by that answer while its own commit still waits, and the final answer of that
/// call.
fn answered_by_another_verdict() -> (bool, String) {
    // There must be enough threads to take the next batch before the verdict of the last one is read.
    let world = World::with(adder().alone(), |options| (options.settled_here_max, options.turn_threads) = (0, 4));
    world.call(add("a", 1)).expect("it is the owner");
    let heard = world.store.hold_answer();
    let first = world.ask(add("a", 10));
    world.store.end_leases();
    world.second(adder().alone(), |_| {}).kill();
    world.store.end_leases();
    world.advance(10 * SECOND);
    assert!(matches!(first.text(), Err(Error::Unknown { .. })));
    let second = world.ask(add("a", 100));
    world.store.stall();
    heard.open();
    world.settle();
    let is_early = !second.waits();
    assert_eq!(world.state("a"), "11", "the second is not durable");
    world.store.go_on();
    world.settle();
    (is_early, second.text().expect("it is the owner again"))
}

/// E4, R3
#[test]
fn what_the_store_says_of_an_earlier_epoch_is_not_taken_for_its_word_on_the_next_commit() {
    assert_eq!(answered_by_another_verdict(), (false, "111".to_owned()));
}

/// E4
#[cfg(feature = "planted")]
#[test]
fn it_is_found_if_a_verdict_is_taken_for_that_on_another_commit() {
    drystone_runtime::plant(Some(drystone_runtime::Bug::VerdictOfAnother));
    let (is_early, _) = answered_by_another_verdict();
    drystone_runtime::plant(None);
    assert!(is_early);
}

/// A toy with two rows until its work has ended. The work reads the rows once the latch is open, and logs
/// how many there are.
fn reader(latch: &Latch, log: &Log) -> Toy {
    let (latch, log) = (latch.clone(), log.clone());
    let row = |key: &'static str| Row { lane: "items".into(), key: key.into(), body: "".into() };
    let gone = || vec![DropLane { lane: "items".into(), held: false }];
    adder()
        .own("put", move |turn| {
            Next::Commit(Commit { head: Some("work".into()), put: vec![row("1"), row("2")], ..turn.says("") })
        })
        .lists(|entity, _| if entity.head == "work" { vec![Work::new("job/1")] } else { Vec::new() })
        .runs(move |_, _, cx| {
            let (latch, log) = (latch.clone(), log.clone());
            Box::pin(async move {
                latch.wait().await;
                let rows = cx.rows(Range::first("items", 10)).await.expect("the store is well");
                log.say(format!("{} rows", rows.len()));
                done()
            })
        })
        .otherwise(move |_| Next::Commit(Commit { head: Some("done".into()), drop: gone(), ..Commit::default() }))
}

/// Replaces a worker that does not notice; the other worker does its work. Returns what the first worker's
/// own code then reads, and whether the worker has noticed by then.
fn reads_after_it_was_replaced() -> (Vec<String>, bool) {
    let (latch, open, log, others) = (Latch::default(), Latch::default(), Log::default(), Log::default());
    open.open();
    let world = World::of(reader(&latch, &log).alone());
    world.call(call("adder", "w", "put", "")).expect("it is the owner");
    world.store.end_leases();
    let other = world.second(reader(&open, &others).alone(), |_| {});
    world.settle();
    let head = world.entity("w").expect("it is bound").head;
    assert_eq!((others.take(), &head[..]), (vec!["2 rows".to_owned()], &b"done"[..]));
    latch.open();
    world.settle();
    let has_heard = matches!(world.call(add("a", 1)), Err(Error::NotOwner { .. }));
    other.kill();
    (log.take(), has_heard)
}

/// R3, B4
#[test]
fn work_of_a_worker_that_was_replaced_is_not_given_what_is_left_of_its_rows() {
    assert_eq!(reads_after_it_was_replaced(), (Vec::new(), true));
}

/// A toy with a row that a turn can count, and that can be destroyed.
fn counted() -> Toy {
    let row = || Row { lane: "items".into(), key: "1".into(), body: "".into() };
    adder()
        .own("put", move |turn| Next::Commit(Commit { head: Some("kept".into()), put: vec![row()], ..turn.says("") }))
        .own("count", |turn| match turn.rows.get(&Range::first("items", 10)) {
            Some(rows) => Next::Commit(turn.says(rows.len())),
            None => Next::Read(vec![Range::first("items", 10)]),
        })
        .own("end", |turn| Next::Commit(Commit { destroy: true, ..turn.says("") }))
}

/// R3
#[test]
fn an_owner_whose_entity_another_has_destroyed_gives_its_partition_up_at_once() {
    let world = World::of(counted().alone());
    world.call(call("adder", "w", "put", "")).unwrap();
    world.store.end_leases();
    let other = world.second(counted().alone(), |_| {});
    other.ask_call(call("adder", "w", "end", "")).text().unwrap();
    // A worker that reads again and again would die of this.
    world.store.kills_at(20, Moment::Before);
    let counted = world.ask(call("adder", "w", "count", ""));
    assert!(world.store.spares(), "it asks the store without end");
    assert!(matches!(counted.text(), Err(Error::NotOwner { .. })));
    assert!(matches!(world.call(add("a", 1)), Err(Error::NotOwner { .. })));
    other.kill();
}

/// B4
#[cfg(feature = "planted")]
#[test]
fn it_is_found_if_rows_are_given_to_work_unchecked() {
    drystone_runtime::plant(Some(drystone_runtime::Bug::RowsUnchecked));
    let (read, _) = reads_after_it_was_replaced();
    drystone_runtime::plant(None);
    assert_eq!(read, ["0 rows"]);
}

/// R3
#[test]
fn a_lease_is_taken_over_when_its_worker_is_gone_and_work_goes_on_there() {
    let (world, latch, log) = world();
    world.call(call("adder", "w", "work", "")).unwrap();
    let other = world.second(busy(&latch, &log).alone(), |_| {});
    world.freeze(true);
    latch.open();
    world.advance(25 * SECOND);
    assert_eq!((&world.entity("w").unwrap().head[..], log.take().len()), (&b"done"[..], 2));
    other.kill();
}

/// R4
#[test]
fn while_the_store_is_down_calls_wait_to_their_deadline_and_go_on_by_themselves() {
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

/// R4
#[test]
fn a_full_store_refuses_writes_at_once_goes_on_reading_and_resumes_by_itself() {
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
fn an_alarm_that_is_due_while_the_store_is_down_rings_when_it_is_back() {
    let (world, ..) = world();
    world.call(call("adder", "r", "alarm", "")).unwrap();
    world.store.breaks(Some(Fault::Down));
    world.advance(10 * SECOND);
    assert!(world.entity("r").unwrap().alarm.is_some());
    world.store.breaks(None);
    world.advance(10 * SECOND);
    assert_eq!(world.entity("r").unwrap().alarm, None);
}

/// R4, R3
#[test]
fn after_an_outage_longer_than_its_lease_a_lone_worker_goes_on() {
    let (world, latch, log) = world();
    world.call(call("adder", "w", "work", "")).unwrap();
    world.store.breaks(Some(Fault::Down));
    world.advance(60 * SECOND);
    assert!(world.call(add("a", 1)).is_err());
    world.store.breaks(None);
    latch.open();
    world.advance(10 * SECOND);
    assert_eq!(world.call(add("a", 1)).unwrap(), "1");
    assert_eq!(&world.entity("w").unwrap().head[..], b"done");
    assert!(log.take().len() <= 2);
}
