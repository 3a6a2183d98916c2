//! Two workers and one key (R).

use super::*;

/// R3: The other names the owner.
#[test]
fn of_two_kernels_over_one_store_one_owns_the_key() {
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
fn the_store_refuses_a_batch_of_a_replaced_worker() {
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
fn a_verdict_of_an_earlier_epoch_does_not_settle_a_commit() {
    assert_eq!(answered_by_another_verdict(), (false, "111".to_owned()));
}

/// E4
#[cfg(feature = "planted")]
#[test]
fn it_is_found_if_a_verdict_settles_another_commit() {
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
fn work_of_a_replaced_worker_does_not_get_the_remaining_rows() {
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
fn an_owner_releases_its_partition_when_another_destroyed_its_entity() {
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

/// R3: The work resumes there.
#[test]
fn a_lease_is_taken_over_when_its_worker_is_gone() {
    let (world, latch, log) = world();
    world.call(call("adder", "w", "work", "")).unwrap();
    let other = world.second(busy(&latch, &log).alone(), |_| {});
    world.freeze(true);
    latch.open();
    world.advance(25 * SECOND);
    assert_eq!((&world.entity("w").unwrap().head[..], log.take().len()), (&b"done"[..], 2));
    other.kill();
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
