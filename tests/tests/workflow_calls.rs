//! Calls of other entities from a body: each is done once, whatever happens to the process meanwhile (M5).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use drystone::{
    Batch, Client, Failure, Fault, Flow, Item, Primitives, d, primitive,
    testing::{self, Moment, Setup, World},
    workflow,
    workflow::Cause,
};
use drystone_tests::typed::both;
use serde::{Deserialize, Serialize};

/// The stock of an item.
#[derive(Default, Serialize, Deserialize)]
struct Stock {
    left: u32,
    taken: u32,
}

#[primitive(object)]
impl Stock {
    async fn put(&mut self, count: u32) -> u32 {
        self.left += count;
        self.left
    }

    async fn take(&mut self, count: u32) -> Result<u32, String> {
        self.left = self.left.checked_sub(count).ok_or_else(|| format!("only {} are left", self.left))?;
        self.taken += 1;
        Ok(self.left)
    }

    async fn break_down(&mut self) -> u32 {
        panic!("it breaks")
    }
}

/// Takes from two stocks, and puts back what it does not need.
#[derive(Default, Serialize, Deserialize)]
struct Order;

#[workflow]
impl Order {
    async fn run(flow: &Flow<Self>, wants: u32, stocks: &Client<Stock>) -> Result<Vec<u32>, Failure> {
        let first = flow.try_call(stocks.get("a").take(wants)).await?;
        let (second, third) = join!(flow.try_call(stocks.get("b").take(wants)), Self::give_back(flow, stocks, wants));
        Ok(vec![first, second?, third])
    }

    async fn give_back(flow: &Flow<Self>, stocks: &Client<Stock>, count: u32) -> u32 {
        flow.call(stocks.get("c").put(count)).await
    }
}

/// Makes calls that can have no answer.
#[derive(Default, Serialize, Deserialize)]
struct Curious;

#[workflow]
impl Curious {
    async fn run(flow: &Flow<Self>, stocks: &Client<Stock>) -> Vec<Result<u32, Fault>> {
        let broken = flow.call(stocks.get("a").break_down()).catch().await;
        vec![broken, flow.call(stocks.get("").put(1)).catch().await]
    }
}

/// Makes a read whose answer may be `null`.
#[derive(Default, Serialize, Deserialize)]
struct Looker;

#[workflow]
impl Looker {
    async fn run(flow: &Flow<Self>, key: String, stocks: &Client<Stock>) -> Option<u32> {
        flow.call(stocks.get(key).state()).await.map(|stock| stock.left)
    }
}

/// Records each parcel with a number, so that a doubled parcel is visible.
#[derive(Default, Serialize, Deserialize)]
struct Shipping {
    sent: Vec<(u64, String)>,
}

#[primitive(queue)]
impl Shipping {
    #[process]
    async fn send(&mut self, parcel: Item<String>) -> Result<(), Failure> {
        self.sent.push((parcel.number, parcel.value.clone()));
        Ok(())
    }
}

/// Collects the lines of a bill in batches.
#[derive(Default, Serialize, Deserialize)]
struct Billing {
    lines: Vec<String>,
}

#[primitive(buffer, max_items = 2, max_wait = "1h")]
impl Billing {
    #[flush]
    async fn bill(&mut self, batch: Batch<String>) -> Result<(), Failure> {
        self.lines.extend(batch.items.iter().cloned());
        Ok(())
    }
}

/// Enqueues into a queue and adds to a buffer.
#[derive(Default, Serialize, Deserialize)]
struct Sale;

#[workflow]
impl Sale {
    async fn run(flow: &Flow<Self>, shipping: &Client<Shipping>, billing: &Client<Billing>) -> Result<Sold, Failure> {
        let (shipping, billing) = (shipping.get("shipping"), billing.get("billing"));
        let mut sold = Sold::default();
        for what in ["cup", "jug"] {
            sold.parcels.push(flow.try_call(shipping.enqueue(what.to_owned())).await?.number);
            sold.lines.push(flow.try_call(billing.add(what.to_owned())).await?.buffered);
        }
        Ok(sold)
    }
}

/// The answers: the numbers of the parcels, and the number of lines after each add.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Sold {
    parcels: Vec<u64>,
    lines: Vec<u64>,
}

#[derive(Primitives)]
struct App {
    shipping: Shipping,
    billing: Billing,
    sale: Sale,
    stock: Stock,
    order: Order,
    curious: Curious,
    looker: Looker,
}

async fn stocked(setup: Setup<()>) -> World<App> {
    let world = setup.start::<App>().await;
    for key in ["a", "b", "c"] {
        world.client().stock(key).put(10).await.unwrap();
    }
    world
}

/// M5
#[test]
fn a_body_calls_entities_and_has_their_answers() {
    for setup in both() {
        testing::block_on(async {
            let world = stocked(setup).await;
            let order = world.client().order("o");
            assert_eq!(order.execute(3).await.unwrap(), [7, 7, 13]);
            assert_eq!(world.client().stock("a").state().await.unwrap().unwrap().taken, 1);
        });
    }
}

/// M5
#[test]
fn an_error_of_the_action_is_its_answer() {
    for setup in both() {
        testing::block_on(async {
            let world = stocked(setup).await;
            let order = world.client().order("o");
            let error = order.execute(11).await.unwrap_err();
            assert!(error.to_string().contains("only 10 are left"), "{error}");
            assert_eq!(world.client().stock("a").state().await.unwrap().unwrap().left, 10);
        });
    }
}

