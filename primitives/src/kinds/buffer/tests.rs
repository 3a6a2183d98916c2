//! The laws of a buffer, turn by turn.

use drystone_runtime::Millis;

use super::*;
use crate::{Timestamp, author::TakenBy, decode, kind::harness::World};

const SECOND: u64 = 1_000;

fn buffer(options: Options) -> World<Options> {
    World::new(options.checked())
}

fn threes() -> World<Options> {
    buffer(Options::NEW.max_items(3).max_wait("5s").max_attempts(2).backoff("2s"))
}

fn add(world: &mut World<Options>, item: u64) -> Added {
    world.ask("add", &format!("[{item}]"))
}

fn add_all(world: &mut World<Options>, items: std::ops::RangeInclusive<u64>) {
    for item in items {
        add(world, item);
    }
}

fn batch(world: &World<Options>) -> Batch<u64> {
    Batch::take(world.given(&world.running[0])).unwrap()
}

fn full(world: &mut World<Options>) -> Full {
    match world.call("add", "[\"0123456789\"]") {
        Err(Stop::Failed(error)) => decode(&error).unwrap(),
        other => panic!("{other:?}"),
    }
}

fn told(world: &World<Options>) -> Vec<&str> {
    world.told.iter().map(|told| told.name.as_str()).collect()
}

/// B1, B2
#[test]
fn a_batch_waits_for_its_first_item_and_no_longer() {
    let mut world = threes();
    let at = |seconds: i64| Timestamp::from_millis(1_000_000 + seconds * 1_000);
    assert_eq!(add(&mut world, 1), Added { buffered: 1, flushes_at: at(5) });
    world.pass(3 * SECOND);
    assert_eq!(add(&mut world, 2), Added { buffered: 2, flushes_at: at(5) });
    world.pass(1_999);
    assert!(world.running.is_empty());
    world.pass(1);
    let flushing = batch(&world);
    assert_eq!((flushing.reason, flushing.items, flushing.number), (Reason::Deadline, vec![1, 2], 1));
}

/// B1
#[test]
fn with_reset_on_add_it_waits_for_the_last() {
    let mut world = buffer(Options::NEW.max_wait("5s").reset_on_add());
    for item in 0..4 {
        add(&mut world, item);
        world.pass(3 * SECOND);
    }
    assert!(world.running.is_empty());
    world.pass(2 * SECOND);
    assert_eq!(batch(&world).items, [0, 1, 2, 3]);
}

/// B1
#[test]
fn an_item_that_comes_before_a_late_alarm_is_of_the_next_batch() {
    let mut world = threes();
    add(&mut world, 1);
    world.lag(6 * SECOND);
    assert_eq!(add(&mut world, 2).buffered, 1);
    assert_eq!((batch(&world).reason, batch(&world).items), (Reason::Deadline, vec![1]));
}

/// B3
#[test]
fn capacity_closes_the_batch_in_the_adds_own_commit() {
    let mut world = threes();
    add_all(&mut world, 1..=2);
    let before = world.commits;
    assert_eq!(add(&mut world, 3), Added { buffered: 3, flushes_at: world.now.into() });
    assert_eq!((world.commits, world.alarm()), (before + 1, None));
    world.crash(SECOND);
    assert_eq!((batch(&world).reason, batch(&world).items), (Reason::Capacity, vec![1, 2, 3]));
}

/// B4
#[test]
fn items_stay_until_the_flush_succeeded_and_adds_go_on() {
    let mut world = threes();
    add_all(&mut world, 1..=5);
    let id = batch(&world).id.clone();
    assert_eq!((id.as_str(), batch(&world).items), ("thing-7.00000000001-flush/1", vec![1, 2, 3]));
    assert_eq!(world.rows().count(), 5);
    world.fail();
    world.pass(2 * SECOND);
    assert_eq!((batch(&world).id, batch(&world).attempt), (id, 2));
    world.end(Ended::Ok);
    assert_eq!((world.rows().count(), world.status().open), (2, 2));
    assert_eq!(told(&world), ["buffer.failed", "buffer.flushed"]);
}

/// B5
#[test]
fn a_failing_batch_lets_the_next_one_go() {
    let mut world = threes();
    add_all(&mut world, 1..=9);
    world.fail();
    assert_eq!(batch(&world).number, 2);
    // The pause of the first batch ends while the second is in flight, which is not disturbed.
    world.pass(2 * SECOND);
    assert_eq!(batch(&world).number, 2);
    world.end(Ended::Ok);
    assert_eq!(batch(&world).number, 3);
    world.end(Ended::Ok);
    assert_eq!((batch(&world).number, batch(&world).attempt), (1, 2));
}

/// B5
#[test]
fn with_strict_order_it_holds_them_up() {
    let mut world = buffer(Options::NEW.max_items(3).backoff("2s").strict_order());
    add_all(&mut world, 1..=6);
    world.fail();
    assert!(world.running.is_empty());
    assert_eq!(world.alarm(), Some(Millis(1_002_000)));
    world.pass(2 * SECOND);
    assert_eq!((batch(&world).number, batch(&world).attempt), (1, 2));
    world.end(Ended::Ok);
    assert_eq!(batch(&world).number, 2);
}

