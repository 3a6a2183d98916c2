//! Queues: the order of items, how many run at once, and what becomes of items that fail.

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use drystone::{
    CallError, Context, Failure, Item, Primitives, Services, d,
    dead_letters::{Filter, Payload, What},
    kinds::queue::{Enqueue, Enqueued, EnqueuedMany, Full, Stats},
    primitive,
    testing::{Latch, Log, Setup, World},
};
use drystone_tests::typed::{both, names};
use serde::{Deserialize, Serialize};

/// The destination of items. Each goes to the log; a `bad` item fails, a `slow` one waits, a `hung` one
/// never ends.
#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
    latch: Latch,
}

async fn carry(item: &Item<String>, log: &Log, latch: &Latch) -> Result<(), Failure> {
    log.say(format!("{}#{} {}", item.number, item.attempt, item.value));
    match item.value.as_str() {
        "slow" => latch.clone().wait().await,
        "hung" => std::future::pending().await,
        "bad" => return Err("refused at the door".into()),
        "wild" => panic!("as asked"),
        _ => {}
    }
    Ok(())
}

macro_rules! queues {
    ($($name:ident($($options:tt)*))+) => {$(
        #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
        struct $name;

        #[primitive(queue, $($options)*)]
        impl $name {
            #[process]
            async fn carry(&self, item: Item<String>, log: &Log, latch: &Latch) -> Result<(), Failure> {
                carry(&item, log, latch).await
            }
        }
    )+};
}

queues! {
    Single(max_attempts = 2, backoff = "4s")
    Pair(concurrency = 2, max_attempts = 2, backoff = "4s")
    Strict(strict_order, max_attempts = 2, backoff = "4s")
    Small(max_depth = 3)
    Hasty(timeout = "10s", heartbeat = "3s", max_attempts = 1)
}

/// Counts items, one item at a time.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Tally {
    sum: u64,
}

#[primitive(queue, max_attempts = 2, backoff = "1s")]
impl Tally {
    #[process]
    async fn count(&mut self, item: Item<u64>, cx: &Context) -> Result<(), Failure> {
        self.sum += item.value;
        cx.emit("tally.counted", &item.value);
        if item.value == 13 && item.attempt == 1 { Err("unlucky".into()) } else { Ok(()) }
    }
}

/// Processes many items at once; an `#[apply]` takes each result afterwards.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Squares {
    found: Vec<u64>,
}

#[primitive(queue, concurrency = 4)]
impl Squares {
    #[process]
    async fn square(&self, item: Item<u64>, latch: &Latch) -> Result<u64, Failure> {
        latch.clone().wait().await;
        Ok(item.value * item.value)
    }

    #[apply]
    fn keep(&mut self, square: u64) {
        self.found.push(square);
    }
}

#[derive(Primitives)]
struct App {
    single: Single,
    pair: Pair,
    strict: Strict,
    small: Small,
    hasty: Hasty,
    tally: Tally,
    squares: Squares,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

/// Q1
#[tokio::test]
async fn items_are_processed_in_the_order_in_which_they_were_enqueued() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let queue = world.client().single("a");
        let first = queue.enqueue("x".into()).await.unwrap();
        assert_eq!(first, Enqueued { number: 1, position: Some(0), is_new: true });
        let many = queue.enqueue_many(["y", "z"].map(String::from)).await.unwrap();
        assert_eq!((many.first, many.count, many.is_new), (2, 2, true));
        queue.drain().await.unwrap();
        assert_eq!(fakes.log.take(), ["1#1 x", "2#1 y", "3#1 z"]);
        assert_eq!(queue.stats().await.unwrap(), Stats { done: 3, ..Stats::default() });
    }
}

/// Q1, E4
#[tokio::test]
async fn an_acknowledged_item_outlives_a_crash() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let queue = world.client().single("a");
        queue.enqueue_many(["slow", "y"].map(String::from)).await.unwrap();
        world.crash().await;
        world.restart().await;
        fakes.latch.open();
        world.client().single("a").drain().await.unwrap();
        assert_eq!(fakes.log.take(), ["1#1 slow", "1#1 slow", "2#1 y"]);
    }
}

/// Q2
#[tokio::test]
async fn so_many_run_at_once_and_no_more() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let queue = world.client().pair("a");
        queue.enqueue_many(["slow", "slow", "slow"].map(String::from)).await.unwrap();
        world.settle().await;
        assert_eq!(fakes.log.take(), ["1#1 slow", "2#1 slow"]);
        assert_eq!(queue.stats().await.unwrap(), Stats { running: 2, waiting: 1, ..Stats::default() });
        fakes.latch.open();
        queue.drain().await.unwrap();
        assert_eq!(fakes.log.take(), ["3#1 slow"]);
    }
}

