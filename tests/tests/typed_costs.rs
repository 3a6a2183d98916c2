//! The costs of the typed primitives in commits, entity writes, rows and reads: the table in
//! ARCHITECTURE.md.

use drystone::{
    Batch, Context, Event, Flow, Item, Never, Primitives, d, primitive,
    testing::{World, block_on},
    workflow,
};
use drystone_tests::typed::both;
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart {
    items: Vec<String>,
}

#[primitive(object)]
impl Cart {
    async fn put(&mut self, item: String) -> usize {
        self.items.push(item);
        self.items.len()
    }

    async fn look(&self) -> usize {
        self.items.len()
    }

    async fn leave(&mut self, cx: &Context) {
        cx.alarm_in("1m");
    }

    #[alarm]
    async fn rang(&mut self) -> Result<(), Never> {
        self.items.clear();
        Ok(())
    }
}

#[derive(Serialize, Deserialize)]
struct Clock(u32);

#[primitive(continuous, every = "1h")]
impl Clock {
    #[tick]
    async fn tick(&mut self) -> Result<(), Never> {
        self.0 += 1;
        Ok(())
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Post(usize);

#[primitive(buffer, max_items = 3, max_wait = "1m")]
impl Post {
    #[flush]
    async fn carry(&mut self, batch: Batch<String>) -> Result<(), Never> {
        self.0 += batch.items.len();
        Ok(())
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Jobs;

#[primitive(queue, max_attempts = 2, backoff = "1s")]
impl Jobs {
    #[process]
    async fn run(&self, item: Item<String>) -> Result<(), String> {
        if item.value == "bad" && item.attempt == 1 { Err("as asked".into()) } else { Ok(()) }
    }
}

#[derive(Event, Serialize, Deserialize)]
struct Go;

/// Delivered to all waits.
#[derive(Event, Serialize, Deserialize)]
#[event(topic)]
struct News;

/// Delivered to a single wait.
#[derive(Event, Serialize, Deserialize)]
#[event(topic, deliver = "one")]
struct Chore;

/// A log that is full after two events.
#[derive(Event, Serialize, Deserialize)]
#[event(topic, max_pending = 2)]
struct Line;

#[derive(Default, Serialize, Deserialize)]
struct Trip;

#[workflow(events(Go, News, Chore))]
impl Trip {
    async fn run(flow: &Flow<Self>, steps: u32, then: String) {
        for number in 0..steps {
            flow.walk(number).await;
        }
        match then.as_str() {
            "sleep" => flow.sleep("1m").await,
            "wait" => {
                flow.wait_for::<Go>().await;
            }
            "news" => {
                flow.wait_for::<News>().await;
            }
            "chore" => {
                flow.wait_for::<Chore>().await;
            }
            "race" => select! {
                _ = flow.wait_for::<Go>() => {}
                _ = flow.sleep("1h") => {}
            },
            _ => {}
        }
    }

    #[step]
    async fn walk(number: u32) -> u32 {
        number
    }
}

#[derive(Primitives)]
struct App {
    cart: Cart,
    clock: Clock,
    post: Post,
    jobs: Jobs,
    trip: Trip,
}

/// The commits, entity writes, rows and read calls of an operation.
async fn cost(world: &World<App>, deed: impl Future<Output = ()>) -> (u64, u64, u64, u64) {
    let before = world.counts();
    deed.await;
    let spent = world.counts().since(before);
    (spent.commits, spent.entities, spent.rows, spent.read_calls)
}

/// A world in which an entity of each kind is bound and in memory.
async fn warm(setup: drystone::testing::Setup<()>) -> World<App> {
    let world = setup.start::<App>().await;
    let client = world.client();
    client.cart("a").put("one".into()).await.expect("the store is well");
    client.clock("c").start_with(Clock(0)).await.expect("the store is well");
    client.post("p").start_with(Post(0)).await.expect("the store is well");
    client.jobs("j").start_with(Jobs).await.expect("the store is well");
    world
}

#[test]
fn an_action_is_one_commit_and_a_read_none() {
    block_on(async {
        for setup in both() {
            let world = warm(setup).await;
            let cart = world.client().cart("a");
            assert_eq!(
                cost(&world, async { assert_eq!(cart.put("two".into()).await.unwrap(), 2) }).await,
                (1, 1, 0, 0)
            );
            assert_eq!(cost(&world, async { assert_eq!(cart.look().await.unwrap(), 2) }).await, (0, 0, 0, 0));
            assert_eq!(cost(&world, async { assert!(cart.status().await.unwrap().is_some()) }).await, (0, 0, 0, 0));
            // The action's own commit sets the alarm, which rings in a commit of its own.
            assert_eq!(cost(&world, async { cart.leave().await.unwrap() }).await, (1, 1, 0, 0));
            assert_eq!(cost(&world, world.advance(d!("1m"))).await, (1, 1, 0, 0));
        }
    });
}

#[test]
fn a_tick_is_one_commit() {
    block_on(async {
        for setup in both() {
            let world = warm(setup).await;
            assert_eq!(cost(&world, world.advance(d!("1h"))).await, (1, 1, 0, 0));
            assert_eq!(cost(&world, world.advance(d!("10h"))).await, (10, 10, 0, 0));
        }
    });
}

/// An add writes one row, a flush reads once.
#[test]
fn an_add_and_a_flush_are_one_commit_each() {
    block_on(async {
        for setup in both() {
            let world = warm(setup).await;
            let post = world.client().post("p");
            let add = || async { assert!(post.add("letter".into()).await.unwrap().buffered > 0) };
            assert_eq!(cost(&world, add()).await, (1, 1, 1, 0));
            assert_eq!(cost(&world, add()).await, (1, 1, 1, 0));
            // The add that fills the batch also closes it; the flush reads the items and ends in one
            // commit.
            assert_eq!(cost(&world, add()).await, (2, 2, 1, 1));
            // The deadline closes the batch in a commit of its own.
            assert_eq!(cost(&world, add()).await, (1, 1, 1, 0));
            assert_eq!(cost(&world, world.advance(d!("1m"))).await, (2, 2, 0, 1));
        }
    });
}

#[test]
fn an_item_is_two_commits_and_one_row_in_and_out() {
    block_on(async {
        for setup in both() {
            let world = warm(setup).await;
            let jobs = world.client().jobs("j");
            let run = |item: &'static str| {
                let jobs = world.client().jobs("j");
                async move { assert!(jobs.enqueue(item.into()).await.unwrap().is_new) }
            };
            // The first commit enqueues the item. The second removes the row after the processing, without
            // a read.
            assert_eq!(cost(&world, run("good")).await, (2, 2, 2, 0));
            // A failure reads the row and moves it. The alarm begins the next attempt and moves the row
            // again.
            assert_eq!(cost(&world, run("bad")).await, (2, 2, 3, 1));
            assert_eq!(cost(&world, world.advance(d!("1s"))).await, (2, 2, 3, 1));
            // In a paused queue an item is one commit and one row, however many items wait.
            jobs.pause().await.unwrap();
            jobs.enqueue_many((0..100).map(|_| "good".to_owned())).await.unwrap();
            assert_eq!(cost(&world, run("good")).await, (1, 1, 1, 0));
        }
    });
}

/// Runs a workflow of `steps` steps, followed by `then`.
async fn travel(world: &World<App>, key: &str, steps: u32, then: &str) {
    world.client().trip(key).start(steps, then.into()).await.expect("the store is well");
}

/// W1: It reads nothing.
#[test]
fn a_run_of_n_steps_is_n_and_one_commits() {
    block_on(async {
        for setup in both() {
            let world = warm(setup).await;
            // A short journal is stored in the record. In a long one the start, each step and the end are
            // rows.
            assert_eq!(cost(&world, travel(&world, "run-a", 0, "")).await, (1, 1, 0, 1));
            assert_eq!(cost(&world, travel(&world, "run-b", 1, "")).await, (2, 2, 0, 1));
            assert_eq!(cost(&world, travel(&world, "run-c", 10, "")).await, (11, 11, 0, 1));
            assert_eq!(cost(&world, travel(&world, "run-d", 20, "")).await, (21, 21, 22, 1));
        }
    });
}

/// V4, V5, H1: A sleep is one more.
#[test]
fn an_event_to_a_waiting_run_is_one_commit() {
    block_on(async {
        for setup in both() {
            let world = warm(setup).await;
            let send = |key: &'static str| {
                let run = world.client().trip(key);
                async move { assert!(run.send(Go).await.unwrap().number > 0) }
            };
            // The commit that reaches the wait also stores the wait, with the deadline in the race.
            assert_eq!(cost(&world, travel(&world, "run-a", 0, "wait")).await, (1, 1, 0, 1));
            assert_eq!(cost(&world, travel(&world, "run-b", 0, "race")).await, (1, 1, 0, 1));
            // One commit stores the event, takes it and does all that follows, so no queue row is ever
            // written.
            assert_eq!(cost(&world, send("run-a")).await, (1, 1, 0, 0));
            assert_eq!(cost(&world, send("run-b")).await, (1, 1, 0, 0));
            assert_eq!(cost(&world, travel(&world, "run-c", 0, "sleep")).await, (1, 1, 0, 1));
            assert_eq!(cost(&world, world.advance(d!("1m"))).await, (1, 1, 0, 0));
            // An event without a wait is a row in its queue.
            assert_eq!(cost(&world, travel(&world, "run-d", 0, "sleep")).await, (1, 1, 0, 1));
            assert_eq!(cost(&world, send("run-d")).await, (1, 1, 1, 0));
        }
    });
}

/// T1, T3, T5: The topic commits, and the run that takes the event commits.
#[test]
fn a_published_event_is_two_commits() {
    block_on(async {
        for setup in both() {
            let world = warm(setup).await;
            let client = world.client();
            let publish = || async { assert!(client.publish(News).await.unwrap().number > 0) };
            let offer = || async { assert!(client.publish(Chore).await.unwrap().number > 0) };
            // The first publish creates the topic; each event is a row of its log.
            assert_eq!(cost(&world, publish()).await, (1, 1, 1, 1));
            assert_eq!(cost(&world, publish()).await, (1, 1, 1, 0));
            // A wait is a message to the topic, which stores a row for it.
            assert_eq!(cost(&world, travel(&world, "run-a", 0, "news")).await, (2, 2, 1, 1));
            // The topic logs the event, removes the wait's row and notes the delivery; then the run's
            // commit does all that follows.
            assert_eq!(cost(&world, publish()).await, (2, 2, 3, 1));
            // An event for a single wait stays in a lane of its own until a run asks for it, gets it and
            // continues.
            assert_eq!(cost(&world, offer()).await, (1, 1, 1, 1));
            assert_eq!(cost(&world, offer()).await, (1, 1, 1, 0));
            assert_eq!(cost(&world, travel(&world, "run-b", 0, "chore")).await, (3, 3, 3, 2));
            // A run takes the second event. A third event finds a listed wait and is never stored in that
            // lane.
            travel(&world, "run-c", 0, "chore").await;
            travel(&world, "run-d", 0, "chore").await;
            assert_eq!(cost(&world, offer()).await, (2, 2, 3, 1));
            // A full log drops its oldest event without a search.
            client.publish(Line).await.unwrap();
            client.publish(Line).await.unwrap();
            let full = async { assert_eq!(client.publish(Line).await.unwrap().number, 3) };
            assert_eq!(cost(&world, full).await, (1, 1, 2, 0));
        }
    });
}

/// T5
#[test]
fn an_event_to_many_is_a_commit_for_each_slice_of_them() {
    block_on(async {
        for setup in both() {
            let world = warm(setup).await;
            for run in 0..100 {
                travel(&world, &format!("run-{run}"), 0, "news").await;
            }
            let publish = async { assert_eq!(world.client().publish(News).await.unwrap().waiting, 100) };
            let told = async {
                publish.await;
                world.settle().await;
            };
            // The topic commits twice: the first slice with the event, then the rest. Each run commits
            // once; many runs share a batch.
            let (_, entities, rows, reads) = cost(&world, told).await;
            assert_eq!((entities, rows, reads), (102, 103, 3));
        }
    });
}

/// W8, L2
#[test]
fn a_run_outside_memory_costs_one_read_of_its_journal() {
    block_on(async {
        for setup in both() {
            let world = warm(setup).await;
            travel(&world, "run-a", 20, "wait").await;
            world.restart().await;
            let run = world.client().trip("run-a");
            assert_eq!(cost(&world, async { assert!(run.send(Go).await.unwrap().taken) }).await, (1, 1, 2, 2));
            travel(&world, "run-b", 20, "wait").await;
            world.restart().await;
            // The status of a run needs only the record.
            let run = world.client().trip("run-b");
            assert_eq!(cost(&world, async { assert!(run.status().await.unwrap().is_some()) }).await, (0, 0, 0, 1));
            // So does the state, while the run is not in memory (L2).
            world.restart().await;
            assert_eq!(cost(&world, async { assert!(run.state().await.unwrap().is_some()) }).await, (0, 0, 0, 1));
            assert_eq!(cost(&world, async { assert!(run.send(Go).await.unwrap().taken) }).await, (1, 1, 2, 1));
            // A run with a short journal needs only the record, which contains the journal.
            travel(&world, "run-c", 1, "wait").await;
            world.restart().await;
            let run = world.client().trip("run-c");
            assert_eq!(cost(&world, async { assert!(run.send(Go).await.unwrap().taken) }).await, (1, 1, 0, 1));
            // The scan that wakes a sleeping run brings its record.
            for (key, steps, rows, reads) in [("run-d", 1, 0, 0), ("run-e", 20, 2, 1)] {
                travel(&world, key, steps, "sleep").await;
                world.restart().await;
                assert_eq!(cost(&world, world.advance(d!("1m"))).await, (1, 1, rows, reads));
            }
        }
    });
}
