//! Drystone's part in the comparison of queues.

use std::{
    error::Error,
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::{Result, anyhow};
use drystone::{Item, Never, Primitives, Runtime, Services, primitive};
use peer_work::{Ask, CONCURRENCY, Measured, Peer, long_enough, work};
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;

/// Jobs that only count themselves.
#[derive(Default, Serialize, Deserialize)]
struct Jobs;

const AT_ONCE: u64 = CONCURRENCY as u64;

#[primitive(queue, concurrency = AT_ONCE)]
impl Jobs {
    #[process]
    async fn run(&self, _item: Item<String>, handled: &Handled) -> Result<(), Never> {
        handled.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// The number of handled items.
#[derive(Clone, Default)]
struct Handled(Arc<AtomicU64>);

#[derive(Services)]
struct Deps {
    handled: Handled,
}

#[derive(Primitives)]
struct App {
    jobs: Jobs,
}

/// Drystone's queues as a competitor.
struct Ours {
    runtime: Runtime<App>,
    handled: Handled,
    queues: usize,
    on: Handle,
}

impl Peer for Ours {
    async fn enqueue(&self, queue: usize, item: String) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.runtime.client().jobs(queue.to_be_bytes()).enqueue(item).await?;
        Ok(())
    }

    /// Whether all items are finished. Once all are handled, the queues are asked how many successes they
    /// have recorded.
    fn finished(&self, items: u64) -> bool {
        self.handled.0.load(Ordering::Relaxed) >= items && self.on.block_on(self.recorded()) >= items
    }
}

impl Ours {
    async fn open(path: &Path, queues: usize, on: Handle) -> Result<Self> {
        let handled = Handled::default();
        let runtime = Runtime::sqlite(path).services(Deps { handled: handled.clone() }).start::<App>().await?;
        Ok(Self { runtime, handled, queues, on })
    }

    async fn recorded(&self) -> u64 {
        let mut recorded = 0;
        for queue in 0..self.queues {
            let stats = self.runtime.client().jobs(queue.to_be_bytes()).stats().await;
            recorded += stats.map_or(0, |stats| stats.done);
        }
        recorded
    }
}

/// Does the work on Drystone's queues.
pub(super) async fn measure(ask: Ask) -> Result<Measured> {
    let on = Handle::current();
    let measured = tokio::task::spawn_blocking(move || run(&ask, &on).map_err(|error| anyhow!("{error}"))).await??;
    Ok(measured)
}

fn run(ask: &Ask, on: &Handle) -> Result<Measured, Box<dyn Error>> {
    fs::create_dir_all(&ask.dir)?;
    let on_new_file = |items| {
        let path = ask.dir.join(format!("{items}.db"));
        let ours = Arc::new(on.block_on(Ours::open(&path, ask.work.queues()?, on.clone()))?);
        Ok((work(&ours, on, ask, items)?, ()))
    };
    long_enough(ask, on_new_file).map(|(measured, ())| measured)
}
