//! The process that is killed. It opens the files, repeats the operations that were not acknowledged, and
//! continues.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::{Context, Result};
use bytes::Bytes;
use drystone::Runtime;
use drystone_runtime::{Call, Kernel, Options, Registry, driver::TokioDriver};

use super::{
    app::{self, App},
    worker::Worker,
};
use crate::{
    bell::Bell,
    crash::{
        SPACE,
        judging::{doubt, guilt, said::Said},
        op::{Deed, GUILTY_JOB, Op},
        parts::{counter::Counter, hooks, outbox, rest, retire, runs, topics, typed},
        plan::Errand,
    },
};

/// The number of concurrent callers.
const LANES: usize = 16;

/// Runs an errand. Without `finish` it never ends by itself.
pub(in crate::crash) async fn run(errand: Errand) -> Result<()> {
    std::panic::set_hook(Box::new(typed::quiet));
    let kernel = open(&errand).await?;
    let app = Arc::new(app::open(&errand).await?);
    if !errand.gathered {
        topics::gather(&app, errand.round).await?;
        typed::begin(&app, errand.round).await?;
        hooks::begin(&app, errand.round).await?;
        Said::Gathered.aloud();
    }
    let retiring = tokio::spawn(retire::round_before(kernel.clone(), app.clone(), errand.round, errand.retire));
    let queue = Arc::new(Queue::new(&errand));
    let lanes: Vec<_> = (0..LANES).map(|_| tokio::spawn(lane(kernel.clone(), app.clone(), queue.clone()))).collect();
    for lane in lanes {
        lane.await??;
    }
    retiring.await??;
    let app = Arc::into_inner(app).context("a lane is still there")?;
    rest::reach(kernel, app, queue.next_unbegun()).await?;
    Said::Finished.aloud();
    Ok(())
}

async fn open(errand: &Errand) -> Result<Kernel> {
    guilt::remember_beside(&errand.file);
    let store = app::store(&errand.file, errand.round)?;
    let registry = Registry::new().with(Counter::definition()).with(Bell::definition(SPACE)).with(Worker::definition());
    let mut options = Options::default();
    app::options(&mut options);
    let (kernel, _) = Kernel::open(store, registry, Arc::new(TokioDriver::new()?), options).await?;
    Said::Opened.aloud();
    doubt::over(&errand.file).await?;
    Ok(kernel)
}

async fn lane(kernel: Kernel, app: Arc<Runtime<App>>, queue: Arc<Queue>) -> Result<()> {
    while let Some(op) = queue.next() {
        let number = done(&kernel, &app, op).await.with_context(|| format!("{op:?} of `{}`", op.key()))?;
        Said::Acknowledged(op, number).aloud();
    }
    Ok(())
}

/// Performs an operation. Returns the number in its answer.
async fn done(kernel: &Kernel, app: &Runtime<App>, op: Op) -> Result<u64> {
    if let Some(call) = op.call() {
        let answer = ask(kernel, &call).await?;
        return Ok(answer.first_chunk().map_or(0, |number| u64::from_be_bytes(*number)));
    }
    match op.deed() {
        Deed::Sail => runs::sail(app, op).await.map(|()| 0),
        Deed::Publish => topics::publish(app, op).await,
        Deed::Permit => typed::moor(app, op).await,
        Deed::Stamp => hooks::stamp(app, op).await.map(|()| 0),
        Deed::Order => outbox::order(app, op).await.map(|()| 0),
        _ => typed::ask(app, op).await.map(|()| 0),
    }
}

/// Repeats a call until it is answered. The idempotency key makes the repeats safe.
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
    /// The first operation that this child does not begin.
    end: u64,
}

impl Queue {
    fn new(errand: &Errand) -> Self {
        // However early the last kill came, the guilty operations must have begun. The job is the last of
        // them.
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
            // Report under the lock, so that the parent never hears of a later operation before an earlier
            // one.
            Said::Begun(op).aloud();
            op
        })
    }

    /// The first operation of the round that has not begun.
    fn next_unbegun(&self) -> Op {
        Op(self.0.lock().unwrap_or_else(PoisonError::into_inner).next)
    }
}
