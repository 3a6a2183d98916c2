//! Events that no wait has taken: dead letters, discarded events, and replays (D).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use drystone::{
    Context, Event, Flow, Primitives, Published, d,
    dead_letters::{Filter, LetterError, What},
    primitive,
    testing::{Moment, World},
    workflow,
};
use drystone_tests::typed::{both, names};
use serde::{Deserialize, Serialize};

/// Becomes a dead letter if unread.
#[derive(Clone, Debug, PartialEq, Event, Serialize, Deserialize)]
#[event(topic, deliver = "one", keep_for = "1h")]
struct Task(u32);

/// Is published if unread.
#[derive(Clone, Debug, PartialEq, Event, Serialize, Deserialize)]
#[event(topic, deliver = "one", key = shop, on_terminated = "publish")]
struct Order {
    shop: String,
    number: u32,
}

/// Is discarded if unread.
#[derive(Clone, Debug, PartialEq, Event, Serialize, Deserialize)]
#[event(on_terminated = "discard")]
struct Hint(u32);

/// Only the latest one is kept in the queue.
#[derive(Clone, Debug, PartialEq, Event, Serialize, Deserialize)]
#[event(keep = "latest")]
struct Price(u32);

/// Only the first one is kept in the queue.
#[derive(Clone, Debug, PartialEq, Event, Serialize, Deserialize)]
#[event(keep = "first")]
struct Bid(u32);

/// The test makes more dead letters of this event than are kept.
#[derive(Clone, Debug, PartialEq, Event, Serialize, Deserialize)]
#[event(topic, deliver = "one", keep_for = "1h", max_pending = 20000)]
struct Leaf(u32);

/// An event without a topic.
#[derive(Clone, Debug, PartialEq, Event, Serialize, Deserialize)]
struct Note(String);

/// Takes a task and an order for the shop; takes nothing if told to sleep.
#[derive(Default, Serialize, Deserialize)]
struct Worker;

#[workflow(events(Task, Order, Hint, Note, Price, Bid))]
impl Worker {
    async fn run(flow: &Flow<Self>, what: String) -> u32 {
        match what.as_str() {
            "task" => flow.wait_for::<Task>().await.0,
            "order" => flow.wait_for::<Order>().key("main").await.number,
            _ => {
                flow.sleep("30d").await;
                0
            }
        }
    }
}

/// Publishes leaves.
#[derive(Default, Serialize, Deserialize)]
struct Tree;

#[primitive(object)]
impl Tree {
    async fn shed(&mut self, from: u32, to: u32, cx: &Context) {
        (from..to).for_each(|number| cx.publish(Leaf(number)));
    }
}

#[derive(Primitives)]
struct App {
    worker: Worker,
    tree: Tree,
}

/// Starts a run that ends with unread events of four types.
async fn end_with_unread(world: &World<App>, key: &str) {
    let run = world.client().worker(key);
    run.start("sleep".into()).await.unwrap();
    run.send(Task(1)).await.unwrap();
    run.send(Order { shop: "main".into(), number: 2 }).await.unwrap();
    run.send(Hint(3)).await.unwrap();
    run.send(Note("n".into())).await.unwrap();
    run.terminate().await.unwrap();
    world.settle().await;
}

/// D1
#[tokio::test]
async fn what_a_run_did_not_take_goes_where_its_type_says() {
    for setup in both() {
        let world = setup.start::<App>().await;
        world.client().worker("waits").start("order".into()).await.unwrap();
        end_with_unread(&world, "a").await;
        assert_eq!(world.client().worker("waits").result().await.unwrap(), 2, "published, and somebody waited");
        let letters = world.dead_letters().list(Filter::default()).await.unwrap().letters;
        let shown: Vec<_> = letters.iter().map(|letter| (letter.what, letter.event.as_deref().unwrap())).collect();
        assert_eq!(shown, [(What::Event, "Note"), (What::Event, "Task")]);
        assert!(letters[0].reason.contains("terminated"), "{}", letters[0].reason);
    }
}

/// D3: Also to another run.
#[tokio::test]
async fn a_dead_event_is_replayed_to_runs_and_to_its_topic() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let (client, letters) = (world.client(), world.dead_letters());
        for key in ["a", "b", "c"] {
            end_with_unread(&world, key).await;
        }
        let tasks = letters.events::<Task>(Filter::default()).await.unwrap().events;
        assert_eq!(tasks.iter().map(|task| task.letter.key.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
        assert!(tasks.iter().all(|task| task.event == Ok(Task(1))));
        client.worker("other").start("task".into()).await.unwrap();
        letters.replay_to(tasks[0].letter.id, "worker", "other").await.unwrap();
        assert_eq!(client.worker("other").result().await.unwrap(), 1);
        client.worker("topic").start("task".into()).await.unwrap();
        letters.replay_to_topic(tasks[1].letter.id).await.unwrap();
        assert_eq!(client.worker("topic").result().await.unwrap(), 1);
        client.worker("c").restart_with("task".into()).await.unwrap();
        letters.replay(tasks[2].letter.id).await.unwrap();
        assert_eq!(client.worker("c").result().await.unwrap(), 1);
        let gone = letters.replay(tasks[2].letter.id).await.unwrap_err().failed().unwrap();
        assert_eq!(gone, LetterError::Unknown { id: tasks[2].letter.id });
    }
}

