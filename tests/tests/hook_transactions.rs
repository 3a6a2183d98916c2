//! Transactional hooks: a tick, a flush, an item, an alarm and the end of an entity write the author's
//! tables exactly once (W6).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use drystone::{
    Batch, Context, Item, Primitives, SqlError, Transaction, d,
    dead_letters::Filter,
    primitive,
    testing::{Moment, Setup, World, crash_everywhere},
};
use serde::{Deserialize, Serialize};

const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS ledger (name TEXT NOT NULL, number INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS broken (name TEXT PRIMARY KEY);";

/// Writes a row, then fails if the hook of this name must fail.
fn write(name: &str, number: u64, sql: &mut Transaction<'_>) -> Result<(), SqlError> {
    sql.execute("INSERT INTO ledger VALUES (?1, ?2)", (name, number))?;
    sql.query("SELECT 1 / 0 FROM broken WHERE name = ?1", (name,), |row| row.get::<u64>(0)).map(drop)
}

/// A tick with `&mut self`.
#[derive(Default, Serialize, Deserialize)]
struct Clock {
    ticks: u64,
}

#[primitive(continuous, every = "1h")]
impl Clock {
    #[tick(transaction, max_attempts = 2, retry = "1m")]
    fn tick(&mut self, sql: &mut Transaction<'_>) -> Result<(), SqlError> {
        self.ticks += 1;
        write("tick", self.ticks, sql)
    }

    async fn add(&mut self, ticks: u64) {
        self.ticks += ticks;
    }
}

/// A flush with `&mut self`, and a `#[destroy]` hook.
#[derive(Default, Serialize, Deserialize)]
struct Meter {
    total: u64,
}

#[primitive(buffer, max_items = 2, max_attempts = 2, backoff = "1m")]
impl Meter {
    #[flush(transaction)]
    fn flush(&mut self, batch: Batch<u64>, sql: &mut Transaction<'_>) -> Result<(), SqlError> {
        self.total += batch.items.iter().sum::<u64>();
        write("flush", self.total, sql)
    }

    async fn add_to_total(&mut self, more: u64) {
        self.total += more;
    }

    #[destroy(transaction)]
    fn end(&mut self, sql: &mut Transaction<'_>) -> Result<(), SqlError> {
        write("destroy", self.total, sql)
    }
}

/// Items with `&self` and an `#[apply]`.
#[derive(Default, Serialize, Deserialize)]
struct Mails {
    sent: Vec<u64>,
}

#[primitive(queue, concurrency = 3, max_attempts = 2, backoff = "1m")]
impl Mails {
    #[process(transaction)]
    fn send(&self, sql: &mut Transaction<'_>, item: Item<u64>) -> Result<u64, SqlError> {
        write("process", item.value, sql)?;
        Ok(item.value)
    }

    #[apply]
    fn applied(&mut self, value: u64) {
        self.sent.push(value);
        self.sent.sort_unstable();
    }
}

/// A reminder with an alarm.
#[derive(Default, Serialize, Deserialize)]
struct Reminder {
    rung: u64,
}

#[primitive(object, max_attempts = 2, retry = "1m")]
impl Reminder {
    async fn remind(&mut self, cx: &Context) {
        cx.alarm_in("1m");
    }

    async fn raise(&mut self) {
        self.rung += 10;
    }

    #[alarm(transaction)]
    fn rang(&mut self, sql: &mut Transaction<'_>) -> Result<(), SqlError> {
        self.rung += 1;
        write("alarm", self.rung, sql)
    }
}

#[derive(Primitives)]
struct App {
    clock: Clock,
    meter: Meter,
    mails: Mails,
    reminder: Reminder,
}

async fn started(setup: Setup<()>) -> World<App> {
    setup.schema(SCHEMA).start::<App>().await
}

async fn ledger(world: &World<App>) -> Vec<(String, u64)> {
    let read = world.transaction(|sql| {
        sql.query("SELECT name, number FROM ledger ORDER BY name, number", (), |row| Ok((row.get(0)?, row.get(1)?)))
    });
    read.await.unwrap()
}

fn rows(name: &str, numbers: &[u64]) -> Vec<(String, u64)> {
    numbers.iter().map(|number| (name.to_owned(), *number)).collect()
}

/// Makes hooks of this name fail from now on, after they have written.
async fn fails(world: &World<App>, name: &'static str) {
    world.transaction(move |sql| sql.execute("INSERT INTO broken VALUES (?1)", (name,))).await.unwrap();
}

/// W6, X1
#[tokio::test]
async fn a_tick_writes_exactly_once_wherever_it_crashes() {
    let survived = crash_everywhere(async |setup| {
        let world = started(setup).await;
        let clock = world.client().clock("a");
        clock.start().await.unwrap();
        world.advance(d!("2h 1m")).await;
        clock.add(10).await.unwrap();
        world.advance(d!("1h")).await;
        (clock.state().await.unwrap().map(|clock| clock.ticks), ledger(&world).await)
    });
    survived.await.unwrap();
}

/// W6, X1
#[tokio::test]
async fn a_flush_writes_exactly_once_wherever_it_crashes() {
    let survived = crash_everywhere(async |setup| {
        let world = started(setup).await;
        let meter = world.client().meter("a");
        for item in 1..=4 {
            meter.add(item).await.unwrap();
        }
        world.settle().await;
        (meter.state().await.unwrap().map(|meter| meter.total), ledger(&world).await)
    });
    survived.await.unwrap();
}

/// W6, X1
#[tokio::test]
async fn an_item_writes_exactly_once_wherever_it_crashes() {
    let survived = crash_everywhere(async |setup| {
        let world = started(setup).await;
        let mails = world.client().mails("a");
        mails.enqueue_many(vec![1, 2, 3, 4]).await.unwrap();
        mails.drain().await.unwrap();
        world.settle().await;
        (mails.state().await.unwrap().map(|mails| mails.sent), ledger(&world).await)
    });
    survived.await.unwrap();
}

/// W6, X1
#[tokio::test]
async fn an_alarm_writes_exactly_once_wherever_it_crashes() {
    let survived = crash_everywhere(async |setup| {
        let world = started(setup).await;
        let reminder = world.client().reminder("a");
        for _ in 0..2 {
            reminder.remind().await.unwrap();
            world.advance(d!("2m")).await;
        }
        (reminder.state().await.unwrap().map(|reminder| reminder.rung), ledger(&world).await)
    });
    survived.await.unwrap();
}

/// W6, E8, X1
#[tokio::test]
async fn an_end_writes_exactly_once_wherever_it_crashes() {
    let survived = crash_everywhere(async |setup| {
        let world = started(setup).await;
        let meter = world.client().meter("a");
        meter.add(1).await.unwrap();
        meter.destroy().await.unwrap();
        world.advance(d!("1m")).await;
        (meter.state().await.unwrap().is_some(), ledger(&world).await)
    });
    survived.await.unwrap();
}

/// W6, E3: Also after a crash.
#[tokio::test]
async fn what_a_hook_left_is_taken_before_the_next_call() {
    // The writes are those of the alarm: its claim, its transaction, and the end that takes the result of
    // the transaction.
    for (write, moment) in (1..=3).flat_map(|write| [(write, Moment::Before), (write, Moment::After)]) {
        let world = started(World::sqlite()).await;
        let reminder = world.client().reminder("a");
        reminder.remind().await.unwrap();
        world.crash_at_commit(write, moment);
        world.advance(d!("2m")).await;
        world.restart().await;
        reminder.raise().await.unwrap();
        world.advance(d!("2m")).await;
        let when = format!("{moment:?} write {write}");
        assert_eq!(reminder.state().await.unwrap().unwrap().rung, 11, "{when}");
        assert_eq!(ledger(&world).await.len(), 1, "{when}");
    }
}

/// W6, E5, C5, B5, Q3, A3: At the end it is given up.
#[tokio::test]
async fn a_hook_that_fails_leaves_no_row_and_is_retried() {
    let world = started(World::sqlite()).await;
    for name in ["tick", "flush", "process", "alarm"] {
        fails(&world, name).await;
    }
    let client = world.client();
    client.clock("clock").start().await.unwrap();
    client.meter("meter").add(1).await.unwrap();
    client.meter("meter").add(2).await.unwrap();
    client.mails("mails").enqueue(1).await.unwrap();
    client.reminder("reminder").remind().await.unwrap();
    world.advance(d!("1h 10m")).await;
    assert!(ledger(&world).await.is_empty());
    assert_eq!(client.clock("clock").status().await.unwrap().unwrap().consecutive_failures, 2);
    assert_eq!(client.clock("clock").state().await.unwrap().unwrap().ticks, 0);
    assert_eq!(client.meter("meter").state().await.unwrap().unwrap().total, 0);
    assert_eq!(client.reminder("reminder").status().await.unwrap().unwrap().failures, 2);
    let dead = world.dead_letters().list(Filter::default()).await.unwrap();
    assert_eq!(dead.letters.len(), 2, "the batch and the item");
}

/// W6, B5
#[tokio::test]
async fn a_hook_that_failed_succeeds_when_it_is_tried_again() {
    let world = started(World::sqlite()).await;
    fails(&world, "flush").await;
    let meter = world.client().meter("a");
    meter.add(1).await.unwrap();
    meter.add(2).await.unwrap();
    world.settle().await;
    world.transaction(|sql| sql.execute("DELETE FROM broken", ())).await.unwrap();
    meter.add_to_total(10).await.unwrap();
    world.advance(d!("2m")).await;
    assert_eq!(ledger(&world).await, rows("flush", &[13]));
    assert_eq!(meter.state().await.unwrap().unwrap().total, 13);
}

/// W6
#[tokio::test]
async fn over_a_store_without_sql_the_start_is_refused_with_the_hook() {
    let words = World::memory().try_start::<App>().await.err().expect("there is no SQL").to_string();
    assert!(words.contains("clock") && words.contains("tick"), "{words}");
}
