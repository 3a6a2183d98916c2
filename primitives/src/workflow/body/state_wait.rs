//! Waits of a body for its own state, which an update or another branch changes.

use std::{
    fmt,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use crate::workflow::{
    AwaitDurable, Within,
    replay::{ask::Ask, core::Core, op::Op},
};

/// A wait for a condition on the run's state: [`Flow::wait_until`](crate::workflow::Flow::wait_until). The wait is
/// not recorded: the state follows from the delivered journal entries, and is the same in every replay.
#[must_use = "a wait does nothing until it is awaited"]
pub struct WaitUntil<W, F> {
    op: Option<Op>,
    core: Core,
    condition: F,
    workflow: PhantomData<fn() -> W>,
}

impl<W: 'static, F: Fn(&W) -> bool> WaitUntil<W, F> {
    pub(in crate::workflow) fn new(core: &Core, condition: F) -> Self {
        let op = Op::new(core, Ask::Until, None);
        Self { op: Some(op), core: core.clone(), condition, workflow: PhantomData }
    }
}

impl<W: 'static, F: Fn(&W) -> bool + Unpin> WaitUntil<W, F> {
    /// Limits the wait. At the limit the output is an [`Elapsed`](crate::workflow::Elapsed). In a body the limit may
    /// be a literal.
    pub fn timeout(self, limit: Duration) -> Within<Self> {
        self.within(limit)
    }
}

impl<W: 'static, F: Fn(&W) -> bool + Unpin> Future for WaitUntil<W, F> {
    type Output = ();

    /// May be ready at the first poll, unlike recorded operations: a replay finds the same state here.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        this.core.must_be_polled();
        if this.core.with_state(false, |state: &mut W| (this.condition)(state)) {
            // Dropping the operation releases its request.
            this.op = None;
            return Poll::Ready(());
        }
        if let Some(op) = &mut this.op {
            let told = op.poll(context);
            debug_assert!(told.is_pending(), "nobody tells it anything");
        }
        Poll::Pending
    }
}

impl<W, F> fmt::Debug for WaitUntil<W, F> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "WaitUntil({:?})", self.op.as_ref().map(Op::id))
    }
}
