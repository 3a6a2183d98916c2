//! A step in a body: the return value of the author's function, once it is recorded.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use super::call::answer_in;
use crate::{
    Args, Retry, Stored, StoredError,
    values::stored::{Codec, stored, stored_error},
    workflow::{
        Fault, Policy,
        replay::{
            ask::Ask,
            core::{Core, Stop},
            journal::Recorded,
            op::Op,
        },
    },
};

/// A step. Awaiting it returns what the author's function returned, recorded once and the same in every
/// replay (W1).
///
/// A fault (the last attempt timed out, panicked or was silent, or the outcome cannot be recorded) fails
/// the run; [`catch`](Self::catch) returns the fault instead. Like all futures, a step does nothing until
/// it is awaited.
#[must_use = "a step does nothing until it is awaited"]
pub struct Step<T> {
    op: Result<Op, (Core, String)>,
    recall: Recall<T>,
}

/// Turns a recorded outcome into the function's return value. The error says why it cannot be read.
pub struct Recall<T>(Box<Reads<T>>);

type Reads<T> = dyn Fn(Told<'_>) -> Result<T, String> + Send;

/// The recorded outcome of a step.
#[derive(Debug)]
pub(in crate::workflow) enum Told<'a> {
    Ok(&'a [u8]),
    Failed(&'a [u8]),
}

impl<T: 'static> Recall<T> {
    /// Reads the outcome of a function that cannot fail.
    pub fn plain(value: Codec<T>) -> Self {
        let read = value.reader();
        Self(Box::new(move |told| match told {
            Told::Ok(bytes) => read(bytes),
            Told::Failed(_) => Err("it failed, and cannot fail any more".to_owned()),
        }))
    }
}

impl<T: 'static, E: 'static> Recall<Result<T, E>> {
    /// Reads the outcome of a function that returns a `Result`.
    pub fn fallible(value: Codec<T>, error: Codec<E>) -> Self {
        let (read, thrown) = (value.reader(), error.reader());
        Self(Box::new(move |told| match told {
            Told::Ok(bytes) => read(bytes).map(Ok),
            Told::Failed(bytes) => thrown(bytes).map(Err),
        }))
    }
}

impl<T: 'static, E: 'static> Recall<Result<T, E>> {
    /// Reads the answer of another entity with these functions.
    pub(in crate::workflow) fn answered(
        read: fn(&[u8]) -> Result<T, String>,
        thrown: fn(&[u8]) -> Result<E, String>,
    ) -> Self {
        Self(Box::new(move |told| match told {
            Told::Ok(bytes) => read(bytes).map(Ok),
            Told::Failed(bytes) => thrown(bytes).map(Err),
        }))
    }
}

impl<T: 'static> Recall<T> {
    /// Reads an answer that is never an error.
    pub(in crate::workflow) fn read_by(read: fn(&[u8]) -> Result<T, String>) -> Self {
        Self(Box::new(move |told| match told {
            Told::Ok(bytes) => read(bytes),
            Told::Failed(_) => Err("it failed, and cannot fail any more".to_owned()),
        }))
    }

    /// Takes a call's answer out of its recorded form first: see
    /// [`recorded_answer`](super::call::recorded_answer).
    pub(in crate::workflow) fn unwrapped(self) -> Self {
        Self(Box::new(move |told| match told {
            Told::Ok(bytes) => (self.0)(Told::Ok(answer_in(bytes))),
            failed @ Told::Failed(_) => (self.0)(failed),
        }))
    }
}

impl<T> Step<T> {
    /// The step `name` with this input. Generated code uses this for `flow.charge(..)`.
    pub fn new(core: &Core, name: &'static str, mut args: Args, recall: Recall<T>) -> Self {
        let unreadable = args.unreadable();
        let op = match args.finish() {
            Ok(input) => Ok(Op::new(core, Ask::Step { name, input, unreadable }, None)),
            Err(reason) => Err((core.clone(), format!("the input of `{name}` cannot be written: {reason}"))),
        };
        Self { op, recall }
    }

    /// An operation that ends like a step but is not a function of the workflow. The error is why it cannot
    /// be asked for.
    pub(in crate::workflow) fn asking(
        core: &Core,
        ask: Result<Ask, String>,
        name: Option<&str>,
        recall: Recall<T>,
    ) -> Self {
        let op = ask.map(|ask| Op::new(core, ask, name)).map_err(|reason| (core.clone(), reason));
        Self { op, recall }
    }

