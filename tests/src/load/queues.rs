//! Queues: items enqueued and processed, against the bare writer, and the same on top of a million other
//! items.
//!
//! An item costs two commits of its queue, each shared by many items: one enqueues it, the other removes it.
//! The bare writer updates one row per call.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use bytes::Bytes;
use drystone::{Item, Never, Primitives, Runtime, d, primitive};
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use super::{
    adder::Adder,
    births::{self, Births},
    measuring::{
        bare::Bare,
        callers::{Callers, Writer},
        file,
        goal::{Bound, Goal},
        measured::Measured,
        plan::Plan,
        report::Report,
        rounds::Rounds,
        subject::Subject,
    },
};

/// The number of rows of the bare writer.
pub(super) const ROWS: u32 = 1_000;
/// The number of concurrent callers that enqueue.
const PRODUCERS: u64 = 64;
/// The bytes of an item: as many as in a row of the bare writer.
const ITEM_BYTES: usize = 200;
/// The largest number of items in one call.
const MANY: u64 = 500;
/// The goal: items enqueued and processed per second, as a share of the bare writer's calls.
const DONE_MIN: f64 = 0.15;
/// The goal for a deep queue, as a share of the rate of an empty one.
const DEEP_MIN: f64 = 0.5;
/// The time limit for closing the app.
const CLOSE_MAX: Duration = d!("10s");

/// A queue of jobs. Processing one does nothing.
#[derive(Default, Serialize, Deserialize)]
struct Jobs;

#[primitive(queue, concurrency = 100, max_depth = 2000000)]
impl Jobs {
    #[process]
    async fn run(&self, item: Item<String>) -> Result<(), Never> {
        debug_assert_eq!(item.value.len(), ITEM_BYTES);
        Ok(())
    }
}

#[derive(Primitives)]
struct App {
    jobs: Jobs,
}

/// Measures one queue, a hundred queues, and a deep queue.
pub(super) async fn measure(plan: &Plan, directory: &Path, report: &mut Report) -> Result<()> {
    let bare = bare(directory, "queues-bare.db").await?;
    for (queues, goal) in [(1, "queue_done_1"), (100, "queue_done_100")] {
        let path = directory.join(format!("queues-{queues}.db"));
        let runtime = Runtime::sqlite(&path).start::<App>().await?;
        let ours = Subject::new(Queues::new(runtime.client(), queues), &path)?;
        let callers = Callers { callers: PRODUCERS, rows: u64::from(ROWS), span: plan.span };
        let round = async || {
            let bare = bare.round(callers).await?;
            let enqueued = ours.writer.paused(true).await.map(|()| Callers { rows: u64::from(queues), ..callers })?;
            let enqueued = ours.round(enqueued).await?;
            ours.writer.paused(false).await?;
            ours.writer.drain().await?;
            Ok([bare, enqueued, ours.writer.run(Callers { rows: u64::from(queues), ..callers }).await?])
        };
        let rounds = Rounds::measure(plan.rounds, round).await?;
        let named = |what: &str| format!("{queues} queue{}: {what}", if queues == 1 { "" } else { "s" });
        report.line(rounds.line(0, named("bare writer")));
        report.line(rounds.compared(1, 0, named("enqueue"), Measured::rate));
        report.line(rounds.compared(2, 0, named("enqueue and process"), Measured::rate));
        let value = rounds.ratio(2, 0, Measured::rate);
        report.goal(Goal { name: goal, bound: Bound::AtLeast(DONE_MIN), value });
        runtime.shutdown(CLOSE_MAX).await?;
    }
    deep(plan, directory, report).await
}

/// The bare writer over a new file of this name.
pub(super) async fn bare(directory: &Path, name: &str) -> Result<Subject<Bare>> {
    let path = rows(directory, name).await?;
    Subject::new(Bare::start(&path, Adder::state())?, &path)
}

/// Makes a file with the rows that the bare writer updates.
pub(super) async fn rows(directory: &Path, name: &str) -> Result<PathBuf> {
    let (path, definition) = (directory.join(name), Adder::definition());
    let births = Births { definition: &definition, count: ROWS, state: Adder::state(), alarm: &|_| None };
    file::make(&path, &births).await?;
    Ok(path)
}