/// D3, T3
#[tokio::test]
async fn what_nobody_took_of_its_topic_is_replayed_to_a_run() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let (client, letters) = (world.client(), world.dead_letters());
        client.publish(Task(5)).await.unwrap();
        world.advance(d!("1h")).await;
        let task = letters.events::<Task>(Filter::default()).await.unwrap().events.remove(0).letter;
        assert_eq!(task.definition, "drystone:topics");
        client.worker("a").start("task".into()).await.unwrap();
        letters.replay_to(task.id, "worker", "a").await.unwrap();
        assert_eq!(client.worker("a").result().await.unwrap(), 5);
        world.advance(d!("1h")).await;
        assert_eq!(letters.count().await.unwrap(), 0);
    }
}

/// D3
#[tokio::test]
async fn an_event_that_dies_again_keeps_its_topic() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let letters = world.dead_letters();
        end_with_unread(&world, "a").await;
        let task = letters.events::<Task>(Filter::default()).await.unwrap().events.remove(0).letter;
        letters.replay(task.id).await.unwrap();
        world.advance(d!("1h")).await;
        let again = letters.events::<Task>(Filter::default()).await.unwrap().events.remove(0);
        assert!(again.letter.id > task.id, "its run has ended, and takes nothing");
        assert_eq!((again.letter.topic.as_deref(), again.event), (Some("Task"), Ok(Task(1))));
        world.client().worker("b").start("task".into()).await.unwrap();
        letters.replay_to_topic(again.letter.id).await.unwrap();
        assert_eq!(world.client().worker("b").result().await.unwrap(), 1);
    }
}

/// D3
#[tokio::test]
async fn what_has_no_topic_is_not_published_and_stays() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let letters = world.dead_letters();
        end_with_unread(&world, "a").await;
        let note = letters.events::<Note>(Filter::default()).await.unwrap().events.remove(0);
        let refused = letters.replay_to_topic(note.letter.id).await.unwrap_err().failed().unwrap();
        assert_eq!(refused, LetterError::NoTopic { id: note.letter.id });
        assert_eq!(letters.events::<Note>(Filter::default()).await.unwrap().events, [note]);
    }
}

/// D1
#[tokio::test]
async fn what_is_discarded_is_counted_and_told() {
    for setup in both() {
        let world = setup.start::<App>().await;
        world.client().worker("a").start("sleep".into()).await.unwrap();
        for number in 0..250 {
            world.client().worker("a").send(Hint(number)).await.unwrap();
        }
        world.client().worker("a").terminate().await.unwrap();
        world.settle().await;
        let told = world.events();
        let told = told.iter().filter(|event| event.lifecycle.name == "workflow.discarded");
        assert_eq!(told.count(), 2, "200 in a commit, and the others");
        world.restart().await;
        let queued = world.client().worker("a").status().await.unwrap().unwrap().queued;
        let shown: Vec<_> = queued.iter().map(|of| (of.event.as_str(), of.count, of.discarded)).collect();
        assert_eq!(shown, [("Hint", 0, 250)]);
        assert_eq!(world.dead_letters().count().await.unwrap(), 0);
    }
}

/// V2, V9, L4
#[tokio::test]
async fn what_a_queue_loses_is_counted_and_told() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let run = world.client().worker("a");
        run.start("sleep".into()).await.unwrap();
        for number in 1..=3 {
            run.send(Price(number)).await.unwrap();
        }
        for number in 1..=2 {
            run.send(Bid(number)).await.unwrap();
        }
        run.send(Note("old".into())).await.unwrap();
        world.advance(d!("7d")).await;
        run.send(Note("new".into())).await.unwrap();
        run.restart().drop_events().await.unwrap();
        let told = world.events();
        let lost = ["workflow.overwritten", "workflow.expired", "workflow.discarded"];
        let count = |name: &str| names(&told).iter().filter(|told| **told == name).count();
        assert_eq!(lost.map(count), [3, 1, 3]);
        let queued = run.status().await.unwrap().unwrap().queued;
        let shown: Vec<_> =
            queued.iter().map(|of| (of.event.as_str(), of.overwritten, of.expired, of.discarded)).collect();
        assert_eq!(shown, [("Bid", 1, 0, 1), ("Note", 0, 1, 1), ("Price", 2, 0, 1)]);
    }
}

