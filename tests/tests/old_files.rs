//! A file of an earlier build opens, and everything in progress in it resumes (K2).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use std::path::{Path, PathBuf};

use drystone::{
    Batch, Context, Event, Failure, Flow, Item, Primitives, Services, Transaction, d,
    dead_letters::Filter,
    primitive,
    testing::{Latch, Log, Setup, World},
    workflow,
};
use serde::{Deserialize, Serialize};

/// Schema version 1, as [`write_a_file`] made it before version 2 existed. It never changes.
const VERSION_1: &[u8] = include_bytes!("files/version-1.db");

const LEDGER: &str = "CREATE TABLE IF NOT EXISTS ledger (name TEXT NOT NULL, cents INTEGER NOT NULL)";

/// A log; every reader starts at its beginning.
#[derive(Clone, Debug, Event, Serialize, Deserialize)]
#[event(topic, from = "start", keep_for = "1d")]
struct Page(u32);

#[derive(Debug, Event, Serialize, Deserialize)]
struct Approved(String);

/// Books, charges, waits for an approval, and sleeps.
#[derive(Default, Serialize, Deserialize)]
struct Checkout {
    charges: Vec<String>,
}

#[workflow(events(Approved, Page))]
impl Checkout {
    async fn run(flow: &Flow<Self>, cents: u64) -> Result<String, Failure> {
        flow.book(cents).await?;
        let charge = flow.charge(cents).await;
        flow.update(|checkout| checkout.charges.push(charge));
        let Approved(by) = flow.wait_for::<Approved>().await;
        flow.sleep("1h").await;
        let Page(page) = flow.wait_for::<Page>().await;
        flow.charge(1).await;
        Ok(format!("{by}, page {page}"))
    }

    #[step(transaction)]
    fn book(cents: u64, sql: &mut Transaction<'_>) -> Result<(), Failure> {
        sql.execute("INSERT INTO ledger VALUES ('sale', ?1)", (cents,))?;
        Ok(())
    }

    #[step]
    async fn charge(cents: u64, log: &Log, latch: &Latch, cx: &Context) -> String {
        log.say(format!("charge {cents} {}", cx.work_id()));
        latch.clone().wait().await;
        cx.work_id().to_owned()
    }
}

/// Sends two mails at a time. A `bad` mail fails for good at once.
#[derive(Default, Serialize, Deserialize)]
struct Mails;

#[primitive(queue, concurrency = 2, max_attempts = 1)]
impl Mails {
    #[process]
    async fn mail(&self, item: Item<String>, log: &Log, latch: &Latch, cx: &Context) -> Result<(), Failure> {
        if item.value == "bad" {
            return Err("no such address".into());
        }
        log.say(format!("mail {} {}", item.value, cx.work_id()));
        latch.clone().wait().await;
        Ok(())
    }
}

/// Adds up numbers in batches of two.
#[derive(Default, Serialize, Deserialize)]
struct Sums {
    sum: u64,
}

#[primitive(buffer, max_items = 2)]
impl Sums {
    #[flush]
    async fn add_up(&mut self, batch: Batch<u64>, log: &Log, latch: &Latch, cx: &Context) -> Result<(), Failure> {
        log.say(format!("flush {:?} {} {}", batch.items, batch.id, cx.work_id()));
        latch.clone().wait().await;
        self.sum += batch.items.iter().sum::<u64>();
        Ok(())
    }
}

#[primitive(semaphore, permits = 2, lease = "1d")]
struct Gate;

/// Ticks once an hour.
#[derive(Default, Serialize, Deserialize)]
struct Poller {
    ticks: u32,
}

