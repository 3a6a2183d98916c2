//! Buffers: when a batch closes, what the flush gets, and what is kept.

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use drystone::{
    Batch, CallError, Context, Failure, Folded, Primitives, Services, d,
    kinds::buffer::{Capped, FlushResult, Flushed, Full},
    primitive,
    testing::{Latch, Log, Setup, World},
};
use drystone_tests::typed::{both, names};
use serde::{Deserialize, Serialize};

/// The destination of batches. Each goes to the log; a batch with a `bad` item fails, one with a `slow`
/// item waits.
#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
    latch: Latch,
}

async fn carry(batch: &Batch<String>, log: &Log, latch: &Latch) -> Result<(), Failure> {
    let items = batch.items.join(",");
    log.say(format!("{}#{} {:?} {items}", batch.number, batch.attempt, batch.reason));
    if items.contains("slow") {
        latch.clone().wait().await;
    }
    if items.contains("bad") {
        return Err("refused at the door".into());
    }
    Ok(())
}

macro_rules! posts {
    ($($name:ident($($options:tt)+))+) => {$(
        #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
        struct $name {
            carried: usize,
        }

        #[primitive(buffer, $($options)+)]
        impl $name {
            #[flush]
            async fn carry(&mut self, batch: Batch<String>, log: &Log, latch: &Latch) -> Result<(), Failure> {
                self.carried += batch.items.len();
                carry(&batch, log, latch).await
            }
        }
    )+};
}

posts! {
    Post(max_items = 3, max_wait = "10s", max_attempts = 2, backoff = "4s")
    Sliding(max_items = 3, max_wait = "10s", reset_on_add)
    Strict(max_items = 1, max_wait = "10s", max_attempts = 2, backoff = "4s", strict_order)
    Small(max_items = 2, max_wait = "10s", max_stored = 3, max_stored_bytes = 20)
}

/// Folds amounts into a sum.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Till {
    total: u64,
}

#[primitive(buffer, max_items = 3, max_wait = "10s")]
impl Till {
    #[reduce]
    fn sum(sum: &mut u64, amount: u64) {
        *sum += amount;
    }

    #[flush]
    async fn bank(&mut self, folded: Folded<u64>, log: &Log, cx: &Context) -> Result<(), Failure> {
        log.say(format!("{} {:?} {} of {}", folded.number, folded.reason, folded.value, folded.count));
        self.total += folded.value;
        cx.emit("till.banked", &folded.value);
        Ok(())
    }
}

#[derive(Primitives)]
struct App {
    post: Post,
    sliding: Sliding,
    strict: Strict,
    small: Small,
    till: Till,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

async fn post(world: &World<App>, items: &[&str]) {
    for item in items {
        world.client().post("a").add((*item).into()).await.unwrap();
    }
}

/// B1, B2: The answer of `add` says when.
#[tokio::test]
async fn a_batch_is_flushed_a_fixed_time_after_its_first_item() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let post = world.client().post("a");
        let first = post.add("x".into()).await.unwrap();
        assert_eq!((first.buffered, first.flushes_at), (1, world.now().after(d!("10s"))));
        world.advance(d!("6s")).await;
        let second = post.add("y".into()).await.unwrap();
        assert_eq!((second.buffered, second.flushes_at), (2, first.flushes_at));
        world.advance(d!("3999ms")).await;
        assert_eq!(fakes.log.take(), Vec::<String>::new());
        world.advance(d!("1ms")).await;
        assert_eq!(fakes.log.take(), ["1#1 Deadline x,y"]);
        world.advance(d!("1h")).await;
        assert_eq!((fakes.log.take(), post.state().await.unwrap().unwrap().carried), (vec![], 2));
    }
}

/// B1: Steady traffic flushes by capacity.
#[tokio::test]
async fn with_reset_on_add_every_item_moves_the_deadline() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let sliding = world.client().sliding("a");
        for item in ["w", "x", "y", "z"] {
            let added = sliding.add(item.into()).await.unwrap();
            let due = if item == "y" { world.now() } else { world.now().after(d!("10s")) };
            assert_eq!(added.flushes_at, due, "{item}");
            world.advance(d!("9s")).await;
        }
        assert_eq!(fakes.log.take(), ["1#1 Capacity w,x,y"]);
        world.advance(d!("1s")).await;
        assert_eq!(fakes.log.take(), ["2#1 Deadline z"]);
    }
}