/// D1, E8
#[tokio::test]
async fn events_of_a_destroyed_run_go_where_their_type_says() {
    for ends_first in [false, true] {
        for setup in both() {
            let world = setup.start::<App>().await;
            let (client, run) = (world.client(), world.client().worker("a"));
            client.worker("waits").start("order".into()).await.unwrap();
            run.start("sleep".into()).await.unwrap();
            for number in 0..450 {
                run.send(Task(number)).await.unwrap();
            }
            run.send(Order { shop: "main".into(), number: 2 }).await.unwrap();
            run.send(Hint(3)).await.unwrap();
            if ends_first {
                assert!(run.terminate().await.unwrap());
            }
            assert!(run.destroy().await.unwrap());
            assert!(run.status().await.unwrap().is_none(), "it is gone when that is said");
            world.settle().await;
            assert_eq!(client.worker("waits").result().await.unwrap(), 2);
            assert_eq!(world.dead_letters().count().await.unwrap(), 450);
            assert!(names(&world.events()).contains(&"workflow.discarded"));
            assert!(!run.destroy().await.unwrap());
        }
    }
}

/// D1, E8: It does not begin again.
#[tokio::test]
async fn a_destroyed_run_is_gone_wherever_the_process_dies() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let run = world.client().worker("a");
        run.start("sleep".into()).await.unwrap();
        for number in 0..250 {
            run.send(Task(number)).await.unwrap();
        }
        world.crash_at_commit(1, Moment::After);
        run.destroy().await.unwrap_err();
        world.restart().await;
        let again = run.restart().await;
        assert!(again.is_err(), "{again:?}");
        world.settle().await;
        assert_eq!(world.dead_letters().count().await.unwrap(), 250);
        assert!(run.status().await.unwrap().is_none());
        run.start("sleep".into()).await.unwrap();
    }
}

/// D1, T1
#[tokio::test]
async fn an_event_whose_topic_key_is_too_long_is_dead() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let run = world.client().worker("a");
        run.start("sleep".into()).await.unwrap();
        let long = Order { shop: "x".repeat(600), number: 1 };
        run.send(long.clone()).await.unwrap();
        run.terminate().await.unwrap();
        world.settle().await;
        let dead = world.dead_letters().events::<Order>(Filter::default()).await.unwrap().events;
        assert_eq!(dead.iter().map(|dead| dead.event.clone()).collect::<Vec<_>>(), [Ok(long)]);
    }
}

/// D3, E15
#[tokio::test]
async fn letters_are_counted_whatever_becomes_of_them() {
    for setup in both() {
        let world = setup.start::<App>().await;
        are_counted(&world).await;
    }
}

async fn are_counted(world: &World<App>) {
    let letters = world.dead_letters();
    end_with_unread(world, "a").await;
    end_with_unread(world, "b").await;
    let all = letters.list(Filter::default()).await.unwrap().letters;
    letters.replay_to_topic(all[1].id).await.unwrap();
    letters.remove(all[0].id).await.unwrap();
    world.advance(d!("30d")).await;
    let counts = letters.counts().await.unwrap();
    // The replayed task died again after an hour; the orders died after a week.
    assert_eq!((counts.kept, counts.added, counts.replayed, counts.removed), (3, 7, 1, 1));
    assert_eq!(counts.expired, 2);
    let told = world.events();
    for name in ["dead_letter.added", "dead_letter.replayed", "dead_letter.removed", "dead_letter.expired"] {
        assert!(names(&told).contains(&name), "{name}");
    }
    world.advance(d!("1h")).await;
    let after = letters.counts().await.unwrap();
    assert_eq!((after.kept, after.expired), (2, 3));
}

/// D3
#[tokio::test]
async fn a_full_box_of_dead_letters_drops_the_oldest_and_counts_it() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let (tree, letters) = (world.client().tree("t"), world.dead_letters());
        for from in (0..10_000).step_by(500) {
            tree.shed(from, from + 500).await.unwrap();
            world.settle().await;
        }
        world.advance(d!("59m")).await;
        tree.shed(10_000, 10_003).await.unwrap();
        world.advance(d!("1m")).await;
        assert_eq!((letters.counts().await.unwrap().kept, letters.counts().await.unwrap().dropped), (10_000, 0));
        world.advance(d!("59m")).await;
        let counts = letters.counts().await.unwrap();
        assert_eq!((counts.kept, counts.added, counts.dropped), (10_000, 10_003, 3));
        let oldest = letters.events::<Leaf>(Filter { limit: 1, ..Filter::default() }).await.unwrap().events.remove(0);
        assert_eq!(oldest.event, Ok(Leaf(3)));
        assert!(names(&world.events()).contains(&"dead_letter.dropped"));
    }
}

/// V9, T1
#[tokio::test]
async fn what_is_published_twice_with_one_key_is_one_event() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let client = world.client();
        for _ in 0..2 {
            let published = client.publish(Task(7)).idempotency_key("hook-1").await.unwrap();
            assert_eq!(published, Published { number: 1, waiting: 0 });
            world.restart().await;
        }
        let other = client.publish(Task(8)).idempotency_key("hook-1").await;
        assert!(other.is_err(), "the same key with something else is refused");
        assert_eq!(client.topic::<Task>().status().await.unwrap().unwrap().pending, 1);
    }
}
