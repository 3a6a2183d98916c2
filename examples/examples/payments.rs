//! Topics: a webhook publishes a payment, and every run that waits for that order gets it. The webhook does
//! not need to know the runs.
//!
//! `Paid` goes to all runs that wait for its order (a log). `Packing` goes to one free packer (a work
//! queue). The process dies between the waits and the payment.

use drystone::{Event, Flow, Primitives, PublishError, Runtime, d, workflow};
use drystone_examples::{is_first_life, two_lives};
use serde::{Deserialize, Serialize};

/// Event: an order was paid. All runs that wait for this order get the event.
#[derive(Event, Serialize, Deserialize)]
#[event(topic, key = order, from = "created")]
struct Paid {
    order: String,
    cents: u64,
}

/// Event: a parcel must be packed. The longest waiting packer gets it. Without a waiting packer it is kept.
#[derive(Event, Serialize, Deserialize)]
#[event(topic, deliver = "one", keep_for = "1d")]
struct Packing {
    order: String,
}

/// Ships the order once it is paid.
#[derive(Default, Serialize, Deserialize)]
struct Shipping;

#[workflow(events(Paid))]
impl Shipping {
    async fn run(flow: &Flow<Self>, order: String) -> Result<String, PublishError> {
        let paid = flow.wait_for::<Paid>().key(&order).await;
        let published = flow.publish(Packing { order: order.clone() }).await?;
        Ok(format!("{order}: {} cents, {} packers wait", paid.cents, published.waiting))
    }
}

/// Thanks for the payment, or reminds if it does not come within an hour.
#[derive(Default, Serialize, Deserialize)]
struct Thanks;

#[workflow(events(Paid))]
impl Thanks {
    async fn run(flow: &Flow<Self>, order: String) -> String {
        match flow.wait_for::<Paid>().key(&order).timeout("1h").await {
            Ok(paid) => format!("{order}: thanks for {} cents", paid.cents),
            Err(_) => format!("{order}: a reminder"),
        }
    }
}

/// Packs one parcel.
#[derive(Default, Serialize, Deserialize)]
struct Packer;

#[workflow(events(Packing))]
impl Packer {
    async fn run(flow: &Flow<Self>) -> String {
        let Packing { order } = flow.wait_for::<Packing>().await;
        format!("{} packs {order}", flow.key_text())
    }
}

#[derive(Primitives)]
struct App {
    shipping: Shipping,
    thanks: Thanks,
    packer: Packer,
}

fn main() -> anyhow::Result<()> {
    two_lives(async |file| {
        let runtime = Runtime::sqlite(file).start::<App>().await?;
        if is_first_life() {
            wait(&runtime.client()).await?;
        } else {
            pay(&runtime.client()).await?;
        }
        Ok(runtime.shutdown(d!("5s")).await?)
    })
}

/// The first life: lets two runs wait for the payment and two packers for work, then dies.
async fn wait(client: &AppClient) -> anyhow::Result<()> {
    println!("  two runs wait for order-9 to be paid, and two packers for something to pack");
    client.shipping("ship-9").start("order-9".into()).await?;
    client.thanks("thank-9").start("order-9".into()).await?;
    client.packer("ann").start().await?;
    client.packer("bob").start().await?;
    for watcher in client.topic_of::<Paid>("order-9").watchers(None).await?.watchers {
        println!("  {} {} waits in {}", watcher.workflow, watcher.run, watcher.operation);
    }
    println!("  the process dies");
    std::process::abort()
}

/// The second life: publishes the payment twice, and checks that it counts once.
async fn pay(client: &AppClient) -> anyhow::Result<()> {
    println!("  the webhook comes, and comes again");
    for _ in 0..2 {
        let paid = Paid { order: "order-9".into(), cents: 1200 };
        let published = client.publish(paid).idempotency_key("hook-1").await?;
        println!("  published as number {}, {} waited", published.number, published.waiting);
        assert_eq!((published.number, published.waiting), (1, 2));
    }
    let (shipped, thanked) = (client.shipping("ship-9").result().await?, client.thanks("thank-9").result().await?);
    println!("  {shipped}\n  {thanked}\n  {}", client.packer("ann").result().await?);
    assert_eq!(shipped, "order-9: 1200 cents, 2 packers wait");
    assert_eq!(thanked, "order-9: thanks for 1200 cents");
    assert_eq!(client.packer("bob").try_result().await?, None, "one parcel, one packer");
    for to in client.topic_of::<Paid>("order-9").deliveries(1, None).await?.deliveries {
        println!("  number 1 went to {} {}", to.workflow, to.run);
    }
    Ok(())
}
