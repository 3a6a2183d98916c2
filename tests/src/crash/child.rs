//! The process that is killed: it opens the file, asks again what was not acknowledged, and goes on.

use std::{
    collections::VecDeque,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::{Context, Result};
use bytes::Bytes;
use drystone::Runtime;
use drystone_runtime::{
    Call, Kernel, Options, Registry,
    driver::TokioDriver,
    store::{Sqlite, SqliteOptions},
};

use super::{
    SPACE,
    counter::Counter,
    doubt, fleet,
    op::{Deed, GUILTY_JOB, Op},
    plan::Errand,
    rest,
    said::Said,
    storm, typed,
    worker::Worker,
};
use crate::bell::Bell;

/// Callers at once.
const LANES: usize = 8;

/// Runs an errand; without `finish` it ends only by being killed.
pub(super) async fn run(errand: Errand) -> Result<()> {
    let kernel = open(&errand.file).await?;
    let app = Arc::new(typed::open(&errand.file).await?);
    let fleet = Arc::new(fleet::open(&errand.file).await?);
    let storm = Arc::new(storm::open(&errand.file).await?);
    let queue = Arc::new(Queue::new(&errand));
    let apps = || (app.clone(), fleet.clone(), storm.clone());
    let lanes: Vec<_> = (0..LANES).map(|_| tokio::spawn(lane(kernel.clone(), apps(), queue.clone()))).collect();
    for lane in lanes {
        lane.await??;
    }
    rest::reach(&kernel).await?;
    typed::reach(Arc::into_inner(app).context("a lane is still there")?).await?;
    storm::reach(Arc::into_inner(storm).context("a lane is still there")?).await?;
    fleet::reach(Arc::into_inner(fleet).context("a lane is still there")?).await?;
    Said::Finished.aloud();
    Ok(())
}

async fn open(file: &Path) -> Result<Kernel> {
    let store = Arc::new(Sqlite::open(file, SqliteOptions::default())?);
    let registry = Registry::new().with(Counter::definition()).with(Bell::definition(SPACE)).with(Worker::definition());
    let (kernel, _) = Kernel::open(store, registry, Arc::new(TokioDriver::new()?), Options::default()).await?;
    Said::Opened.aloud();
    doubt::over(file).await?;
    Ok(kernel)
}

/// The apps beside the kernel.
type Apps = (Arc<Runtime<typed::App>>, Arc<Runtime<fleet::App>>, Arc<Runtime<storm::App>>);

async fn lane(kernel: Kernel, apps: Apps, queue: Arc<Queue>) -> Result<()> {
    while let Some(op) = queue.next() {
        let number = done(&kernel, &apps, op).await.with_context(|| format!("{op:?} of `{}`", op.key()))?;
        Said::Acknowledged(op, number).aloud();
    }
    Ok(())
}

/// Does an operation; the number that it was answered.
async fn done(kernel: &Kernel, (app, fleet, storm): &Apps, op: Op) -> Result<u64> {
    match op.deed() {
        Deed::Signal => return fleet::signal(fleet, op).await.map(|()| 0),
        Deed::Publish => return storm::publish(storm, op).await,
        _ => {}
    }
    let Some(call) = op.call() else { return typed::ask(app, op).await.map(|()| 0) };
    let answer = ask(kernel, &call).await?;
    Ok(answer.first_chunk().map_or(0, |number| u64::from_be_bytes(*number)))
}

/// Asks until it is answered: the idempotency key makes that safe.
async fn ask(kernel: &Kernel, call: &Call) -> Result<Bytes> {
    loop {
        match kernel.call(call.clone()).await {
            Err(error) if error.is_retryable() => tokio::task::yield_now().await,
            answer => return Ok(answer?),
        }
    }
}

/// The operations that are left to do.
struct Queue(Mutex<Left>);

struct Left {
    pending: VecDeque<Op>,
    next: u64,
    /// The first that is not begun here.
    end: u64,
}

impl Queue {
    fn new(errand: &Errand) -> Self {
        // However early the last kill came, the guilty ones have their turn; the job is the last of them.
        let end = if errand.finish { errand.next.max(GUILTY_JOB.0 + 1) } else { u64::MAX };
        Self(Mutex::new(Left { pending: errand.pending.iter().copied().collect(), next: errand.next, end }))
    }

    fn next(&self) -> Option<Op> {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(op) = left.pending.pop_front() {
            return Some(op);
        }
        let op = Op(left.next);
        (op.0 < left.end).then(|| {
            left.next += 1;
            // Said under the lock, so that no later one is heard of without it.
            Said::Begun(op).aloud();
            op
        })
    }
}
