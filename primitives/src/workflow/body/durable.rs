//! The futures that a body may await: only those that a replay can repeat (W7).

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::{
    child::Child,
    combine::{All, Both, Either, Race, race},
    continue_as::ContinueAs,
    permit::{CaughtPermit, PermitWait},
    sleep::Sleep,
    state_wait::WaitUntil,
    step::{Caught, Run, Step},
    wait::{TimedWait, Wait, WaitMany},
};
use crate::{
    event::{Event, key::IsSaid},
    workflow::replay::{ask::Until, core::Core},
};

/// A future that a replay can repeat: a step, a sleep, a wait for events, a combination of these, or a
/// block of the body.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not durable: a workflow can only await what a replay can repeat",
    label = "would be lost in a crash, and repeated by every replay",
    note = "time: `flow.sleep(\"5m\")`; calls to the world: a `#[step] async fn`, or `flow.run(\"name\", async move {{ .. }})`; calls of other entities: `flow.call(..)`; several at once: `select!`, `join!`, `join_all`; a helper: an `async fn` of the workflow's `impl`, or one with `#[durable]`; a wait `WithoutItsKey` has a topic for each key: say which, `flow.wait_for::<Paid>().key(order)`"
)]
pub trait Durable: Future {}

#[diagnostic::do_not_recommend]
impl<T> Durable for Step<T> {}
#[diagnostic::do_not_recommend]
impl<T> Durable for Caught<T> {}
#[diagnostic::do_not_recommend]
impl<T> Durable for Run<T> {}
#[diagnostic::do_not_recommend]
impl<T, E> Durable for Child<T, E> {}
#[diagnostic::do_not_recommend]
impl Durable for PermitWait {}
#[diagnostic::do_not_recommend]
impl Durable for CaughtPermit {}
#[diagnostic::do_not_recommend]
impl<T> Durable for ContinueAs<T> {}
#[diagnostic::do_not_recommend]
impl Durable for Sleep {}
#[diagnostic::do_not_recommend]
impl<W: 'static, F: Fn(&W) -> bool + Unpin> Durable for WaitUntil<W, F> {}

#[diagnostic::do_not_recommend]
impl<E: Event, K: IsSaid> Durable for Wait<E, K> {}
#[diagnostic::do_not_recommend]
impl<E: Event, K: IsSaid> Durable for WaitMany<E, K> {}
#[diagnostic::do_not_recommend]
impl<E: Event, K: IsSaid> Durable for TimedWait<Wait<E, K>> {}
#[diagnostic::do_not_recommend]
impl<E: Event, K: IsSaid> Durable for TimedWait<WaitMany<E, K>> {}
#[diagnostic::do_not_recommend]
impl<A: Durable, B: Durable> Durable for Race<A, B> {}
#[diagnostic::do_not_recommend]
impl<A: Durable, B: Durable> Durable for Both<A, B> {}
#[diagnostic::do_not_recommend]
impl<F: Durable> Durable for All<F> {}
#[diagnostic::do_not_recommend]
impl<F: Durable + Unpin + ?Sized> Durable for &mut F {}
#[diagnostic::do_not_recommend]
impl<F: Durable + Unpin + ?Sized> Durable for Box<F> {}
#[diagnostic::do_not_recommend]
impl<F: Durable + ?Sized> Durable for Pin<Box<F>> {}
#[diagnostic::do_not_recommend]
impl<F: Durable + ?Sized> Durable for Pin<&mut F> {}

/// Checks every `.await` of a body, and sets time limits. All types have this trait; the bound [`Durable`]
/// of its methods gives the compile error.
pub trait AwaitDurable: Sized {
    /// Returns the future, if it is durable.
    #[doc(hidden)]
    fn __durable(self) -> Self
    where
        Self: Durable,
    {
        self
    }

    /// Returns the code unchanged. Generated code calls this on every `.run(..)` of a body. Code that
    /// returns a `Result` has [another](crate::workflow::Run) `__plain`, which is a compile error.
    #[doc(hidden)]
    fn __plain(self) -> Self {
        self
    }

    /// Limits the time from the first await. At the limit the future is dropped, and the output is
    /// [`Elapsed`]. In a body the limit may be a literal: `.within("24h")`.
    fn within(self, limit: Duration) -> Within<Self>
    where
        Self: Durable,
    {
        Within { race: race(self, Sleep::new(&Core::current(), Until::After(limit))), limit }
    }
}

impl<T> AwaitDurable for T {}

/// A future with a deadline: [`within`](AwaitDurable::within).
#[derive(Debug)]
#[must_use = "futures do nothing unless they are awaited"]
pub struct Within<F: Future> {
    race: Race<F, Sleep>,
    limit: Duration,
}

impl<F: Durable> Future for Within<F> {
    type Output = Result<F::Output, Elapsed>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let after = self.limit;
        Pin::new(&mut self.race).poll(context).map(|first| match first {
            Either::Left(output) => Ok(output),
            Either::Right(()) => Err(Elapsed { after }),
        })
    }
}

#[diagnostic::do_not_recommend]
impl<F: Durable> Durable for Within<F> {}

/// The error of a future that did not end within its limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("it did not end within {after:?}")]
pub struct Elapsed {
    /// The limit.
    pub after: Duration,
}

/// A block or a helper of a body. It is durable because it awaits only durable futures.
#[must_use = "futures do nothing unless they are awaited"]
pub struct Block<F>(Pin<Box<F>>);

/// Wraps a block whose awaits were checked. Generated code uses this for `async { .. }` in a body.
#[doc(hidden)]
pub fn block<F: Future>(future: F) -> Block<F> {
    Block(Box::pin(future))
}

impl<F: Future> Future for Block<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.0.as_mut().poll(context)
    }
}

#[diagnostic::do_not_recommend]
impl<F: Future> Durable for Block<F> {}

impl<F> fmt::Debug for Block<F> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Block")
    }
}

/// Declares a future durable where the compiler cannot check it: a future that awaits only durable futures,
/// through a combinator of another crate. If the future awaits anything else, the run is stopped when that
/// is noticed.
pub fn assume_durable<F: Future>(future: F) -> Block<F> {
    block(future)
}