/// B2, B3: A full batch is flushed after the crash.
#[tokio::test]
async fn an_acknowledged_item_survives_a_crash() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        post(&world, &["x", "y"]).await;
        world.crash().await;
        world.restart().await;
        assert_eq!(fakes.log.take(), Vec::<String>::new());
        // The commit of the add is durable and closes the batch; the flush has not begun.
        world.crash_at_commit(1, drystone::testing::Moment::After);
        world.client().post("a").add("z".into()).await.unwrap_err();
        world.restart().await;
        assert_eq!(fakes.log.take(), ["1#1 Capacity x,y,z"]);
        assert_eq!(world.client().post("a").state().await.unwrap().unwrap().carried, 3);
    }
}

/// B4, E3: One batch at a time.
#[tokio::test]
async fn adds_continue_while_batches_are_flushed_in_order() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        post(&world, &["slow", "b", "c", "d", "e", "f", "g"]).await;
        assert_eq!(fakes.log.take(), ["1#1 Capacity slow,b,c"]);
        let status = world.client().post("a").status().await.unwrap().unwrap();
        assert_eq!((status.open, status.closed.batches, status.closed.items, status.in_flight), (1, 2, 6, Some(1)));
        world.advance(d!("1m")).await;
        assert_eq!(fakes.log.take(), Vec::<String>::new());
        fakes.latch.open();
        world.settle().await;
        assert_eq!(fakes.log.take(), ["2#1 Capacity d,e,f", "3#1 Deadline g"]);
        let status = world.client().post("a").status().await.unwrap().unwrap();
        assert_eq!((status.flushed.batches, status.flushed.items, status.in_flight), (3, 7, None));
    }
}

/// B4: Over retries and restarts.
#[tokio::test]
async fn the_id_of_a_batch_is_stable_and_unique() {
    #[derive(Debug, Default, Serialize, Deserialize)]
    struct Ids;
    #[primitive(buffer, max_items = 1, backoff = "1s", max_attempts = 3)]
    impl Ids {
        #[flush]
        async fn tell(&mut self, batch: Batch<u32>, log: &Log, cx: &Context) -> Result<(), Failure> {
            log.say(batch.id.clone());
            assert!(batch.id.ends_with("flush/1") == cx.work_id().ends_with("flush/1"), "{}", cx.work_id());
            if batch.items == [1] && batch.attempt < 3 { Err("again".into()) } else { Ok(()) }
        }
    }
    #[derive(Primitives)]
    struct App {
        ids: Ids,
    }
    for setup in both() {
        let fakes = Fakes::default();
        let world = setup.services(fakes.clone()).start::<App>().await;
        world.client().ids("a").add(1).await.unwrap();
        world.restart().await;
        world.advance(d!("10s")).await;
        let same = fakes.log.take();
        assert!(same.len() == 3 && same.iter().all(|id| *id == same[0]), "{same:?}");
        world.client().ids("a").add(2).await.unwrap();
        world.client().ids("b").add(3).await.unwrap();
        world.client().ids("a").destroy().await.unwrap();
        world.client().ids("a").add(4).await.unwrap();
        let mut all = [fakes.log.take(), vec![same[0].clone()]].concat();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 4, "{all:?}");
    }
}

/// B5
#[tokio::test]
async fn a_failing_flush_is_tried_again_and_holds_up_nobody() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        post(&world, &["bad", "b", "c", "d", "e", "f"]).await;
        assert_eq!(fakes.log.take(), ["1#1 Capacity bad,b,c", "2#1 Capacity d,e,f"]);
        world.advance(d!("3999ms")).await;
        assert_eq!(fakes.log.take(), Vec::<String>::new());
        world.advance(d!("1ms")).await;
        assert_eq!(fakes.log.take(), ["1#2 Capacity bad,b,c"]);
        let status = world.client().post("a").status().await.unwrap().unwrap();
        assert_eq!((status.flushed.items, status.dead.batches, status.dead.items), (3, 1, 3));
        assert_eq!((status.errors.len(), status.errors[1].error.message()), (2, "refused at the door"));
        assert_eq!(world.client().post("a").state().await.unwrap().unwrap().carried, 3);
        let letters = world.dead_letters().list(Default::default()).await.unwrap().letters;
        assert_eq!((letters.len(), letters[0].count), (1, 3));
        post(&world, &["g", "h", "i"]).await;
        assert_eq!(fakes.log.take(), ["3#1 Capacity g,h,i"]);
    }
}

