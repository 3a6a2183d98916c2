//! The outbox: the messages of an author's transaction are a part of the transaction (M6).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use drystone::{
    Batch, CallError, Client, Event, Flow, Item, Primitives, SqlError, Transaction, d, primitive,
    sql::SqlErrorKind,
    testing::{Fault, Moment, Setup, World, crash_everywhere},
    workflow,
};
use serde::{Deserialize, Serialize};

const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS orders (name TEXT NOT NULL)";

/// Sends mails; the state lists all sent mails.
#[derive(Default, Serialize, Deserialize)]
struct Mails {
    sent: Vec<String>,
}

#[primitive(queue)]
impl Mails {
    #[process]
    async fn send(&mut self, item: Item<String>) -> Result<(), String> {
        self.sent.push(item.value);
        Ok(())
    }
}

#[derive(Debug, Event, Serialize, Deserialize)]
struct Paid {
    cents: u64,
}

#[derive(Debug, Event, Serialize, Deserialize)]
#[event(topic)]
struct Opened;

/// A run that waits for an event of its own and for a published event.
#[derive(Default, Serialize, Deserialize)]
struct Checkout;

#[workflow(events(Paid, Opened))]
impl Checkout {
    async fn run(flow: &Flow<Self>, name: String) -> String {
        let paid = flow.wait_for::<Paid>().await;
        flow.wait_for::<Opened>().await;
        format!("{name} {}", paid.cents)
    }
}

/// A run with a single step, which writes and mails an order.
#[derive(Default, Serialize, Deserialize)]
struct Sale;

#[workflow]
impl Sale {
    async fn run(flow: &Flow<Self>, name: String) -> Result<(), SqlError> {
        flow.book(name).await
    }

    #[step(transaction)]
    fn book(name: String, mails: &Client<Mails>, sql: &mut Transaction<'_>) -> Result<(), SqlError> {
        sql.send(mails.get("out").enqueue(name.clone()))?;
        sql.execute("INSERT INTO orders VALUES (?1)", (name,)).map(drop)
    }
}

/// A buffer that writes and mails two orders at a time.
#[derive(Default, Serialize, Deserialize)]
struct Basket;

#[primitive(buffer, max_items = 2)]
impl Basket {
    #[flush(transaction)]
    fn flush(&self, sql: &mut Transaction<'_>, batch: Batch<String>, mails: &Client<Mails>) -> Result<(), SqlError> {
        for name in batch.items {
            sql.execute("INSERT INTO orders VALUES (?1)", (&name,))?;
            mails.send(mails.get("out").enqueue(name));
        }
        Ok(())
    }
}

#[derive(Primitives)]
struct App {
    mails: Mails,
    checkout: Checkout,
    sale: Sale,
    basket: Basket,
}

async fn started(setup: Setup<()>) -> World<App> {
    setup.schema(SCHEMA).start::<App>().await
}

/// Writes and mails an order in one transaction, which then fails if `fails` is set.
async fn order(world: &World<App>, name: &'static str, fails: bool) -> Result<(), CallError<SqlError>> {
    let client = world.client();
    let ordered = world.transaction(move |sql| {
        sql.execute("INSERT INTO orders VALUES (?1)", (name,))?;
        sql.send(client.mails("out").enqueue(name.to_owned()))?;
        if fails { sql.execute("INSERT INTO nowhere VALUES (1)", ()).map(drop) } else { Ok(()) }
    });
    ordered.await
}

async fn orders(world: &World<App>) -> Vec<String> {
    world.transaction(|sql| sql.query("SELECT name FROM orders ORDER BY name", (), |row| row.get(0))).await.unwrap()
}

async fn mailed(world: &World<App>) -> Vec<String> {
    world.client().mails("out").state().await.unwrap().map(|mails| mails.sent).unwrap_or_default()
}

/// M6
#[tokio::test]
async fn what_a_transaction_sends_is_delivered_with_its_rows_and_at_once() {
    let world = started(World::sqlite()).await;
    order(&world, "a", false).await.unwrap();
    world.settle().await;
    assert_eq!((orders(&world).await, mailed(&world).await), (vec!["a".to_owned()], vec!["a".to_owned()]));
}

/// M6
#[tokio::test]
async fn a_transaction_that_fails_sends_nothing() {
    let world = started(World::sqlite()).await;
    order(&world, "a", true).await.unwrap_err();
    world.advance(d!("1h")).await;
    assert!(orders(&world).await.is_empty() && mailed(&world).await.is_empty());
}