    /// The request, while it is not made yet.
    pub(in crate::workflow) fn ask_mut(&mut self) -> Option<&mut Ask> {
        self.op.as_mut().ok().and_then(Op::ask_mut)
    }

    /// The identity of the operation, if it can be asked for.
    pub(in crate::workflow) fn id(&self) -> Option<&crate::workflow::replay::op_id::OpId> {
        self.op.as_ref().ok().map(Op::id)
    }

    /// The same step, with another reader.
    pub(in crate::workflow) fn recalled<V>(self, recall: Recall<V>) -> Step<V> {
        Step { op: self.op, recall }
    }

    /// Returns what the function returned, or the fault in which the step ended. With `catch` such a fault
    /// does not fail the run.
    pub fn catch(self) -> Caught<T> {
        Caught(self)
    }

    /// Polls the step, and leaves a fault to the caller. An outcome that cannot be read stops the run,
    /// because the code has changed.
    pub(in crate::workflow) fn poll_told(&mut self, context: &mut Context<'_>) -> Poll<Result<T, Fault>> {
        let op = match &mut self.op {
            Ok(op) => op,
            // A mistake in the code, which every replay repeats: the panic stops the run with the reason.
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

/// A step whose fault the body handles: [`Step::catch`].
#[must_use = "a step does nothing until it is awaited"]
pub struct Caught<T>(Step<T>);

impl<T> Future for Caught<T> {
    type Output = Result<T, Fault>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_told(context)
    }
}

/// Code of the body, executed as a step: [`Flow::run`](crate::workflow::Flow::run).
#[must_use = "a step does nothing until it is awaited"]
pub struct Run<T> {
    step: Step<T>,
}

impl<T: Stored> Run<T> {
    pub(in crate::workflow) fn new(core: &Core, name: &str, code: impl Future<Output = T> + Send + 'static) -> Self {
        let code =
            Box::pin(async move { stored().write_recorded(&code.await).map(Ok).map_err(|reason| returned(&reason)) });
        Self::of(core, name, code, Recall::plain(stored()))
    }
}

impl<T: Stored, E: StoredError> Run<Result<T, E>> {
    pub(in crate::workflow) fn fallible(
        core: &Core,
        name: &str,
        code: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Self {
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

/// The output of code that cannot fail: any type but a `Result`.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "the code of `flow.run` returns a `Result`, whose error would be recorded as a success",
    label = "would never be tried again",
    note = "write `flow.try_run(..)`: its error is recorded as such, and `max_attempts` tries it again"
)]
pub trait Plain {}

impl<T, E> Run<Result<T, E>> {
    /// Generated code calls this on `flow.run(..)`. The bound holds for no `Result`, so such code does not
    /// compile. The `__plain` of [`AwaitDurable`](crate::workflow::AwaitDurable) accepts everything else.
    #[doc(hidden)]
    pub fn __plain(self) -> Self
    where
        Result<T, E>: Plain,
    {
        self
    }
}

impl<T> Run<T> {
    fn of(core: &Core, name: &str, code: crate::workflow::replay::ask::Code, recall: Recall<T>) -> Self {
        let ask = Ask::Code { policy: Policy::ONCE, code };
        Self { step: Step { op: Ok(Op::new(core, ask, Some(name))), recall } }
    }

    /// The number of executions in all, the first included: 1 by default. The code is executed again if it
    /// panics, takes too long or (with [`try_run`](crate::workflow::Flow::try_run)) fails. The body is replayed
    /// before each further execution, because only the body can make the code.
    pub fn max_attempts(self, attempts: u32) -> Self {
        self.with(|policy| policy.max_attempts(attempts.into()))
    }

    /// The pauses between executions.
    pub fn backoff(self, pauses: Retry) -> Self {
        self.with(|policy| policy.backoff_with(pauses))
    }

    /// The time limit of one execution.
    pub fn timeout(self, limit: Duration) -> Self {
        self.with(|policy| policy.timeout_with(limit))
    }

    /// Returns what the code returned, or the fault in which the step ended. With `catch` such a fault does
    /// not fail the run.
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