/// Q2, E5: the changes and events of a failed execution are dropped.
#[tokio::test]
async fn with_mut_self_one_at_a_time_changes_the_struct() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let queue = world.client().tally("a");
        queue.enqueue_many([1, 13, 5]).await.unwrap();
        world.advance(d!("1s")).await;
        assert_eq!(queue.state().await.unwrap().unwrap(), Tally { sum: 19 });
        assert_eq!(names(&world.events()), ["tally.counted", "queue.failed", "tally.counted", "tally.counted"]);
    }
}

/// Q2: the results of several items are applied one after another, and none is lost.
#[tokio::test]
async fn what_several_found_at_once_is_applied_one_by_one() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let queue = world.client().squares("a");
        queue.enqueue_many(1..=9).await.unwrap();
        world.settle().await;
        fakes.latch.open();
        queue.drain().await.unwrap();
        let mut found = queue.state().await.unwrap().unwrap().found;
        found.sort_unstable();
        assert_eq!(found, [1, 4, 9, 16, 25, 36, 49, 64, 81]);
    }
}

/// Q3
#[tokio::test]
async fn a_failing_item_lets_others_pass_and_then_is_a_dead_letter() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let queue = world.client().single("a");
        queue.enqueue_many(["bad", "wild", "y"].map(String::from)).await.unwrap();
        world.advance(d!("3999ms")).await;
        assert_eq!(fakes.log.take(), ["1#1 bad", "2#1 wild", "3#1 y"]);
        assert_eq!(queue.stats().await.unwrap().retrying, 2);
        world.advance(d!("1ms")).await;
        assert_eq!(fakes.log.take(), ["1#2 bad", "2#2 wild"]);
        let stats = queue.stats().await.unwrap();
        assert_eq!((stats.done, stats.dead, stats.errors.len()), (1, 2, 4));
        let page = world.dead_letters().list(Filter::default()).await.unwrap();
        let bad = &page.letters[0];
        assert_eq!((bad.what, bad.definition.as_str(), bad.key.as_str(), bad.attempts), (What::Item, "single", "a", 2));
        assert_eq!(bad.errors.len(), 2);
        assert!(bad.reason.contains("refused at the door"), "{}", bad.reason);
        let opened = world.dead_letters().get(bad.id).await.unwrap();
        assert_eq!(opened.payload, Payload::Item("bad".into()));
    }
}

/// Q3
#[tokio::test]
async fn with_strict_order_nothing_passes_an_item_that_failed() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        world.client().strict("a").enqueue_many(["bad", "y"].map(String::from)).await.unwrap();
        world.advance(d!("3s")).await;
        assert_eq!(fakes.log.take(), ["1#1 bad"]);
        world.advance(d!("1s")).await;
        assert_eq!(fakes.log.take(), ["1#2 bad", "2#1 y"]);
    }
}

/// D3, Q2: the item keeps its id.
#[tokio::test]
async fn a_dead_item_is_replayed_to_its_queue_or_to_another() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        world.client().single("a").enqueue("bad".into()).await.unwrap();
        world.advance(d!("4s")).await;
        let letters = world.dead_letters();
        let id = letters.list(Filter::default()).await.unwrap().letters[0].id;
        fakes.log.take();
        letters.replay(id).await.unwrap();
        world.advance(d!("4s")).await;
        assert_eq!(fakes.log.take(), ["2#1 bad", "2#2 bad"]);
        let again = letters.list(Filter { what: Some(What::Item), ..Filter::default() }).await.unwrap().letters;
        letters.replay_to(again[0].id, "pair", "b").await.unwrap();
        world.settle().await;
        assert_eq!((again.len(), fakes.log.take()), (1, vec!["1#1 bad".to_owned()]));
        assert_eq!(letters.count().await.unwrap(), 0);
    }
}

/// D3: a full queue gets the item later, or the item becomes a dead letter again.
#[tokio::test]
async fn an_item_that_is_replayed_to_a_full_queue_is_not_lost() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        world.client().single("a").enqueue("bad".into()).await.unwrap();
        world.advance(d!("4s")).await;
        world.client().small("s").enqueue_many(["slow", "x", "y"].map(String::from)).await.unwrap();
        let letters = world.dead_letters();
        let id = letters.list(Filter::default()).await.unwrap().letters[0].id;
        letters.replay_to(id, "small", "s").await.unwrap();
        world.advance(d!("1h")).await;
        let back = letters.list(Filter::default()).await.unwrap().letters;
        assert_eq!((back.len(), back[0].what, back[0].definition.as_str()), (1, What::Item, "small"));
        let opened = letters.get(back[0].id).await.unwrap();
        assert_eq!(opened.payload, Payload::Item("bad".into()));
        fakes.latch.open();
        world.client().small("s").drain().await.unwrap();
        letters.replay(back[0].id).await.unwrap();
        world.settle().await;
        assert!(fakes.log.take().contains(&"4#1 bad".to_owned()));
    }
}

