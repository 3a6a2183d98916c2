//! Slots, keys, and waits for several events (V2, V8).

use super::*;

#[derive(Primitives)]
struct App {
    slots: Slots,
    orders: Orders,
    stock: Stock,
    three: Three,
    any: Any,
    all: All,
}

/// Takes a price and a bid.
#[derive(Default, Serialize, Deserialize)]
struct Slots;

#[workflow(events(Price, Bid))]
impl Slots {
    async fn run(flow: &Flow<Self>) -> [u32; 2] {
        flow.sleep("1m").await;
        [flow.wait_for::<Price>().await.0, flow.wait_for::<Bid>().await.0]
    }
}

/// V2
#[tokio::test]
async fn a_slot_keeps_the_latest_or_the_first_and_counts_the_others() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let run = world.client().slots("a");
        run.start().await.unwrap();
        for number in 1..=3 {
            run.send(Price(number)).await.unwrap();
            run.send(Bid(number)).await.unwrap();
        }
        let queued = run.status().await.unwrap().unwrap().queued;
        let counts: Vec<_> = queued.iter().map(|of| (of.event.as_str(), of.count, of.overwritten)).collect();
        assert_eq!(counts, [("Bid", 1, 2), ("Price", 1, 2)]);
        world.advance(d!("1m")).await;
        assert_eq!(run.result().await.unwrap(), [3, 1]);
    }
}

/// Takes a payment of the second order, and then any payment.
#[derive(Default, Serialize, Deserialize)]
struct Orders;

#[workflow(events(Paid))]
impl Orders {
    async fn run(flow: &Flow<Self>) -> [u32; 2] {
        flow.sleep("1m").await;
        let second = flow.wait_for::<Paid>().key("order-2").await;
        [second.amount, flow.wait_for::<Paid>().await.amount]
    }
}

/// V8: Events with another key stay queued.
#[tokio::test]
async fn a_wait_with_a_key_takes_the_oldest_of_that_key() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let run = world.client().orders("a");
        run.start().await.unwrap();
        for (order, amount) in [("order-1", 1), ("order-2", 2), ("order-2", 3)] {
            run.send(Paid { order: order.into(), amount }).await.unwrap();
        }
        world.advance(d!("1m")).await;
        assert_eq!(run.result().await.unwrap(), [2, 1]);
    }
}

/// An event with a key of two fields.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(key = (aisle, shelf))]
struct Stocked {
    number: u32,
    shelf: u8,
    aisle: String,
}

/// Takes an item of a certain shelf, and then of any shelf.
#[derive(Default, Serialize, Deserialize)]
struct Stock;

#[workflow(events(Stocked))]
impl Stock {
    async fn run(flow: &Flow<Self>) -> [u32; 2] {
        flow.sleep("1m").await;
        let second = flow.wait_for::<Stocked>().key(("a/1".to_owned(), 2)).await;
        [second.number, flow.wait_for::<Stocked>().await.number]
    }
}

/// V8
#[tokio::test]
async fn a_wait_with_a_key_of_several_fields_matches_all_of_them() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let run = world.client().stock("a");
        run.start().await.unwrap();
        for (aisle, shelf, number) in [("a/1", 1, 1), ("a", 2, 2), ("a/1", 2, 3), ("a/1", 2, 4)] {
            run.send(Stocked { number, shelf, aisle: aisle.into() }).await.unwrap();
        }
        world.restart().await;
        world.advance(d!("1m")).await;
        assert_eq!(run.result().await.unwrap(), [3, 1]);
    }
}

/// Takes three numbers at once, or one if three do not come within a minute.
#[derive(Default, Serialize, Deserialize)]
struct Three;

#[workflow(events(Number))]
impl Three {
    async fn run(flow: &Flow<Self>) -> Vec<u32> {
        flow.sleep("1m").await;
        match flow.wait_for::<Number>().times(3).timeout("1m").await {
            Ok(numbers) => numbers.into_iter().map(|number| number.0).collect(),
            Err(_) => vec![flow.wait_for::<Number>().await.0],
        }
    }
}

/// Takes a number or a price.
#[derive(Default, Serialize, Deserialize)]
struct Any;

#[workflow(events(Number, Price))]
impl Any {
    async fn run(flow: &Flow<Self>) -> u32 {
        flow.sleep("1m").await;
        select! {
            number = flow.wait_for::<Number>() => number.0,
            price = flow.wait_for::<Price>() => price.0,
        }
    }
}

/// Takes a number and a price.
#[derive(Default, Serialize, Deserialize)]
struct All;

#[workflow(events(Number, Price))]
impl All {
    async fn run(flow: &Flow<Self>) -> [u32; 2] {
        flow.sleep("1m").await;
        let (number, price) = join!(flow.wait_for::<Number>(), flow.wait_for::<Price>());
        [number.0, price.0]
    }
}

/// V8
#[tokio::test]
async fn several_events_any_of_them_and_all_of_them() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let three = world.client().three("three");
        three.start().await.unwrap();
        for number in 1..=3 {
            three.send(Number(number)).await.unwrap();
        }
        let too_few = world.client().three("too few");
        too_few.start().await.unwrap();
        too_few.send(Number(1)).await.unwrap();
        let (any, all) = (world.client().any("any"), world.client().all("all"));
        any.start().await.unwrap();
        any.send(Price(4)).await.unwrap();
        all.start().await.unwrap();
        world.advance(d!("1m")).await;
        all.send(Price(5)).await.unwrap();
        all.send(Number(6)).await.unwrap();
        world.advance(d!("1m")).await;
        assert_eq!(three.result().await.unwrap(), [1, 2, 3]);
        assert_eq!(too_few.result().await.unwrap(), [1], "what a wait did not get whole stays queued");
        assert_eq!(any.result().await.unwrap(), 4);
        assert_eq!(all.result().await.unwrap(), [6, 5]);
    }
}
