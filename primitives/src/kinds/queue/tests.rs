//! The laws of a queue, turn by turn.

use drystone_runtime::Millis;

use super::*;
use crate::{author::TakenBy, d, decode, encode, kind::harness::World};

const SECOND: u64 = 1_000;

fn queue(options: Options) -> World<Options> {
    World::new(options.checked())
}

fn enqueue_as(world: &mut World<Options>, item: u64, how: &Enqueue) -> EnqueuedMany {
    let how = String::from_utf8(encode(how).unwrap().to_vec()).unwrap();
    world.ask("enqueue", &format!("[[{item}],{how}]"))
}

fn enqueue(world: &mut World<Options>, item: u64) -> EnqueuedMany {
    enqueue_as(world, item, &Enqueue::new())
}

fn enqueue_all(world: &mut World<Options>, items: impl IntoIterator<Item = u64>) {
    for item in items {
        enqueue(world, item);
    }
}

fn item(world: &World<Options>, index: usize) -> Item<u64> {
    Item::take(world.given(&world.running[index])).unwrap()
}

fn values(world: &World<Options>) -> Vec<u64> {
    (0..world.running.len()).map(|index| item(world, index).value).collect()
}

/// Processes all items as they come. Returns their values.
fn run_out(world: &mut World<Options>) -> Vec<u64> {
    let mut values = Vec::new();
    while !world.running.is_empty() {
        values.push(item(world, 0).value);
        world.end(Ended::Ok);
    }
    values
}

fn told(world: &World<Options>) -> Vec<&str> {
    world.told.iter().map(|event| event.name.as_str()).collect()
}

/// Q1
#[test]
fn items_go_in_the_order_in_which_they_came_and_are_numbered() {
    let mut world = queue(Options::NEW);
    let first = enqueue(&mut world, 10);
    assert_eq!(first, EnqueuedMany { first: 1, count: 1, position: Some(0), is_new: true });
    assert_eq!((enqueue(&mut world, 20).position, enqueue(&mut world, 30).position), (Some(0), Some(1)));
    assert_eq!(item(&world, 0).id, "thing-7.00000000001-process/1");
    assert_eq!(run_out(&mut world), [10, 20, 30]);
}

/// Q1: in order also beyond the items that the record names.
#[test]
fn a_long_line_is_read_in_pieces_and_stays_in_order() {
    let mut world = queue(Options::NEW.concurrency(3));
    world.start();
    enqueue_all(&mut world, 0..100);
    assert!(world.entity.as_ref().unwrap().head.len() < 2_500, "{}", world.entity.unwrap().head.len());
    enqueue_all(&mut world, 100..110);
    assert_eq!(run_out(&mut world), (0..110).collect::<Vec<_>>());
    assert_eq!(world.rows().count(), 0);
}

/// Q2
#[test]
fn so_many_go_at_once_and_an_item_goes_with_its_success() {
    let mut world = queue(Options::NEW.concurrency(2));
    enqueue_all(&mut world, 1..=4);
    assert_eq!((values(&world), world.rows().count()), (vec![1, 2], 4));
    world.end_at(1, Ended::Ok);
    assert_eq!((values(&world), world.rows().count()), (vec![1, 3], 3));
    world.crash(SECOND);
    let again = item(&world, 0);
    assert_eq!((again.value, again.attempt, again.id.as_str()), (1, 1, "thing-7.00000000001-process/1"));
    assert_eq!(world.status(), Stats { waiting: 1, running: 2, done: 1, ..Stats::default() });
}

/// Q2, E11
#[test]
fn with_less_concurrency_than_before_fewer_go_on_at_once() {
    let mut world = queue(Options::NEW.concurrency(3));
    enqueue_all(&mut world, 1..=5);
    world.change(Options::NEW.concurrency(1).checked());
    assert_eq!(values(&world), [1]);
    assert_eq!(run_out(&mut world), [1, 2, 3, 4, 5]);
}

