//! A permit of a semaphore that a run holds.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use super::{
    Fault, Step,
    ask::Ask,
    called::Called,
    core::{Core, OpId},
    step::Recall,
};
use crate::{Args, kinds::semaphore::Acquire};

/// A permit on its way: [`Flow::permit`](super::Flow::permit).
#[must_use = "nobody stands in line until it is awaited"]
pub struct PermitWait {
    step: Step<()>,
    core: Core,
}

impl PermitWait {
    pub(super) fn new(core: &Core, acquire: Acquire) -> Self {
        let (address, weight) = acquire.asked();
        let (of, key) = (address.definition().to_owned(), bytes::Bytes::copy_from_slice(address.key()));
        let ask = weight.and_then(|weight| Args::new().put(&weight).finish());
        let ask = ask.map(|body| Ask::Permit(Called { of, key, verb: ACQUIRE, body }));
        Self { step: Step::asking(core, ask, None, Recall::read_by(|_| Ok(()))), core: core.clone() }
    }
}

impl PermitWait {
    /// The permit, or the fault that its wait ended in: then the run goes on.
    pub fn catch(self) -> CaughtPermit {
        CaughtPermit(self)
    }

    fn op(&self) -> OpId {
        self.step.id().expect("what has ended was asked for").clone()
    }

    fn held(&self) -> HeldPermit {
        HeldPermit { core: self.core.clone(), op: self.op() }
    }
}

/// A permit on its way, whose fault the body wants to see: [`PermitWait::catch`].
#[must_use = "nobody stands in line until it is awaited"]
#[derive(Debug)]
pub struct CaughtPermit(PermitWait);

impl Future for CaughtPermit {
    type Output = Result<HeldPermit, Fault>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let told = std::task::ready!(self.0.step.poll_told(context));
        if told.is_err() {
            // Whether it was given nobody knows: it comes back all the same.
            self.0.core.release(&self.0.op());
        }
        Poll::Ready(told.map(|()| self.0.held()))
    }
}

/// How a run asks for a permit, and lets it go.
pub(super) const ACQUIRE: &str = "acquire_as";
pub(super) const RELEASE: &str = "release_as";
/// The same for a permit of which the run has not heard whether it was given: the semaphore may learn of it before it is asked.
pub(super) const WITHDRAW: &str = "withdraw_as";

impl Future for PermitWait {
    type Output = HeldPermit;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<HeldPermit> {
        std::task::ready!(Pin::new(&mut self.step).poll(context));
        Poll::Ready(self.held())
    }
}

impl fmt::Debug for PermitWait {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.step, out)
    }
}

/// A permit that the run holds, whatever becomes of the process. It comes back with the commit in which the body drops it, or the run ends.
#[must_use = "a permit that is dropped is released"]
pub struct HeldPermit {
    core: Core,
    op: OpId,
}

impl Drop for HeldPermit {
    fn drop(&mut self) {
        self.core.release(&self.op);
    }
}

impl fmt::Debug for HeldPermit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "HeldPermit({})", self.op)
    }
}
