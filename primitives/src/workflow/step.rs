//! A step in a body: what the author's function returns, once it is recorded.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use super::{
    Fault, Policy,
    ask::Ask,
    called::answer_in,
    core::{Core, Stop},
    journal::Recorded,
    op::Op,
};
use crate::{
    Args, Retry, Stored, StoredError,
    stored::{Codec, stored, stored_error},
};

/// A step: await it, and it is what the author's function returned, recorded once and the same in every replay (W1).
///
/// A fault (it timed out or panicked in every attempt, it killed the process) ends the run as failed; whoever wants to go on
/// writes [`catch`](Self::catch). Like all futures it does nothing until it is awaited.
#[must_use = "a step does nothing until it is awaited"]
pub struct Step<T> {
    op: Result<Op, (Core, String)>,
    recall: Recall<T>,
}

/// How what is recorded becomes what the function returned; the reason if it cannot be read.
pub struct Recall<T>(Box<Reads<T>>);

type Reads<T> = dyn Fn(Told<'_>) -> Result<T, String> + Send;

/// What a step was told.
#[derive(Debug)]
pub(super) enum Told<'a> {
    Ok(&'a [u8]),
    Failed(&'a [u8]),
}

impl<T: 'static> Recall<T> {
    /// Of a function that cannot fail.
    pub fn plain(value: Codec<T>) -> Self {
        let read = value.reader();
        Self(Box::new(move |told| match told {
            Told::Ok(bytes) => read(bytes),
            Told::Failed(_) => Err("it failed, and cannot fail any more".to_owned()),
        }))
    }
}

impl<T: 'static, E: 'static> Recall<Result<T, E>> {
    /// Of a function that returns a `Result`.
    pub fn fallible(value: Codec<T>, error: Codec<E>) -> Self {
        let (read, thrown) = (value.reader(), error.reader());
        Self(Box::new(move |told| match told {
            Told::Ok(bytes) => read(bytes).map(Ok),
            Told::Failed(bytes) => thrown(bytes).map(Err),
        }))
    }
}

impl<T: 'static, E: 'static> Recall<Result<T, E>> {
    /// Of the answer of somebody else, read by these.
    pub(super) fn answered(read: fn(&[u8]) -> Result<T, String>, thrown: fn(&[u8]) -> Result<E, String>) -> Self {
        Self(Box::new(move |told| match told {
            Told::Ok(bytes) => read(bytes).map(Ok),
            Told::Failed(bytes) => thrown(bytes).map(Err),
        }))
    }
}

impl<T: 'static> Recall<T> {
    /// Of an answer that is never an error.
    pub(super) fn read_by(read: fn(&[u8]) -> Result<T, String>) -> Self {
        Self(Box::new(move |told| match told {
            Told::Ok(bytes) => read(bytes),
            Told::Failed(_) => Err("it failed, and cannot fail any more".to_owned()),
        }))
    }

    /// The same of what was recorded of a call: see [`recorded_answer`](super::called::recorded_answer).
    pub(super) fn unwrapped(self) -> Self {
        Self(Box::new(move |told| match told {
            Told::Ok(bytes) => (self.0)(Told::Ok(answer_in(bytes))),
            failed @ Told::Failed(_) => (self.0)(failed),
        }))
    }
}

impl<T> Step<T> {
    /// The step `name` with this input: what generated code makes of `flow.charge(..)`.
    pub fn new(core: &Core, name: &'static str, mut args: Args, recall: Recall<T>) -> Self {
        let unreadable = args.unreadable();
        let op = match args.finish() {
            Ok(input) => Ok(Op::new(core, Ask::Step { name, input, unreadable }, None)),
            Err(reason) => Err((core.clone(), format!("the input of `{name}` cannot be written: {reason}"))),
        };
        Self { op, recall }
    }

    /// Something else than a function of the workflow, which ends as one does; the reason if it cannot be asked for.
    pub(super) fn asking(core: &Core, ask: Result<Ask, String>, name: Option<&str>, recall: Recall<T>) -> Self {
        let op = ask.map(|ask| Op::new(core, ask, name)).map_err(|reason| (core.clone(), reason));
        Self { op, recall }
    }

    /// What it asks for, while it was not asked.
    pub(super) fn ask_mut(&mut self) -> Option<&mut Ask> {
        self.op.as_mut().ok().and_then(Op::ask_mut)
    }

    /// Its identity, if it can be asked for.
    pub(super) fn id(&self) -> Option<&super::core::OpId> {
        self.op.as_ref().ok().map(Op::id)
    }

    /// The same, read otherwise.
    pub(super) fn recalled<V>(self, recall: Recall<V>) -> Step<V> {
        Step { op: self.op, recall }
    }

    /// What the function returned, or the fault that it ended in: then the run goes on.
    pub fn catch(self) -> Caught<T> {
        Caught(self)
    }