/// Q4
#[tokio::test]
async fn priority_goes_first_and_a_delayed_item_joins_later() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let queue = world.client().single("a");
        queue.enqueue("slow".into()).await.unwrap();
        queue.enqueue("x".into()).await.unwrap();
        queue.enqueue_with("urgent".into(), &Enqueue::new().priority(9)).await.unwrap();
        let later = queue.enqueue_with("later".into(), &Enqueue::new().delay(d!("1m"))).await.unwrap();
        assert_eq!((later.number, later.position), (4, None));
        let waiting = queue.peek(10).await.unwrap();
        assert_eq!(waiting.iter().map(|item| item.value.as_str()).collect::<Vec<_>>(), ["urgent", "x"]);
        fakes.latch.open();
        world.advance(d!("59999ms")).await;
        assert_eq!(fakes.log.take(), ["1#1 slow", "3#1 urgent", "2#1 x"]);
        world.advance(d!("1ms")).await;
        assert_eq!(fakes.log.take(), ["4#1 later"]);
    }
}

/// Q4
#[tokio::test]
async fn a_dedup_key_holds_for_its_window_also_over_a_crash() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let how = Enqueue::new().dedup("order:9", d!("1h"));
        world.client().single("a").enqueue_with("x".into(), &how).await.unwrap();
        world.crash().await;
        world.restart().await;
        let queue = world.client().single("a");
        let again = queue.enqueue_with("x".into(), &how).await.unwrap();
        assert_eq!(again, Enqueued { number: 1, position: None, is_new: false });
        assert!(world.client().single("b").enqueue_with("x".into(), &how).await.unwrap().is_new);
        world.advance(d!("1h")).await;
        assert!(queue.enqueue_with("z".into(), &how).await.unwrap().is_new);
        queue.drain().await.unwrap();
        let told = fakes.log.take();
        assert_eq!(
            (told.iter().filter(|line| *line == "2#1 z").count(), told.iter().filter(|line| *line == "2#1 x").count()),
            (1, 0)
        );
    }
}

/// Q4
#[tokio::test]
async fn a_paused_queue_takes_items_and_begins_none_until_it_is_resumed() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let queue = world.client().pair("a");
        assert!(queue.pause().await.unwrap());
        queue.enqueue("x".into()).await.unwrap();
        world.crash().await;
        world.restart().await;
        world.advance(d!("1h")).await;
        assert_eq!(fakes.log.take(), Vec::<String>::new());
        assert!(world.client().pair("a").stats().await.unwrap().paused);
        assert!(world.client().pair("a").resume().await.unwrap());
        world.settle().await;
        assert_eq!(fakes.log.take(), ["1#1 x"]);
    }
}

/// Q5
#[tokio::test]
async fn beyond_its_depth_it_says_so_and_keeps_what_it_has() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let queue = world.client().small("a");
        let many: EnqueuedMany = queue.enqueue_many(["slow", "x", "y"].map(String::from)).await.unwrap();
        assert_eq!(many.count, 3);
        let refused = queue.enqueue("z".into()).await.unwrap_err();
        assert!(matches!(refused, CallError::Failed(Full { limit: 3 })), "{refused}");
        fakes.latch.open();
        queue.drain().await.unwrap();
        assert_eq!(fakes.log.take(), ["1#1 slow", "2#1 x", "3#1 y"]);
    }
}

/// Q3: an execution that hangs ends by its timeout, and one without a heartbeat ends sooner.
#[tokio::test]
async fn an_item_that_hangs_fails_by_its_heartbeat() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let queue = world.client().hasty("a");
        queue.enqueue_many(["hung", "x"].map(String::from)).await.unwrap();
        world.advance(d!("2999ms")).await;
        assert_eq!(fakes.log.take(), ["1#1 hung"]);
        world.advance(d!("1ms")).await;
        assert_eq!(fakes.log.take(), ["2#1 x"]);
        let error = &queue.stats().await.unwrap().errors[0].error;
        assert!(error.to_string().contains("sign of life"), "{error}");
    }
}

/// E1, E8, A7
#[tokio::test]
async fn reads_bind_nothing_and_destroy_takes_all_items() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let queue = world.client().single("a");
        assert_eq!(queue.stats().await.unwrap(), Stats::default());
        assert!(queue.view().await.unwrap().is_none());
        queue.enqueue_many(["slow", "x"].map(String::from)).await.unwrap();
        queue.enqueue_with("later".into(), &Enqueue::new().delay(d!("1m"))).await.unwrap();
        world.settle().await;
        fakes.log.take();
        assert!(queue.destroy().await.unwrap());
        world.advance(d!("1h")).await;
        assert_eq!((fakes.log.take(), queue.stats().await.unwrap()), (vec![], Stats::default()));
        assert_eq!(queue.enqueue("y".into()).await.unwrap().number, 1);
        queue.drain().await.unwrap();
        assert_eq!(fakes.log.take(), ["1#1 y"]);
    }
}