/// M6
#[tokio::test]
async fn a_crash_at_the_transaction_loses_both_or_neither() {
    for (moment, expected) in [(Moment::Before, 0), (Moment::After, 1)] {
        let world = started(World::sqlite()).await;
        order(&world, "first", false).await.unwrap();
        world.settle().await;
        world.crash_at_commit(1, moment);
        order(&world, "second", false).await.unwrap_err();
        world.restart().await;
        world.advance(d!("1h")).await;
        let (orders, mailed) = (orders(&world).await, mailed(&world).await);
        assert_eq!(orders.len(), 1 + expected, "{moment:?}");
        assert_eq!(orders, mailed, "{moment:?}");
    }
}

/// M6
#[tokio::test]
async fn a_message_is_delivered_once_wherever_its_delivery_crashes() {
    for (write, moment) in (2..=5).flat_map(|write| [(write, Moment::Before), (write, Moment::After)]) {
        let world = started(World::sqlite()).await;
        world.crash_at_commit(write, moment);
        order(&world, "a", false).await.unwrap();
        world.advance(d!("1h")).await;
        world.restart().await;
        world.advance(d!("1h")).await;
        assert_eq!(mailed(&world).await, ["a"], "{moment:?} write {write}");
    }
}

/// M6
#[tokio::test]
async fn a_message_is_delivered_although_the_stores_answer_was_lost() {
    let world = started(World::sqlite()).await;
    world.store_fails(Fault::LostAnswer);
    order(&world, "a", false).await.unwrap_err();
    world.advance(d!("3d")).await;
    assert_eq!((orders(&world).await, mailed(&world).await), (vec!["a".to_owned()], vec!["a".to_owned()]));
}

/// M6, V11, T1
#[tokio::test]
async fn a_transaction_starts_a_run_sends_it_an_event_and_publishes_one() {
    let world = started(World::sqlite()).await;
    let (client, run) = (world.client(), world.client().checkout("7"));
    world
        .transaction(move |sql| {
            sql.send(client.checkout("7").start("ada".to_owned()))?;
            sql.send(client.checkout("7").send(Paid { cents: 42 }))
        })
        .await
        .unwrap();
    world.settle().await;
    let client = world.client();
    world.transaction(move |sql| sql.send(client.publish(Opened))).await.unwrap();
    assert_eq!(run.result().await.unwrap(), "ada 42");
}

/// M6, M1
#[tokio::test]
async fn messages_of_one_transaction_arrive_in_order() {
    let world = started(World::sqlite()).await;
    let client = world.client();
    let names = |count: usize| (0..count).map(|number| format!("{number:03}"));
    world
        .transaction(move |sql| names(500).try_for_each(|name| sql.send(client.mails("out").enqueue(name))))
        .await
        .unwrap();
    world.advance(d!("1h")).await;
    assert_eq!(mailed(&world).await, names(500).collect::<Vec<_>>());
}

/// M6, K3
#[tokio::test]
async fn a_transaction_sends_1000_messages_and_4_mib_at_most() {
    let world = started(World::sqlite()).await;
    for (count, length) in [(1_001, 1), (5, 1_000_000), (1, 1 << 20)] {
        let client = world.client();
        let refused = world
            .transaction(move |sql| {
                sql.execute("INSERT INTO orders VALUES ('never')", ())?;
                (0..count).try_for_each(|_| sql.send(client.mails("out").enqueue("x".repeat(length))))
            })
            .await;
        let Err(CallError::Failed(error)) = refused else { panic!("{count} messages of {length} bytes are too much") };
        assert_eq!(error.kind(), SqlErrorKind::Limit, "{error}");
    }
    world.advance(d!("1h")).await;
    assert!(orders(&world).await.is_empty() && mailed(&world).await.is_empty());
}

/// M6, W6, X1
#[tokio::test]
async fn a_step_and_a_hook_send_exactly_once_wherever_they_crash() {
    let survived = crash_everywhere(async |setup| {
        let world = started(setup).await;
        let client = world.client();
        client.sale("7").start("a".to_owned()).await.unwrap();
        client.sale("7").result().await.unwrap();
        client.basket("8").add("b".to_owned()).await.unwrap();
        client.basket("8").add("c".to_owned()).await.unwrap();
        world.advance(d!("1m")).await;
        let mut mailed = mailed(&world).await;
        mailed.sort();
        (orders(&world).await, mailed)
    });
    survived.await.unwrap();
}

/// M6, E2
#[tokio::test]
async fn the_receiver_is_the_one_of_its_primitive_also_with_shared_keys() {
    let setups = [World::sqlite().schema(SCHEMA), World::sqlite().schema(SCHEMA).shared_keys()];
    for (setup, run) in setups.into_iter().zip(["out", "another"]) {
        let world = setup.start::<App>().await;
        world.client().sale(run).start("a".to_owned()).await.unwrap();
        world.client().sale(run).result().await.unwrap();
        world.settle().await;
        assert_eq!(mailed(&world).await, ["a"]);
    }
}