    /// What it comes to; a fault is left to the caller. What cannot be read stops the run: the code is another than before.
    pub(super) fn poll_told(&mut self, context: &mut Context<'_>) -> Poll<Result<T, Fault>> {
        let op = match &mut self.op {
            Ok(op) => op,
            // It is a mistake of the code, and the same in every replay.
            Err((_, reason)) => panic!("{reason}"),
        };
        let told = match std::task::ready!(op.poll(context)) {
            Recorded::Ok(bytes) => (self.recall.0)(Told::Ok(&bytes)),
            Recorded::Failed(bytes) => (self.recall.0)(Told::Failed(&bytes)),
            Recorded::Fault(fault) => return Poll::Ready(Err(fault)),
            other => Err(format!("it is recorded as {}", other.noun())),
        };
        match told {
            Ok(value) => Poll::Ready(Ok(value)),
            Err(reason) => {
                op.core().stop(Stop::Unreadable(op.id().clone(), reason));
                Poll::Pending
            }
        }
    }
}

impl<T> Future for Step<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match std::task::ready!(self.poll_told(context)) {
            Ok(value) => Poll::Ready(value),
            Err(fault) => {
                if let Ok(op) = &self.op {
                    op.core().stop(Stop::Fault(fault));
                }
                Poll::Pending
            }
        }
    }
}

/// A step whose fault the body wants to see: [`Step::catch`].
#[must_use = "a step does nothing until it is awaited"]
pub struct Caught<T>(Step<T>);

impl<T> Future for Caught<T> {
    type Output = Result<T, Fault>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_told(context)
    }
}

/// Code of the body's own as a step: [`Flow::run`](super::Flow::run).
#[must_use = "a step does nothing until it is awaited"]
pub struct Run<T> {
    step: Step<T>,
}

impl<T: Stored> Run<T> {
    pub(super) fn new(core: &Core, name: &str, code: impl Future<Output = T> + Send + 'static) -> Self {
        let code =
            Box::pin(async move { stored().write_recorded(&code.await).map(Ok).map_err(|reason| returned(&reason)) });
        Self::of(core, name, code, Recall::plain(stored()))
    }
}

impl<T: Stored, E: StoredError> Run<Result<T, E>> {
    pub(super) fn fallible(core: &Core, name: &str, code: impl Future<Output = Result<T, E>> + Send + 'static) -> Self {
        let code = Box::pin(async move {
            match code.await {
                Ok(value) => stored().write_recorded(&value).map(Ok),
                Err(error) => stored_error().write_recorded(&error).map(Err),
            }
            .map_err(|reason| returned(&reason))
        });
        Self::of(core, name, code, Recall::fallible(stored(), stored_error()))
    }
}

fn returned(reason: &str) -> String {
    format!("what it returned: {reason}")
}

/// What code returns that cannot fail: anything but a `Result`.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "the code of `flow.run` returns a `Result`, whose error would be recorded as a success",
    label = "would never be tried again",
    note = "write `flow.try_run(..)`: its error is recorded as such, and `max_attempts` tries it again"
)]
pub trait Plain {}

impl<T, E> Run<Result<T, E>> {
    /// What generated code makes of `flow.run(..)`, and what no `Result` comes through. It hides that of
    /// [`AwaitDurable`](super::AwaitDurable), which all else comes through.
    #[doc(hidden)]
    pub fn __plain(self) -> Self
    where
        Result<T, E>: Plain,
    {
        self
    }
}

impl<T> Run<T> {
    fn of(core: &Core, name: &str, code: super::ask::Code, recall: Recall<T>) -> Self {
        let ask = Ask::Code { policy: Policy::ONCE, code };
        Self { step: Step { op: Ok(Op::new(core, ask, Some(name))), recall } }
    }

    /// Executed up to so many times if it panics, takes too long or (of [`try_run`](super::Flow::try_run)) fails, the first time
    /// included: once unless said. The body is replayed for each, for only it can make the code anew.
    pub fn max_attempts(self, attempts: u32) -> Self {
        self.with(|policy| policy.max_attempts(attempts.into()))
    }

    /// How long to wait between those executions.
    pub fn backoff(self, pauses: Retry) -> Self {
        self.with(|policy| policy.backoff_with(pauses))
    }

    /// How long one execution may take.
    pub fn timeout(self, limit: Duration) -> Self {
        self.with(|policy| policy.timeout_with(limit))
    }

    /// What the code returned, or the fault that it ended in: then the run goes on.
    pub fn catch(self) -> Caught<T> {
        self.step.catch()
    }

    fn with(mut self, change: impl FnOnce(Policy) -> Policy) -> Self {
        if let Ok(op) = &mut self.step.op
            && let Some(Ask::Code { policy, .. }) = op.ask_mut()
        {
            *policy = change(*policy);
        }
        self
    }
}

impl<T> Future for Run<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        Pin::new(&mut self.step).poll(context)
    }
}

impl<T> fmt::Debug for Step<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Step({:?})", self.op.as_ref().ok().map(Op::id))
    }
}

impl<T> fmt::Debug for Caught<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, out)
    }
}

impl<T> fmt::Debug for Run<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.step, out)
    }
}

impl<T> fmt::Debug for Recall<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Recall")
    }
}