/// Q3
#[test]
fn a_failing_item_lets_the_others_go_and_comes_again() {
    let mut world = queue(Options::NEW.backoff("2s"));
    enqueue_all(&mut world, 1..=3);
    world.fail();
    assert_eq!((values(&world), world.status().retrying), (vec![2], 1));
    world.pass(2 * SECOND);
    // The retry is due and there is no place: the end of a running item starts it.
    assert_eq!(values(&world), [2]);
    world.end(Ended::Ok);
    let again = item(&world, 0);
    assert_eq!(
        (again.value, again.attempt, again.number, again.id.as_str()),
        (1, 2, 1, "thing-7.00000000001-process/1")
    );
    assert_eq!(run_out(&mut world), [1, 3]);
    assert_eq!((world.rows().count(), told(&world)), (0, vec!["queue.failed"]));
}

/// Q3: neither failed items nor waiting items starve.
#[test]
fn items_that_failed_and_items_that_wait_take_turns() {
    let mut world = queue(Options::NEW.concurrency(2).backoff("1s"));
    enqueue_all(&mut world, 1..=8);
    for _ in 0..4 {
        world.fail();
    }
    assert_eq!(values(&world), [5, 6]);
    world.pass(SECOND);
    world.end(Ended::Ok);
    world.end(Ended::Ok);
    assert_eq!(values(&world), [1, 7]);
    assert_eq!(run_out(&mut world), [1, 7, 2, 8, 3, 4]);
}

/// Q3
#[test]
fn with_strict_order_it_holds_them_up() {
    let mut world = queue(Options::NEW.backoff("2s").strict_order());
    enqueue_all(&mut world, 1..=2);
    world.fail();
    assert!(world.running.is_empty());
    assert_eq!(world.alarm(), Some(Millis(1_002_000)));
    world.pass(2 * SECOND);
    assert_eq!((item(&world, 0).value, item(&world, 0).attempt), (1, 2));
    world.fail();
    world.pass(2 * SECOND);
    assert_eq!(run_out(&mut world), [1, 2]);
    assert_eq!(world.rows().count(), 0);
}

/// Q3, D2
#[test]
fn exhausted_it_is_a_dead_letter_and_the_next_goes() {
    let mut world = queue(Options::NEW.max_attempts(2).backoff("2s"));
    enqueue_as(&mut world, 5, &Enqueue::new().priority(3));
    enqueue(&mut world, 6);
    world.fail();
    world.end(Ended::Ok);
    world.pass(2 * SECOND);
    world.fail();
    let letter: serde_json::Value = serde_json::from_slice(&world.sent[0].body).unwrap();
    let expected = serde_json::json!([{
        "definition": "thing", "key": "a", "key_bytes": [97], "space": "app", "kind": "queue", "entity": 7,
        "attempts": 2, "error": { "message": "no" }, "died_at": 1_002_000,
        "id": "thing-7.00000000001-process/1", "number": 1, "priority": 3, "item": 5,
        "errors": [
            { "error": { "message": "no" }, "at": 1_000_000 },
            { "error": { "message": "no" }, "at": 1_002_000 },
        ],
    }]);
    assert_eq!((letter, world.sent[0].verb.as_str()), (expected, "item"));
    assert_eq!((world.rows().count(), world.status().dead, told(&world)), (0, 1, vec!["queue.failed", "queue.dead"]));
}

/// D3
#[test]
fn a_replayed_item_keeps_its_id_and_goes_to_the_end_of_the_line() {
    let mut world = queue(Options::NEW.max_attempts(1));
    enqueue_all(&mut world, 1..=2);
    world.fail();
    let number: u64 =
        world.ask("replay_item", "[{\"id\":\"thing-7.00000000001-process/1\",\"priority\":0,\"item\":1}]");
    assert_eq!((number, values(&world)), (3, vec![2]));
    world.end(Ended::Ok);
    assert_eq!((item(&world, 0).id.as_str(), item(&world, 0).number), ("thing-7.00000000001-process/1", 3));
    world.fail();
    let letter = String::from_utf8(world.sent[1].body.to_vec()).unwrap();
    assert!(letter.contains("\"id\":\"thing-7.00000000001-process/1\""), "{letter}");
}

/// Q4
#[test]
fn a_higher_priority_goes_first_and_equals_in_order() {
    let mut world = queue(Options::NEW);
    enqueue(&mut world, 0);
    for (value, priority) in [(1, 0), (2, 5), (3, 0), (4, 5), (5, 255)] {
        enqueue_as(&mut world, value, &Enqueue::new().priority(priority));
    }
    assert_eq!(enqueue_as(&mut world, 6, &Enqueue::new().priority(5)).position, Some(3));
    assert_eq!(run_out(&mut world), [0, 5, 2, 4, 6, 1, 3]);
}