#[primitive(continuous, every = "1h")]
impl Poller {
    #[tick]
    async fn poll(&mut self, log: &Log, cx: &Context) -> Result<(), Failure> {
        self.ticks += 1;
        log.say(format!("tick {}", cx.work_id()));
        Ok(())
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Cart {
    items: Vec<String>,
}

#[primitive(object)]
impl Cart {
    async fn put(&mut self, item: String, cx: &Context) -> usize {
        cx.alarm_in(d!("1d"));
        self.items.push(item);
        self.items.len()
    }

    async fn items(&self) -> Vec<String> {
        self.items.clone()
    }

    #[alarm]
    async fn abandoned(&mut self, log: &Log, cx: &Context) -> Result<(), Failure> {
        log.say(format!("abandoned {} {}", self.items.join(","), cx.work_id()));
        Ok(())
    }
}

/// Is a part of the app that writes the file, but not of the app that reads it, so its entity is parked.
#[derive(Default, Serialize, Deserialize)]
struct Ghost {
    rings: u32,
}

#[primitive(object)]
impl Ghost {
    async fn wind(&mut self, cx: &Context) {
        cx.alarm_in(d!("2h"));
    }

    async fn rings(&self) -> u32 {
        self.rings
    }

    #[alarm]
    async fn ring(&mut self) -> Result<(), Failure> {
        self.rings += 1;
        Ok(())
    }
}

#[derive(Primitives)]
struct App {
    checkout: Checkout,
    mails: Mails,
    sums: Sums,
    gate: Gate,
    poller: Poller,
    cart: Cart,
    ghost: Ghost,
}

#[derive(Primitives)]
struct WithoutGhost {
    checkout: Checkout,
    mails: Mails,
    sums: Sums,
    gate: Gate,
    poller: Poller,
    cart: Cart,
}

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
    latch: Latch,
}

/// The setup without the choice of keys with which the old file was made.
fn separate(path: &Path, fakes: &Fakes) -> Setup<Fakes> {
    World::sqlite_at(path).schema(LEDGER).services(fakes.clone())
}

fn setup(path: &Path, fakes: &Fakes) -> Setup<Fakes> {
    separate(path, fakes).shared_keys()
}

/// Not a test of its own. It writes a file to keep, when a build is about to get a new schema version:
/// `DRYSTONE_WRITE_FILE=path cargo test -p drystone-tests --test old_files write_a_file`
#[tokio::test]
async fn write_a_file() {
    let Ok(path) = std::env::var("DRYSTONE_WRITE_FILE") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (live, fakes) = (folder.path().join("live.db"), Fakes::default());
    let world = setup(&live, &fakes).start::<App>().await;
    begin(&world, &fakes).await;
    world.crash().await;
    let world = world.restart_as::<WithoutGhost, _>(fakes.clone()).await.unwrap();
    world.advance(d!("2h")).await;
    world.client().checkout("asleep").send(Approved("bob".into())).await.unwrap();
    world.crash().await;
    println!("{:#?}", fakes.log.take());
    let connection = rusqlite::Connection::open(&live).unwrap();
    connection.execute("VACUUM INTO ?1", [path]).unwrap();
}

/// Begins one of everything: at rest, asleep, waiting, and in the middle of its code.
async fn begin(world: &World<App>, fakes: &Fakes) {
    let client = world.client();
    for _ in 0..3 {
        fakes.latch.let_one_through();
    }
    client.checkout("paying").start(100).await.unwrap();
    client.checkout("asleep").start(150).await.unwrap();
    client.checkout("waiting").start(200).await.unwrap();
    client.checkout("paying").send(Approved("ann".into())).await.unwrap();
    client.publish(Page(7)).await.unwrap();
    client.mails("out").enqueue("bad".into()).await.unwrap();
    assert_eq!(client.cart("kim").put("tea".into()).idempotency_key("order-1").await.unwrap(), 1);
    client.poller("feed").start().await.unwrap();
    client.ghost("attic").wind().await.unwrap();
    let permit = client.gate("door").acquire().await.unwrap();
    client.checkout("charging").start(300).await.unwrap();
    for mail in ["one", "two", "three"] {
        client.mails("out").enqueue(mail.into()).await.unwrap();
    }
    for number in 1..=3 {
        client.sums("all").add(number).await.unwrap();
    }
    // The permit of a process that died is kept until its lease ends.
    world.crash().await;
    drop(permit);
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    std::fs::write(&path, VERSION_1).unwrap();
    (folder, path)
}

fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort();
    lines
}

