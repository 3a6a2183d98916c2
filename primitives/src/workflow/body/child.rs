//! Runs of other workflows as children (L6).

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use super::{
    call::{Called, Reads},
    step::Recall,
};
use crate::{
    Call,
    workflow::{
        RunError, Step,
        replay::{
            ask::{Ask, Begun},
            core::Core,
        },
    },
};

/// A run from its start to its result: `client.checkout("order-9").execute(order)`.
///
/// Awaited outside a body, it starts the run, or finds the run that was started with the same input, and
/// waits for its end. In a body it becomes a child: [`Flow::child`](crate::workflow::Flow::child).
#[must_use = "nothing is started until it is awaited"]
pub struct Execute<T, E>(Call<T, RunError<E>>);

impl<T, E> Execute<T, E> {
    /// Wraps the call. Generated code uses this for `execute(..)`.
    pub fn new(call: Call<T, RunError<E>>) -> Self {
        Self(call)
    }
}

/// A value that [`Flow::child`](crate::workflow::Flow::child) accepts: an [`Execute`].
#[diagnostic::on_unimplemented(
    message = "a child is a run and its end, and this is not one",
    label = "not a run and its end",
    note = "write `flow.child(parcels.get(\"one\").execute(..))`; an action of another primitive is called by `flow.call(..)`"
)]
pub trait Executes {
    /// The result of the run.
    type Output: 'static;
    /// The error that the body of the run may return.
    type Error: 'static;
    /// Returns the run as an [`Execute`].
    fn execute(self) -> Execute<Self::Output, Self::Error>;
}

impl<T: 'static, E: 'static> Executes for Execute<T, E> {
    type Output = T;
    type Error = E;

    fn execute(self) -> Self {
        self
    }
}

impl<T, E> IntoFuture for Execute<T, E> {
    type Output = <Call<T, RunError<E>> as IntoFuture>::Output;
    type IntoFuture = <Call<T, RunError<E>> as IntoFuture>::IntoFuture;

    fn into_future(self) -> Self::IntoFuture {
        self.0.into_future()
    }
}

impl<T, E> fmt::Debug for Execute<T, E> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, out)
    }
}

/// A child run. Awaiting it returns the child's result, or how the child ended without a result.
///
/// The child starts in the parent's own commit, and its end reaches the parent exactly once. If the parent
/// ends first, or releases the child (by losing a `select!`), the child is cancelled, unless it was
/// [abandoned](Self::abandon).
#[must_use = "a child is not started until it is awaited"]
pub struct Child<T, E> {
    step: Step<Result<T, RunError<E>>>,
}

impl<T: 'static, E: 'static> Child<T, E> {
    pub(in crate::workflow) fn new(core: &Core, Execute(call): Execute<T, E>) -> Self {
        let asked = Called::of(call);
        let ask = asked.as_ref().map(|(called, _)| Ask::Child(Begun::of(called.clone())));
        let op = ask.map_err(|reason| format!("the input of a child cannot be written: {reason}"));
        let recall = asked.as_ref().map_or_else(|_| never(), |(_, reads)| recall(*reads));
        Self { step: Step::asking(core, op, None, recall) }
    }

    /// Lets the child continue if the parent ends first or releases it.
    pub fn abandon(mut self) -> Self {
        self.with(|begun| begun.is_abandoned = true);
        self
    }

    /// Starts the child without waiting for its end, and returns the child's key, by which the child can be
    /// asked. The child continues when the parent ends.
    pub fn detached(mut self) -> Step<String> {
        self.with(|begun| (begun.is_abandoned, begun.is_detached) = (true, true));
        self.step.recalled(Recall::plain(crate::values::stored::stored()))
    }

    fn with(&mut self, change: impl FnOnce(&mut Begun)) {
        if let Some(Ask::Child(begun)) = self.step.ask_mut() {
            change(begun);
        }
    }
}

fn recall<T: 'static, E: 'static>((read, thrown): Reads<T, RunError<E>>) -> Recall<Result<T, RunError<E>>> {
    Recall::answered(read, thrown)
}

/// Stands in for the readers of a child whose input cannot be written. Polling such a child panics, so
/// nothing is read.
fn never<T: 'static, E: 'static>() -> Recall<Result<T, RunError<E>>> {
    Recall::answered(|_| Err(String::new()), |_| Err(String::new()))
}

impl<T, E> Future for Child<T, E> {
    type Output = Result<T, RunError<E>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.step).poll(context)
    }
}

impl<T, E> fmt::Debug for Child<T, E> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.step, out)
    }
}
