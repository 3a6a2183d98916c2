//! A permit of a semaphore that a run holds.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use super::{
    Step,
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
        let ask = Args::new().put(&weight).finish();
        let ask = ask.map(|body| Ask::Permit(Called { of, key, verb: ACQUIRE, body }));
        Self { step: Step::asking(core, ask, None, Recall::read_by(|_| Ok(()))), core: core.clone() }
    }
}

/// How a run asks for a permit, and lets it go.
pub(super) const ACQUIRE: &str = "acquire_as";
pub(super) const RELEASE: &str = "release_as";

impl Future for PermitWait {
    type Output = HeldPermit;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<HeldPermit> {
        std::task::ready!(Pin::new(&mut self.step).poll(context));
        let op = self.step.id().expect("a permit that was given was asked for").clone();
        Poll::Ready(HeldPermit { core: self.core.clone(), op })
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
