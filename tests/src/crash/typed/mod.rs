//! The same with primitives as authors write them: a buffer, an object with an alarm, a clock, a queue, in a
//! file of their own.
//!
//! Each keeps in its committed state what it has done. Held against what children said, and against the dead letters, it
//! shows whatever was lost or done twice.

mod clock;
mod evidence;
mod jobs;
mod judged;
mod note;
mod pile;
mod rest;

use std::path::{Path, PathBuf};

use anyhow::Result;
use drystone::{CallError, Primitives, Runtime};

use self::{clock::Clock, jobs::Jobs, note::Note, pile::Pile};
pub(super) use self::{evidence::Evidence, rest::reach};
use super::{
    doubt,
    fate::{Deps, Fate},
    op::{Deed, Op},
    said::Said,
};

/// The one clock.
const CLOCK: &str = "clock";

#[derive(Primitives)]
pub(super) struct App {
    pile: Pile,
    note: Note,
    clock: Clock,
    jobs: Jobs,
}

/// The file of the typed app, beside the kernel's.
fn beside(file: &Path) -> PathBuf {
    file.with_extension("typed.db")
}

/// Opens the app in a child, and starts its clock.
pub(super) async fn open(file: &Path) -> Result<Runtime<App>> {
    std::panic::set_hook(Box::new(quiet));
    let runtime = Runtime::sqlite(beside(file)).services(Deps { fate: Fate::Dies }).start::<App>().await?;
    Said::Opened.aloud();
    runtime.client().clock(CLOCK).start().await?;
    doubt::over(&beside(file)).await?;
    Ok(runtime)
}

/// What a flush says when it panics as planned.
const PLANNED: &str = "as planned";

/// The hook of panics: those that are planned are not worth a line.
fn quiet(panic: &std::panic::PanicHookInfo<'_>) {
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
