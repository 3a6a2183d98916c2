//! The outbox: a row of the author's and an item of a queue in one transaction, against the bare writer.
//!
//! A call is durable when it is answered. By then the item is in the inbox of its queue. The queue takes the
//! item in a separate commit. The bare writer updates one row per call.

use std::{path::Path, sync::Arc};

use anyhow::{Result, ensure};
use drystone::{Item, Never, Primitives, Runtime, SqlError, d, primitive};
use serde::{Deserialize, Serialize};

use super::{
    births,
    measuring::{
        callers::{Callers, Writer},
        goal::{Bound, Goal},
        measured::Measured,
        plan::Plan,
        report::Report,
        rounds::Rounds,
        subject::Subject,
    },
    queues::{ROWS, bare},
};

/// The goal: transactions per second, each with a row and an item, as a share of the bare writer's calls.
const ENQUEUES_MIN: f64 = 0.1;

/// The number of queues that get the items.
const QUEUES: u64 = 100;

/// The author's table.
const TABLES: &str = "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, number INTEGER NOT NULL)";

/// A queue of mails. Processing one does nothing.
#[derive(Default, Serialize, Deserialize)]
struct Mails;

#[primitive(queue, concurrency = 10, max_depth = 2000000)]
impl Mails {
    #[process]
    async fn send(&self, _: Item<u64>) -> Result<(), Never> {
        Ok(())
    }
}

#[derive(Primitives)]
struct App {
    mails: Mails,
}

/// Measures the outbox with 64 callers.
pub(super) async fn measure(plan: &Plan, directory: &Path, report: &mut Report) -> Result<()> {
    let bare = bare(directory, "outbox-bare.db").await?;
    let path = directory.join("outbox.db");
    let runtime = Arc::new(Runtime::sqlite(&path).schema(TABLES).start::<App>().await?);
    let ours = Subject::new(Shop { runtime: runtime.clone() }, &path)?;
    let callers = Callers { callers: 64, rows: u64::from(ROWS), span: plan.span };
    let round = async || {
        let bare = bare.round(callers).await?;
        let sent = ours.round(Callers { rows: QUEUES, ..callers }).await?;
        ours.writer.check().await?;
        Ok([bare, sent])
    };
    let rounds = Rounds::measure(plan.rounds, round).await?;
    report.line(rounds.line(0, "64 callers: bare writer".to_owned()));
    report.line(rounds.compared(1, 0, "64 callers: a row and an item".to_owned(), Measured::rate));
    let value = rounds.ratio(1, 0, Measured::rate);
    report.goal(Goal { name: "outbox_enqueues", bound: Bound::AtLeast(ENQUEUES_MIN), value });
    Ok(runtime.shutdown(d!("10s")).await?)
}

/// A shop that takes orders. Each order is a row and a mail.
struct Shop {
    runtime: Arc<Runtime<App>>,
}

impl Writer for Shop {
    async fn write(&self, row: usize) -> Result<()> {
        let mails = self.runtime.client().mails(births::key(row as u32));
        let ordered = self.runtime.transaction(move |sql| {
            sql.execute("INSERT INTO orders (number) VALUES (?1)", (row as u64,))?;
            sql.send(mails.enqueue(row as u64))
        });
        Ok(ordered.await?)
    }
}

impl Shop {
    /// Waits until all mails are sent, and checks that there are as many as orders.
    async fn check(&self) -> Result<()> {
        let mut done = 0;
        for row in 0..QUEUES {
            let queue = self.runtime.client().mails(births::key(row as u32));
            queue.drain().deadline(d!("5m")).await?;
            done += queue.stats().await?.done;
        }
        let count = |sql: &mut drystone::Transaction<'_>| {
            sql.query_one("SELECT count(*) FROM orders", (), |row| row.get::<u64>(0))
        };
        let orders = self.runtime.transaction::<u64, SqlError>(count).await?;
        ensure!(orders == done, "{orders} orders, and {done} mails");
        Ok(())
    }
}