/// Q4
#[test]
fn a_delayed_item_joins_the_line_when_it_is_due() {
    let mut world = queue(Options::NEW);
    let told = enqueue_as(&mut world, 1, &Enqueue::new().delay(d!("5s")));
    assert_eq!((told.position, world.status().delayed, world.running.len()), (None, 1, 0));
    enqueue_as(&mut world, 2, &Enqueue::new().delay(d!("3s")).priority(1));
    assert_eq!(world.alarm(), Some(Millis(1_003_000)));
    enqueue_all(&mut world, 3..=4);
    world.pass(5 * SECOND);
    assert_eq!(world.status(), Stats { waiting: 3, running: 1, ..Stats::default() });
    assert_eq!(run_out(&mut world), [3, 2, 4, 1]);
    assert_eq!((world.rows().count(), world.alarm()), (0, None));
}

/// Q4, K3
#[test]
fn many_delayed_items_join_in_slices() {
    let mut world = queue(Options::NEW.concurrency(7));
    for item in 0..250 {
        enqueue_as(&mut world, item, &Enqueue::new().delay(d!("1s")));
    }
    world.pass(SECOND);
    assert_eq!(run_out(&mut world).len(), 250);
    assert_eq!(world.rows().count(), 0);
}

/// Q4
#[test]
fn a_dedup_key_enqueues_once_within_its_window() {
    let mut world = queue(Options::NEW);
    let how = Enqueue::new().dedup("order-9", d!("10s"));
    assert!(enqueue_as(&mut world, 1, &how).is_new);
    run_out(&mut world);
    world.pass(9 * SECOND);
    let again = enqueue_as(&mut world, 2, &how);
    assert_eq!(again, EnqueuedMany { first: 1, count: 1, position: None, is_new: false });
    assert!(enqueue_as(&mut world, 3, &Enqueue::new().dedup("order-8", d!("10s"))).is_new);
    world.pass(SECOND);
    let longer = Enqueue::new().dedup("order-9", d!("10m"));
    assert!(enqueue_as(&mut world, 4, &longer).is_new);
    assert!(!enqueue_as(&mut world, 5, &how).is_new);
    assert_eq!(run_out(&mut world), [3, 4]);
    // A minute after the first key has expired it is removed; the second use of that key stays for its own
    // window.
    world.pass(61 * SECOND);
    assert_eq!(world.rows().count(), 2);
    assert!(!enqueue_as(&mut world, 6, &how).is_new);
    world.pass(600 * SECOND);
    assert_eq!((world.rows().count(), world.alarm()), (0, None));
}

/// Q4
#[test]
fn pause_begins_nothing_and_resume_goes_on() {
    let mut world = queue(Options::NEW.concurrency(2));
    enqueue_all(&mut world, 1..=4);
    assert!(world.ask::<bool>("pause", "[]"));
    assert!(!world.ask::<bool>("pause", "[]"));
    world.fail();
    world.end(Ended::Ok);
    world.pass(100 * SECOND);
    assert_eq!((world.running.len(), world.alarm(), world.status().paused), (0, None, true));
    assert_eq!(world.entity.as_ref().unwrap().status.word.as_str(), "paused");
    assert!(world.ask::<bool>("resume", "[]"));
    assert_eq!(run_out(&mut world), [1, 3, 4]);
}

/// Q4: in strict order, too.
#[test]
fn an_item_that_holds_up_others_is_not_tried_again_in_a_pause() {
    let mut world = queue(Options::NEW.backoff("2s").strict_order());
    enqueue_all(&mut world, 1..=2);
    world.fail();
    world.ask::<bool>("pause", "[]");
    world.pass(100 * SECOND);
    world.crash(SECOND);
    assert_eq!((world.running.len(), world.alarm()), (0, None));
    assert_eq!(world.entity.as_ref().unwrap().status.word.as_str(), "paused");
    world.ask::<bool>("resume", "[]");
    assert_eq!((item(&world, 0).value, item(&world, 0).attempt), (1, 2));
    // An item that was started continues.
    world.ask::<bool>("pause", "[]");
    world.crash(SECOND);
    assert_eq!(values(&world), [1]);
    world.ask::<bool>("resume", "[]");
    assert_eq!(run_out(&mut world), [1, 2]);
}