/// Compares a queue that was empty with a queue that holds very many items. An operation must cost the same
/// (Q5).
async fn deep(plan: &Plan, directory: &Path, report: &mut Report) -> Result<()> {
    let (flat, high) =
        (Deep::make(directory, "flat.db", 0).await?, Deep::make(directory, "deep.db", plan.depth).await?);
    let callers = Callers { callers: PRODUCERS, rows: 1, span: plan.span };
    let round = async || Ok([flat.ours.round(callers).await?, high.ours.round(callers).await?]);
    let rounds = Rounds::measure(plan.rounds, round).await?;
    report.line(rounds.line(0, "enqueue on top of none".into()));
    report.line(rounds.compared(1, 0, format!("enqueue on top of {}", plan.depth), Measured::rate));
    let value = rounds.ratio(1, 0, Measured::rate);
    report.goal(Goal { name: "queue_deep_enqueue", bound: Bound::AtLeast(DEEP_MIN), value });
    let rounds = Rounds::measure(1, async || Ok([flat.process().await?, high.process().await?])).await?;
    report.line(rounds.line(0, "process on top of few".into()));
    report.line(rounds.compared(1, 0, format!("process on top of {}", plan.depth), Measured::rate));
    let value = rounds.ratio(1, 0, Measured::rate);
    report.goal(Goal { name: "queue_deep_process", bound: Bound::AtLeast(DEEP_MIN), value });
    flat.runtime.shutdown(CLOSE_MAX).await?;
    Ok(high.runtime.shutdown(CLOSE_MAX).await?)
}

/// A paused queue with items in it.
struct Deep {
    runtime: Runtime<App>,
    ours: Subject<Queues>,
}

impl Deep {
    async fn make(directory: &Path, name: &str, depth: u64) -> Result<Self> {
        let path = directory.join(name);
        let runtime = Runtime::sqlite(&path).start::<App>().await?;
        let ours = Subject::new(Queues::new(runtime.client(), 1), &path)?;
        ours.writer.paused(true).await?;
        for _ in 0..depth / MANY {
            let items = (0..MANY).map(|_| ours.writer.item.clone());
            ours.writer.client.jobs(&ours.writer.keys[0]).enqueue_many(items).await?;
        }
        Ok(Self { runtime, ours })
    }

    /// Processes items for a while or until none is left. Returns how many.
    async fn process(&self) -> Result<Measured> {
        let queue = self.ours.writer.client.jobs(&self.ours.writer.keys[0]);
        // A disturbed round is measured again, and may have left no items.
        if queue.stats().await?.waiting == 0 {
            queue.enqueue_many((0..MANY).map(|_| self.ours.writer.item.clone())).await?;
        }
        let before = queue.stats().await?.done;
        let start = Instant::now();
        queue.resume().await?;
        if let Ok(drained) = tokio::time::timeout(d!("2s"), queue.drain().into_future()).await {
            drained?;
        }
        queue.pause().await?;
        let elapsed = start.elapsed();
        let stats = queue.stats().await?;
        ensure!(stats.done > before, "nothing was processed");
        Ok(Measured::new(vec![Duration::ZERO; (stats.done - before) as usize], elapsed))
    }
}

type Client = <App as Primitives>::Client;

/// The queues of an app, as a writer of items.
struct Queues {
    client: Client,
    keys: Vec<Bytes>,
    item: String,
}

impl Writer for Queues {
    async fn write(&self, row: usize) -> Result<()> {
        self.client.jobs(&self.keys[row]).enqueue(self.item.clone()).await?;
        Ok(())
    }
}

impl Queues {
    fn new(client: Client, count: u32) -> Self {
        Self { client, keys: (0..count).map(births::key).collect(), item: "i".repeat(ITEM_BYTES) }
    }

    /// Enqueues items for a while. The measured time ends when all of them are processed.
    async fn run(self: &Arc<Self>, callers: Callers) -> Result<Measured> {
        let start = Instant::now();
        let enqueued = callers.drive(self).await?;
        self.drain().await?;
        Ok(enqueued.over(start.elapsed()))
    }

    async fn drain(self: &Arc<Self>) -> Result<()> {
        self.each(|queue| async move { Ok(queue.drain().deadline(d!("5m")).await?) }).await
    }

    async fn paused(self: &Arc<Self>, paused: bool) -> Result<()> {
        self.each(move |queue| async move {
            if paused {
                queue.pause().await?
            } else {
                queue.resume().await?
            };
            Ok(())
        })
        .await
    }

    async fn each<F>(self: &Arc<Self>, ask: impl Fn(JobsHandle) -> F) -> Result<()>
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        let mut asked = JoinSet::new();
        for key in &self.keys {
            asked.spawn(ask(self.client.jobs(key)));
        }
        asked.join_all().await.into_iter().collect()
    }
}
