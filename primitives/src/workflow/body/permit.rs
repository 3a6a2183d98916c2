//! Permits of semaphores that a run holds.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use super::{call::Called, step::Recall};
use crate::{
    Args,
    kinds::semaphore::Acquire,
    workflow::{
        Fault, Step,
        replay::{ask::Ask, core::Core, op_id::OpId},
    },
};

/// A wait for a permit: [`Flow::permit`](crate::workflow::Flow::permit).
#[must_use = "nobody stands in line until it is awaited"]
pub struct PermitWait {
    step: Step<()>,
    core: Core,
}

impl PermitWait {
    pub(in crate::workflow) fn new(core: &Core, acquire: Acquire) -> Self {
        let (address, weight) = acquire.asked();
        let (of, key) = (address.definition().to_owned(), bytes::Bytes::copy_from_slice(address.key()));
        let ask = weight.and_then(|weight| Args::new().put(&weight).finish());
        let ask = ask.map(|body| Ask::Permit(Called { of, key, verb: ACQUIRE, body }));
        Self { step: Step::asking(core, ask, None, Recall::read_by(|_| Ok(()))), core: core.clone() }
    }
}

impl PermitWait {
    /// Returns the permit, or the fault in which the wait ended. With `catch` such a fault does not fail
    /// the run.
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

/// A wait for a permit whose fault the body handles: [`PermitWait::catch`].
#[must_use = "nobody stands in line until it is awaited"]
#[derive(Debug)]
pub struct CaughtPermit(PermitWait);

impl Future for CaughtPermit {
    type Output = Result<HeldPermit, Fault>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let told = std::task::ready!(self.0.step.poll_told(context));
        if told.is_err() {
            // Whether the permit was given is unknown, so it is released in any case.
            self.0.core.release(&self.0.op());
        }
        Poll::Ready(told.map(|()| self.0.held()))
    }
}

/// The verbs by which a run takes a permit and gives it back.
pub(in crate::workflow) const ACQUIRE: &str = "acquire_as";
pub(in crate::workflow) const RELEASE: &str = "release_as";
/// Gives back a permit whose grant the run has not heard of. The semaphore may learn of this before it is
/// asked for the permit.
pub(in crate::workflow) const WITHDRAW: &str = "withdraw_as";

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

/// A permit that the run holds across crashes of the process. The permit comes back with the commit in
/// which the body drops it, or in which the run ends.
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