/// K2, E14
#[tokio::test]
async fn work_in_an_old_file_resumes_with_its_work_ids() {
    let ((_folder, path), fakes) = (place(), Fakes::default());
    let world = setup(&path, &fakes).start::<App>().await;
    world.settle().await;
    let resumed = [
        "charge 1 checkout-100000001-charge#2",
        "charge 300 checkout-100000013-charge#1",
        "flush [1, 2] sums-100000018-flush/1 sums-100000018-flush/1",
        "mail one mails-10000000c-process/2",
        "mail two mails-10000000c-process/3",
    ];
    assert_eq!(sorted(fakes.log.take()), resumed);
    fakes.latch.open();
    let client = world.client();
    for waiting in ["waiting", "charging"] {
        client.checkout(waiting).send(Approved("cat".into())).await.unwrap();
    }
    world.advance(d!("2d")).await;
    for (run, result) in [("paying", "ann"), ("asleep", "bob"), ("waiting", "cat"), ("charging", "cat")] {
        assert_eq!(client.checkout(run).result().await.unwrap(), format!("{result}, page 7"));
    }
    let sums: Sums = client.sums("all").state().await.unwrap().unwrap();
    assert_eq!(sums.sum, 6);
    assert_eq!(client.poller("feed").state().await.unwrap().unwrap().ticks, 50);
    let stats = client.mails("out").stats().await.unwrap();
    assert_eq!((stats.waiting, stats.running, stats.done, stats.dead), (0, 0, 3, 1));
    assert!(fakes.log.take().contains(&"mail three mails-10000000c-process/4".to_owned()));
}

/// K2
#[tokio::test]
async fn what_is_at_rest_in_an_old_file_is_there() {
    let ((_folder, path), fakes) = (place(), Fakes::default());
    let world = setup(&path, &fakes).start::<App>().await;
    let client = world.client();
    assert_eq!(client.cart("kim").put("tea".into()).idempotency_key("order-1").await.unwrap(), 1);
    assert_eq!(client.cart("kim").items().await.unwrap(), ["tea"]);
    let gate = client.gate("door").stats().await.unwrap();
    assert_eq!((gate.used, gate.holders.len()), (1, 1));
    let letters = world.dead_letters().list(Filter::default()).await.unwrap();
    assert_eq!(letters.letters.len(), 1);
    let booked = world.transaction(|sql| sql.query("SELECT cents FROM ledger ORDER BY 1", (), |row| row.get::<i64>(0)));
    assert_eq!(booked.await.unwrap(), [100, 150, 200, 300]);
    world.advance(d!("1s")).await;
    assert_eq!(client.ghost("attic").rings().await.unwrap(), 1, "its primitive is back: it is parked no more");
}

/// E2, K2: An app with separate keys is refused.
#[tokio::test]
async fn an_old_file_with_shared_keys_stays_with_shared_keys() {
    let ((_folder, path), fakes) = (place(), Fakes::default());
    for _ in 0..2 {
        let refused = separate(&path, &fakes).try_start::<App>().await.map(drop);
        assert_eq!(
            refused.unwrap_err().to_string(),
            "all primitives of this store share their keys: write `.shared_keys()` before `.start()`"
        );
    }
    assert_eq!(fakes.log.take(), Vec::<String>::new());
    let world = setup(&path, &fakes).start::<App>().await;
    assert_eq!(world.client().cart("kim").items().await.unwrap(), ["tea"]);
    assert_eq!(world.view("cart", "kim").await.unwrap().unwrap().name, "cart");
}

/// K2
#[tokio::test]
async fn an_entity_that_is_parked_in_an_old_file_stays_parked() {
    let ((_folder, path), fakes) = (place(), Fakes::default());
    let world = setup(&path, &fakes).start::<WithoutGhost>().await;
    assert_eq!(world.report().parked, 1);
    world.shutdown(d!("1s")).await.unwrap();
}

/// W6
#[tokio::test]
async fn names_that_were_taken_in_an_old_file_are_free_for_authors() {
    let ((_folder, path), fakes) = (place(), Fakes::default());
    let names = ["meta", "partition", "entity", "row", "gone", "inbox", "remembered", "config"];
    let tables = names.map(|name| format!("CREATE TABLE {name} (x);")).join("\n");
    let world = setup(&path, &fakes).schema(tables).start::<App>().await;
    let written = world.transaction(|sql| {
        sql.execute("INSERT INTO entity VALUES (1)", ())?;
        sql.query_one("SELECT x FROM entity", (), |row| row.get::<i64>(0))
    });
    assert_eq!(written.await.unwrap(), 1);
    world.client().cart("lee").put("salt".into()).await.unwrap();
}