/// B5
#[tokio::test]
async fn with_strict_order_a_batch_waits_for_the_one_before_it() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let strict = world.client().strict("a");
        strict.add("bad".into()).await.unwrap();
        strict.add("b".into()).await.unwrap();
        world.advance(d!("3999ms")).await;
        assert_eq!(fakes.log.take(), ["1#1 Capacity bad"]);
        world.advance(d!("1ms")).await;
        assert_eq!(fakes.log.take(), ["1#2 Capacity bad", "2#1 Capacity b"]);
    }
}

/// B6
#[tokio::test]
async fn flush_answers_when_its_batch_has_ended_and_says_how() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let post = world.client().post("a");
        post.add("x".into()).await.unwrap();
        assert_eq!(post.flush().await.unwrap(), Flushed { count: 1, result: FlushResult::Flushed });
        assert_eq!(fakes.log.take(), ["1#1 Manual x"]);
        assert_eq!(post.flush().await.unwrap(), Flushed { count: 0, result: FlushResult::Flushed });
        assert_eq!(fakes.log.take(), Vec::<String>::new());
        post.add("bad".into()).await.unwrap();
        let (dead, ()) = tokio::join!(post.flush(), world.advance(d!("4s")));
        let Flushed { count, result } = dead.unwrap();
        assert!(matches!(&result, FlushResult::Dead(error) if error.message() == "refused at the door"), "{result:?}");
        assert_eq!(count, 1);
    }
}

/// B6
#[tokio::test]
async fn clear_drops_what_is_not_in_flight_and_says_how_many() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let post_a = world.client().post("a");
        post(&world, &["slow", "b", "c", "d", "e", "f", "g"]).await;
        let (flushed, ()) = tokio::join!(post_a.flush(), async {
            world.settle().await;
            assert_eq!(post_a.clear().await.unwrap(), 4);
        });
        assert_eq!(flushed.unwrap(), Flushed { count: 1, result: FlushResult::Cleared });
        fakes.latch.open();
        world.advance(d!("1h")).await;
        assert_eq!(fakes.log.take(), ["1#1 Capacity slow,b,c"]);
        assert_eq!((post_a.state().await.unwrap().unwrap().carried, post_a.clear().await.unwrap()), (3, 0));
    }
}

/// B7
#[tokio::test]
async fn a_reducer_folds_items_into_one_value_that_survives_a_crash() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let till = world.client().till("a");
        assert_eq!(till.add(5).await.unwrap().buffered, 1);
        assert_eq!(till.add(6).await.unwrap().buffered, 2);
        world.restart().await;
        world.client().till("a").add(7).await.unwrap();
        assert_eq!(fakes.log.take(), ["1 Capacity 18 of 3"]);
        world.client().till("a").add(1).await.unwrap();
        world.advance(d!("10s")).await;
        assert_eq!(fakes.log.take(), ["2 Deadline 1 of 1"]);
        assert_eq!(world.client().till("a").state().await.unwrap(), Some(Till { total: 19 }));
        let told = world.events();
        assert_eq!(names(&told).iter().filter(|name| **name == "till.banked").count(), 2);
    }
}

/// B8
#[tokio::test]
async fn beyond_its_caps_add_is_refused_and_nothing_stored_is_lost() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let small = world.client().small("a");
        for item in ["slow", "b", "c"] {
            small.add(item.into()).await.unwrap();
        }
        let refused = small.add("d".into()).await;
        assert!(matches!(refused, Err(CallError::Failed(Full { what: Capped::Items, limit: 3 }))), "{refused:?}");
        fakes.latch.open();
        world.settle().await;
        // The limit is 20 bytes in all, and `"c"` takes three of them.
        let refused = small.add("d".repeat(16)).await;
        assert!(matches!(refused, Err(CallError::Failed(Full { what: Capped::Bytes, limit: 20 }))), "{refused:?}");
        world.advance(d!("10s")).await;
        assert_eq!(fakes.log.take(), ["1#1 Capacity slow,b", "2#1 Deadline c"]);
        assert_eq!(small.add("d".repeat(16)).await.unwrap().buffered, 1);
    }
}