/// Q4
#[test]
fn drain_answers_when_nothing_is_left() {
    let mut world = queue(Options::NEW.backoff("1s"));
    enqueue(&mut world, 1);
    assert!(matches!(world.call("drain", "[]"), Ok(Answer::Held(_))));
    world.fail();
    assert!(world.answered.is_empty());
    world.pass(SECOND);
    world.end(Ended::Ok);
    assert_eq!(world.answered.len(), 1);
    assert!(matches!(world.call("drain", "[]"), Ok(Answer::Now(_))));
}

/// Q4
#[test]
fn peek_shows_those_that_wait_in_the_order_in_which_they_go() {
    let mut world = queue(Options::NEW.concurrency(2));
    enqueue_all(&mut world, 0..50);
    enqueue_as(&mut world, 99, &Enqueue::new().priority(1));
    let peek = |world: &mut World<Options>, count: u32| -> Vec<u64> {
        let shown: Vec<Peeked<u64>> = world.ask("peek", &format!("[{count}]"));
        shown.into_iter().map(|peeked| peeked.value).collect()
    };
    assert_eq!(peek(&mut world, 3), [99, 2, 3]);
    assert_eq!(peek(&mut world, 1_000).len(), 49);
    assert!(peek(&mut world, 0).is_empty());
}

/// Q5
#[test]
fn beyond_its_depth_it_is_full_and_loses_nothing() {
    let mut world = queue(Options::NEW.max_depth(3));
    enqueue_all(&mut world, 1..=2);
    let Err(Stop::Failed(error)) = world.call("enqueue", "[[3,4],{}]") else { panic!() };
    assert_eq!(decode::<Full>(&error).unwrap(), Full { limit: 3 });
    assert_eq!(world.ask::<EnqueuedMany>("enqueue", "[[3],{}]").first, 3);
    assert_eq!(run_out(&mut world), [1, 2, 3]);
}

/// Q4
#[test]
fn many_are_enqueued_together_under_one_key() {
    let mut world = queue(Options::NEW);
    let how = String::from_utf8(encode(&Enqueue::new().dedup("k", d!("1h"))).unwrap().to_vec()).unwrap();
    let before = world.commits;
    let many: EnqueuedMany = world.ask("enqueue", &format!("[[1,2,3],{how}]"));
    assert_eq!(
        (many, world.commits),
        (EnqueuedMany { first: 1, count: 3, position: Some(0), is_new: true }, before + 1)
    );
    let again: EnqueuedMany = world.ask("enqueue", &format!("[[1,2,3],{how}]"));
    assert_eq!(again, EnqueuedMany { first: 1, count: 3, position: None, is_new: false });
    assert_eq!(run_out(&mut world), [1, 2, 3]);
}

/// E9, K3
#[test]
fn what_cannot_be_taken_is_refused_and_nothing_is_stored() {
    let mut world = queue(Options::NEW);
    world.author.check_item = <Item<u64> as TakenBy<process>>::check_item;
    for body in ["[[\"one\"],{}]", "[[1]]", "[1,{}]", "[[1],{\"priority\":256}]"] {
        assert!(matches!(world.call("enqueue", body), Err(Stop::Malformed(_))), "{body}");
    }
    let long_key = format!("[[1],{{\"dedup\":{{\"key\":\"{}\",\"window_ms\":1}}}}]", "k".repeat(513));
    assert!(matches!(world.call("enqueue", &long_key), Err(Stop::Malformed(_))));
    let mut world = queue(Options::NEW);
    let large = format!("[[\"{}\"],{{}}]", "x".repeat(1_016_000));
    assert!(matches!(world.call("enqueue", &large), Err(Stop::Refuse(_))));
    assert!(world.entity.is_none());
}

#[test]
fn options_that_do_not_fit_together_panic_and_so_do_not_compile() {
    let panics = |options: fn() -> Options| assert!(std::panic::catch_unwind(options).is_err());
    panics(|| Options::NEW.concurrency(0));
    panics(|| Options::NEW.concurrency(1_001));
    panics(|| Options::NEW.max_depth(0));
    panics(|| Options::NEW.concurrency(2).strict_order().checked());
    panics(|| Options::NEW.heartbeat("0s"));
}
