//! effectum, doing the work that queues are compared by; see `peer-work`.

mod pragmas;

use std::{env, error::Error, path::Path};

use effectum::{Job, JobRunner, Queue, RunningJob, Worker};
use peer_work::{About, CONCURRENCY, Peer, child};

/// In the environment: the file is put into WAL mode before effectum opens it.
///
/// Effectum wants that and does not do it (see [`pragmas`]). It is then several times as fast, for with its
/// `synchronous = NORMAL` a commit is not synced any more.
const WAL: &str = "PEER_CHANGED";

fn main() -> Result<(), Box<dyn Error>> {
    child(&open)
}

struct Effectum {
    queue: Queue,
    worker: Worker,
    /// Effectum has one queue in a file; its nearest to several is several job types.
    job_types: Vec<String>,
}

async fn open(path: &Path, queues: usize) -> Result<(Effectum, About), Box<dyn Error>> {
    let wal = env::var_os(WAL).is_some();
    if wal {
        pragmas::make_wal(path)?;
    }
    let queue = Queue::new(path).await?;
    let job_types: Vec<_> = (0..queues).map(|nth| format!("type-{nth}")).collect();
    let runners: Vec<_> = job_types.iter().map(|name| JobRunner::builder(name.as_str(), handle).build()).collect();
    let worker = Worker::builder(&queue, ()).max_concurrency(CONCURRENCY as u16).jobs(runners).build().await?;
    let about = About {
        peer: if wal { "effectum in WAL" } else { "effectum" },
        version: "0.7.0",
        pragmas: pragmas::read(path)?,
        settings: format!("{queues} job type(s), one worker, max_concurrency {CONCURRENCY}{}", wal_said(wal)),
    };
    Ok((Effectum { queue, worker, job_types }, about))
}

fn wal_said(wal: bool) -> &'static str {
    if wal { ", journal_mode set before it was opened" } else { "" }
}

async fn handle(job: RunningJob, (): ()) -> Result<(), effectum::Error> {
    job.json_payload::<String>().map(drop)
}

impl Peer for Effectum {
    async fn enqueue(&self, queue: usize, item: String) -> Result<(), Box<dyn Error + Send + Sync>> {
        let job = Job::builder(self.job_types[queue].clone()).json_payload(&item)?.build();
        Ok(self.queue.add_job(job).await.map(drop)?)
    }

    /// A job is counted after the transaction that ends it.
    fn finished(&self, items: u64) -> bool {
        self.worker.counts().finished >= items
    }
}