/// B5, A3, D2
#[test]
fn exhausted_it_is_a_dead_letter_that_holds_its_items_and_the_buffer_goes_on() {
    let mut world = threes();
    add_all(&mut world, 1..=3);
    world.fail();
    world.pass(2 * SECOND);
    world.fail();
    assert_eq!((world.rows().count(), world.held().count()), (0, 3));
    let letter: serde_json::Value = serde_json::from_slice(&world.sent[0].body).unwrap();
    let expected = serde_json::json!([{
        "definition": "thing", "key": "a", "key_bytes": [97], "space": "app", "kind": "buffer", "entity": 7,
        "attempts": 2, "error": { "message": "no" }, "died_at": 1_002_000,
        "of": 7, "lane": "batch/1", "mark": "00000000001", "count": 3, "bytes": 3, "reason": "capacity",
        "errors": [
            { "error": { "message": "no" }, "at": 1_000_000 },
            { "error": { "message": "no" }, "at": 1_002_000 },
        ],
    }]);
    assert_eq!(letter, expected);
    assert_eq!(told(&world), ["buffer.failed", "buffer.dead"]);
    assert_eq!((world.status().dead, world.status().errors.len()), (Sum { batches: 1, items: 3 }, 2));
}

/// D3
#[test]
fn a_replayed_batch_keeps_its_id_and_lets_its_items_go_when_it_is_flushed() {
    let mut world = buffer(Options::NEW.max_items(2).max_attempts(1));
    add_all(&mut world, 1..=2);
    let id = batch(&world).id.clone();
    world.fail();
    add(&mut world, 3);
    let letter = String::from_utf8(world.sent[0].body.to_vec()).unwrap();
    assert_eq!(world.ask::<u64>("replay_batch", &letter), 3);
    let replayed = batch(&world);
    assert_eq!((replayed.id, replayed.reason, replayed.items), (id, Reason::Replay, vec![1, 2]));
    add(&mut world, 4);
    world.end(Ended::Ok);
    assert_eq!((world.held().count(), batch(&world).items), (0, vec![3, 4]));
}

/// D3
#[test]
fn a_replay_that_dies_is_a_letter_again_and_one_that_is_destroyed_is_let_go() {
    let mut world = buffer(Options::NEW.max_items(1).max_attempts(1));
    add(&mut world, 1);
    world.fail();
    let letter = String::from_utf8(world.sent[0].body.to_vec()).unwrap();
    world.ask::<u64>("replay_batch", &letter);
    world.fail();
    assert_eq!((world.sent.len(), world.held().count()), (2, 1));
    let letter = String::from_utf8(world.sent[1].body.to_vec()).unwrap();
    assert!(letter.contains("\"of\":7,\"lane\":\"batch/1\""), "{letter}");
    world.ask::<u64>("replay_batch", &letter);
    world.destroy();
    assert_eq!(world.held().count(), 0);
}

/// B6
#[test]
fn flush_answers_when_its_batch_has_ended() {
    let mut world = threes();
    add(&mut world, 1);
    assert!(matches!(world.call("flush", "[]"), Ok(Answer::Held(name)) if name == "batch/1"));
    assert_eq!(batch(&world).reason, Reason::Manual);
    // No batch is open, so a second caller waits for the same batch.
    assert!(matches!(world.call("flush", "[]"), Ok(Answer::Held(name)) if name == "batch/1"));
    world.fail();
    assert!(world.answered.is_empty());
    world.pass(2 * SECOND);
    world.end(Ended::Ok);
    let answer: Flushed = decode(&world.answered[0].1).unwrap();
    assert_eq!(answer, Flushed { count: 1, result: FlushResult::Flushed });
}

/// B6
#[test]
fn flush_of_nothing_is_zero_and_calls_nothing() {
    let mut world = threes();
    world.start();
    let before = world.commits;
    assert_eq!(world.ask::<Flushed>("flush", "[]"), Flushed { count: 0, result: FlushResult::Flushed });
    assert_eq!((world.commits, world.started.len()), (before, 0));
}

/// B6
#[test]
fn clear_drops_what_is_not_in_flight_and_tells_those_who_wait() {
    let mut world = threes();
    add_all(&mut world, 1..=7);
    assert!(matches!(world.call("flush", "[]"), Ok(Answer::Held(name)) if name == "batch/3"));
    add(&mut world, 8);
    assert_eq!(world.ask::<u64>("clear", "[]"), 5);
    assert_eq!(batch(&world).items, [1, 2, 3]);
    assert_eq!(world.rows().count(), 3);
    let cleared: Flushed = decode(&world.answered.last().unwrap().1).unwrap();
    assert_eq!(cleared, Flushed { count: 1, result: FlushResult::Cleared });
    assert_eq!(add(&mut world, 9).buffered, 1);
    assert_eq!(told(&world), ["buffer.cleared"]);
}

