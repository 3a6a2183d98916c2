//! The same with primitives as authors write them: a buffer, an object with an alarm, a clock, a queue, a semaphore.
//!
//! Each keeps in its committed state what it has done. Held against what children said, and against the dead letters, it
//! shows whatever was lost or done twice.

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

pub(super) use self::{
    berth::Berth, clock::Clock, evidence::Evidence, jobs::Jobs, note::Note, pile::Pile, rest::reach,
};
use super::{
    app::App,
    op::{Deed, Op, in_round},
    said::Said,
};

/// The one clock of a round.
pub(super) fn clock(round: u64) -> String {
    in_round("clock", round)
}

/// Starts the clock of a round.
pub(super) async fn begin(app: &Runtime<App>, round: u64) -> Result<()> {
    app.client().clock(clock(round)).start().await?;
    Ok(())
}

/// What a flush says when it panics as planned.
pub(super) const PLANNED: &str = "as planned";

/// The hook of panics: those that are planned are not worth a line.
pub(super) fn quiet(panic: &std::panic::PanicHookInfo<'_>) {
    if panic.payload_as_str() != Some(PLANNED) {
        eprintln!("{panic}");
    }
}

/// Asks until it is answered: the idempotency key makes that safe.
pub(super) async fn ask(app: &Runtime<App>, op: Op) -> Result<()> {
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

/// Takes a permit and gives it back; its fencing token.
pub(super) async fn moor(app: &Runtime<App>, op: Op) -> Result<u64> {
    let permit = app.client().berth(op.key()).acquire().await?;
    let token = permit.token();
    permit.release().await?;
    Ok(token)
}

/// Enqueues a job, and tells which one was the last to be recorded meanwhile.
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

/// Whether it is to be asked again.
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