/// M5: the process dies before and after every commit, and each call is done once.
#[test]
fn a_call_is_done_once_wherever_the_process_dies() {
    for setup in [World::memory, World::sqlite] {
        testing::block_on(async {
            for (commit, moment) in (1..12).flat_map(|commit| [(commit, Moment::Before), (commit, Moment::After)]) {
                let world = stocked(setup()).await;
                let order = world.client().order("o");
                world.crash_at_commit(commit, moment);
                let _ = order.start_or_get(3).await;
                world.settle().await;
                if world.is_dead() {
                    world.restart().await;
                    order.start_or_get(3).await.unwrap();
                }
                assert_eq!(order.result().await.unwrap(), [7, 7, 13], "{commit} {moment:?}");
                for key in ["a", "b"] {
                    let stock = world.client().stock(key).state().await.unwrap().unwrap();
                    assert_eq!((stock.left, stock.taken), (7, 1), "{key}, {commit} {moment:?}");
                }
            }
        });
    }
}

/// Checks that two parcels and two lines are there once each; the second line closes the batch.
async fn sold_once(world: &World<App>, sold: &Sold, at: &str) {
    assert_eq!(*sold, Sold { parcels: vec![1, 2], lines: vec![1, 2] }, "{at}");
    let shipping = world.client().shipping("shipping").state().await.unwrap().unwrap();
    assert_eq!(shipping.sent, [(1, "cup".to_owned()), (2, "jug".to_owned())], "{at}");
    let billing = world.client().billing("billing").state().await.unwrap().unwrap();
    assert_eq!(billing.lines, ["cup", "jug"], "{at}");
}

/// M5, Q1, B2
#[test]
fn a_body_enqueues_and_adds() {
    for setup in both() {
        testing::block_on(async {
            let world = stocked(setup).await;
            let sold = world.client().sale("x").execute().await.unwrap();
            world.settle().await;
            sold_once(&world, &sold, "undisturbed").await;
            let history = world.client().sale("x").history().await.unwrap();
            testing::replay::<Sale>(&history).unwrap();
        });
    }
}

/// M5: the same wherever the process dies.
#[test]
fn a_body_enqueues_and_adds_once_wherever_the_process_dies() {
    for setup in [World::memory, World::sqlite] {
        testing::block_on(async {
            let mut deaths = 0;
            for (commit, moment) in (1..20).flat_map(|commit| [(commit, Moment::Before), (commit, Moment::After)]) {
                let world = stocked(setup()).await;
                let sale = world.client().sale("x");
                world.crash_at_commit(commit, moment);
                let _ = sale.start_or_get().await;
                world.settle().await;
                if world.is_dead() {
                    deaths += 1;
                    world.restart().await;
                    sale.start_or_get().await.unwrap();
                }
                let sold = sale.result().await.unwrap();
                world.settle().await;
                sold_once(&world, &sold, &format!("{commit} {moment:?}")).await;
            }
            assert!((20..38).contains(&deaths), "it dies at every commit, and then not any more: {deaths}");
        });
    }
}

/// M5: an answer that no run has recorded yet is remembered for 90 days.
#[test]
fn a_call_whose_answer_was_lost_is_not_done_again_after_months() {
    for setup in both() {
        testing::block_on(async {
            let world = stocked(setup).await;
            let order = world.client().order("o");
            world.crash_at_commit(2, Moment::After);
            let _ = order.start_or_get(3).await;
            world.settle().await;
            assert!(world.is_dead(), "it has taken, and the run does not know it");
            world.advance(d!("89d")).await;
            world.restart().await;
            assert_eq!(order.result().await.unwrap(), [7, 7, 13]);
            assert_eq!(world.client().stock("a").state().await.unwrap().unwrap().taken, 1);
        });
    }
}

/// M5: a call that can never be answered is a fault, and is not retried forever.
#[test]
fn what_cannot_be_answered_is_a_fault() {
    for setup in both() {
        testing::block_on(async {
            let world = stocked(setup).await;
            let faults = world.client().curious("cat").execute().await.unwrap();
            let causes = faults.into_iter().map(|answer| answer.unwrap_err());
            let reasons: Vec<_> = causes
                .map(|fault| match fault.cause {
                    Cause::Refused { reason } => reason,
                    other => panic!("{other:?}"),
                })
                .collect();
            assert!(reasons[0].contains("it breaks") && reasons[1].contains("bytes of a key"), "{reasons:?}");
        });
    }
}

/// M5: an empty answer is an answer, also in a replay.
#[test]
fn nothing_is_an_answer() {
    for setup in both() {
        testing::block_on(async {
            let world = stocked(setup).await;
            let client = world.client();
            assert_eq!(client.looker("x").execute("a".into()).await.unwrap(), Some(10));
            assert_eq!(client.looker("y").execute("nobody".into()).await.unwrap(), None);
            let history = client.looker("y").history().await.unwrap();
            testing::replay::<Looker>(&history).unwrap();
        });
    }
}

/// L2: `execute` finds the existing run if the input is the same.
#[test]
fn to_execute_again_is_to_wait_for_the_same_run() {
    for setup in both() {
        testing::block_on(async {
            let world = stocked(setup).await;
            let order = world.client().order("o");
            order.start(3).await.unwrap();
            assert_eq!(order.execute(3).await.unwrap(), [7, 7, 13]);
            assert_eq!(order.execute(3).await.unwrap(), [7, 7, 13]);
            assert_eq!(world.client().stock("a").state().await.unwrap().unwrap().taken, 1);
            let other = order.execute(4).await.unwrap_err().to_string();
            assert!(other.contains("with another input"), "{other}");
        });
    }
}
