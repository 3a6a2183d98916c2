//! Primitives as authors write them: a buffer, an object with an alarm, a clock, a queue, a semaphore.
//!
//! Each primitive records its actions in its committed state. The comparison with the children's reports and
//! with the dead letters shows everything that was lost or done twice.

mod berth;
mod clock;
mod evidence;
mod jobs;
mod judged;
mod note;
mod pile;
mod rest;

use anyhow::Result;
use drystone::{CallError, Runtime};

pub(in crate::crash) use self::{
    berth::Berth, clock::Clock, evidence::Evidence, jobs::Jobs, note::Note, pile::Pile, rest::reach,
};
use crate::crash::{
    judging::said::Said,
    op::{Deed, Op, in_round},
    processes::app::App,
};

/// The clock of a round. Each round has one.
pub(in crate::crash) fn clock(round: u64) -> String {
    in_round("clock", round)
}

/// Starts the clock of a round.
pub(in crate::crash) async fn begin(app: &Runtime<App>, round: u64) -> Result<()> {
    app.client().clock(clock(round)).start().await?;
    Ok(())
}

/// The message of a planned panic or failure.
pub(in crate::crash) const PLANNED: &str = "as planned";

/// The panic hook. It prints no line for planned panics.
pub(in crate::crash) fn quiet(panic: &std::panic::PanicHookInfo<'_>) {
    if panic.payload_as_str() != Some(PLANNED) {
        eprintln!("{panic}");
    }
}

/// Repeats a call until it is answered. The idempotency key makes the repeats safe.
pub(in crate::crash) async fn ask(app: &Runtime<App>, op: Op) -> Result<()> {
    loop {
        let retryable = match op.deed() {
            Deed::Item => again(app.client().pile(op.key()).add(op.0).idempotency_key(op.once()).await)?,
            Deed::Job => again(enqueue(app, op).await)?,
            _ => again(app.client().note(op.key()).arm(op.alarm_ms()).idempotency_key(op.once()).await)?,
        };
        if !retryable {
            return Ok(());
        }
        tokio::task::yield_now().await;
    }
}

/// Takes a permit and gives it back. Returns its fencing token.
pub(in crate::crash) async fn moor(app: &Runtime<App>, op: Op) -> Result<u64> {
    let permit = app.client().berth(op.key()).acquire().await?;
    let token = permit.token();
    permit.release().await?;
    Ok(token)
}

/// Enqueues a job, and reports the last job that the queue has recorded by then.
async fn enqueue(app: &Runtime<App>, op: Op) -> Result<(), CallError<drystone::kinds::queue::Full>> {
    let jobs = app.client().jobs(op.key());
    jobs.enqueue(op.0).idempotency_key(op.once()).await?;
    if let Ok(Some(Jobs { done })) = jobs.state().await
        && let Some(last) = done.last()
    {
        Said::Recorded(Op(*last)).aloud();
    }
    Ok(())
}

/// Whether the call must be repeated.
fn again<T, E>(answer: Result<T, CallError<E>>) -> Result<bool>
where
    CallError<E>: std::error::Error + Send + Sync + 'static,
{
    match answer {
        Ok(_) => Ok(false),
        Err(error) if error.is_retryable() => Ok(true),
        Err(error) => Err(error.into()),
    }
}
