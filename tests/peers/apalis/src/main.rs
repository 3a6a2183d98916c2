//! apalis with apalis-sqlite, doing the work that queues are compared by; see `peer-work`.
//!
//! It is set as it was found to be fastest. One connection: ten, the default, wait for each other's locks and now and
//! then fail with "database is locked", also behind the storage that is driven by SQLite's update hook and behind the
//! shared one. That connection is the one that `setup` sets `synchronous = OFF` on, so nothing is synced.
//!
//! What an item costs grows with how many its worker has finished (the statement that records a batch goes over all of
//! them), so one queue is slower than a hundred and a long run slower than a short one.

mod pragmas;
mod recorded;

use std::{
    error::Error,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use apalis::prelude::*;
use apalis_sqlite::{Config, SqlitePoolOptions, SqliteStorage};
use peer_work::{About, CONCURRENCY, Peer, child};
use tokio::task::JoinHandle;

use crate::recorded::Recorded;

fn main() -> Result<(), Box<dyn Error>> {
    child(&open)
}

struct Apalis {
    /// One storage for each queue, with a worker.
    queues: Vec<SqliteStorage<String>>,
    workers: Vec<JoinHandle<()>>,
    handled: Arc<AtomicU64>,
    recorded: Recorded,
}

/// What is fetched at once, and how often is looked.
struct Pace {
    batch_size: usize,
    poll: Duration,
}

impl Pace {
    /// The fastest that were found: a hundred workers that look every few milliseconds do nothing else.
    fn of(queues: usize) -> Self {
        match queues {
            1 => Self { batch_size: 10, poll: Duration::from_millis(1) },
            _ => Self { batch_size: 100, poll: Duration::from_secs(1) },
        }
    }
}

async fn open(path: &Path, queues: usize) -> Result<(Apalis, About), Box<dyn Error>> {
    let url = format!("sqlite://{}?mode=rwc", path.display());
    let pool = SqlitePoolOptions::new().max_connections(1).connect(&url).await?;
    SqliteStorage::setup(&pool).await?;
    let (pace, handled) = (Pace::of(queues), Arc::new(AtomicU64::new(0)));
    let config = |nth| config(nth, pace.batch_size);
    let queues: Vec<_> = (0..queues).map(|nth| SqliteStorage::new(&pool).with_config(config(nth))).collect();
    let each = queues.iter().cloned().enumerate();
    let workers = each.map(|(nth, queue)| tokio::spawn(work(nth, queue, pace.poll, handled.clone()))).collect();
    let recorded = Recorded::open(path)?;
    while recorded.workers()? < queues.len() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let about = about(pragmas::read(&pool).await?, queues.len(), &pace);
    Ok((Apalis { queues, workers, handled, recorded }, about))
}

fn config(nth: usize, batch_size: usize) -> Config {
    // As its example for real time has it: fetching a task locks it, and a second lock would be a write for nothing.
    let config = Config::default().queue(format!("queue-{nth}")).batch_size(batch_size).lock_tasks(false);
    // An interval that ends while a fetch is under way is not always started again, and then a worker sleeps until its
    // next heartbeat: by default, up to 30 s. A worker still counts as dead after a minute.
    config.heartbeat_interval(Duration::from_secs(1)).missed_heartbeats(60)
}

fn about(pragmas: String, queues: usize, Pace { batch_size, poll }: &Pace) -> About {
    let settings = format!(
        "{queues} queue(s) with a worker each, concurrency {CONCURRENCY}, batch_size {batch_size}, polled every \
         {poll:?}, heartbeat 1s, lock_tasks off, one connection"
    );
    About { peer: "apalis", version: "1.0.0", pragmas, settings }
}

async fn work(nth: usize, queue: SqliteStorage<String>, poll: Duration, handled: Arc<AtomicU64>) {
    // The second wakes a worker where the first was not started again.
    let strategy = Strategy::new().interval(poll).interval(poll * 3);
    let worker = WorkerBuilder::new(format!("worker-{nth}"))
        .backend(queue.poll_with_strategy(strategy))
        .concurrency(CONCURRENCY)
        .data(handled)
        .build(handle);
    if let Err(error) = worker.run().await {
        eprintln!("worker {nth} ended: {error}");
    }
}

async fn handle(_item: String, handled: Data<Arc<AtomicU64>>) {
    handled.fetch_add(1, Ordering::Relaxed);
}

impl Peer for Apalis {
    async fn enqueue(&self, queue: usize, item: String) -> Result<(), Box<dyn Error + Send + Sync>> {
        // A clone shares the pool and has a buffer of its own: what its user has instead of `&self`.
        Ok(self.queues[queue].clone().push(item).await?)
    }

    /// It is recorded some time after it is handled; before that there is no use in asking the file.
    fn finished(&self, items: u64) -> bool {
        self.handled.load(Ordering::Relaxed) >= items && self.recorded.done() >= items
    }
}

impl Drop for Apalis {
    fn drop(&mut self) {
        self.workers.iter().for_each(JoinHandle::abort);
    }
}