/// B7
#[test]
fn what_is_folded_is_one_value_that_never_was_a_row_before_it_was_closed() {
    let sum =
        |folded: Option<&[u8]>, item: &[u8]| crate::author::fold(folded, item, |sum: &mut u64, item: u64| *sum += item);
    let mut world = World::folding(Options::NEW.max_items(3).checked(), sum);
    add_all(&mut world, 1..=2);
    assert_eq!(world.rows().count(), 0);
    assert_eq!(add(&mut world, 3).buffered, 3);
    let folded = Folded::<u64>::take(world.given(&world.running[0])).unwrap();
    assert_eq!((folded.value, folded.count, folded.attempt, folded.number), (6, 3, 1, 1));
    add(&mut world, 4);
    assert_eq!(world.ask::<u64>("clear", "[]"), 1);
    world.end(Ended::Ok);
    assert_eq!((world.rows().count(), world.entity.unwrap().status.word.as_str()), (0, "empty"));
}

/// B7, E11
#[test]
fn items_that_were_added_before_the_code_folded_are_a_batch_of_their_own() {
    let mut world = threes();
    add(&mut world, 1);
    let folding = World::folding(Options::NEW, |folded, item| {
        crate::author::fold(folded, item, |sum: &mut u64, item: u64| *sum += item)
    });
    world.author = folding.author;
    assert_eq!(add(&mut world, 2).buffered, 1);
    assert_eq!(batch(&world).items, [1]);
}

/// B8
#[test]
fn beyond_its_caps_it_is_full_and_loses_nothing() {
    let mut world = buffer(Options::NEW.max_items(2).max_stored(3));
    add_all(&mut world, 1..=3);
    assert_eq!(full(&mut world), Full { what: Capped::Items, limit: 3 });
    world.end(Ended::Ok);
    assert_eq!(add(&mut world, 4).buffered, 2);
    let mut world = buffer(Options::NEW.max_stored_bytes(15));
    assert_eq!(world.ask::<Added>("add", "[\"0123456789\"]").buffered, 1);
    assert_eq!(full(&mut world), Full { what: Capped::Bytes, limit: 15 });
}

/// B8, K3, K6
#[test]
fn batches_are_capped_too_so_that_the_record_stays_small_and_clear_is_one_commit() {
    let mut world = buffer(Options::NEW.max_items(1).strict_order());
    // The last item is in the open batch, which has no room to be closed.
    add_all(&mut world, 0..=record::CLOSED_MAX as u64);
    assert_eq!(full(&mut world), Full { what: Capped::Batches, limit: record::CLOSED_MAX as u64 });
    assert!(world.entity.as_ref().unwrap().head.len() < 100 * 1024);
    assert!(matches!(world.call("flush", "[]"), Ok(Answer::Held(_))));
    world.end(Ended::Ok);
    assert_eq!((world.status().open, world.status().closed.batches), (0, record::CLOSED_MAX as u64));
    // A batch that is to be flushed and had no room yet is cleared like any other.
    add(&mut world, 7);
    assert!(matches!(world.call("flush", "[]"), Ok(Answer::Held(_))));
    assert_eq!(world.ask::<u64>("clear", "[]"), record::CLOSED_MAX as u64);
    let (name, answer) = world.answered.last().unwrap();
    assert_eq!((name.as_str(), decode::<Flushed>(answer).unwrap().result), ("batch/502", FlushResult::Cleared));
}

/// E11
#[test]
fn another_capacity_and_another_wait_hold_at_once() {
    let mut world = threes();
    add_all(&mut world, 1..=2);
    world.change(Options::NEW.max_items(9).max_wait("1s").checked());
    assert_eq!(world.alarm(), Some(Millis(1_001_000)));
    world.change(Options::NEW.max_items(2).checked());
    assert_eq!(batch(&world).items, [1, 2]);
}

/// A7
#[test]
fn an_empty_buffer_has_no_alarm_and_rests() {
    let mut world = threes();
    add(&mut world, 1);
    world.ask::<u64>("clear", "[]");
    assert_eq!((world.alarm(), world.entity.as_ref().unwrap().status.word.as_str()), (None, "empty"));
    world.crash(100 * SECOND);
    assert!(world.started.is_empty());
}

/// E9
#[test]
fn an_item_that_the_flush_cannot_take_is_refused_and_nothing_is_stored() {
    let mut world = threes();
    world.author.check_item = <Batch<u64> as TakenBy<flush>>::check_item;
    assert!(matches!(world.call("add", "[\"one\"]"), Err(Stop::Malformed(_))));
    assert!(matches!(world.call("add", "[1, 2]"), Err(Stop::Malformed(_))));
    assert!(world.entity.is_none());
}

#[test]
fn options_that_do_not_fit_together_panic_and_so_do_not_compile() {
    let panics = |options: fn() -> Options| assert!(std::panic::catch_unwind(options).is_err());
    panics(|| Options::NEW.max_items(0));
    panics(|| Options::NEW.max_wait("0s"));
    panics(|| Options::NEW.max_items(10).max_stored(9).checked());
    panics(|| Options::NEW.max_attempts(u64::MAX));
}
