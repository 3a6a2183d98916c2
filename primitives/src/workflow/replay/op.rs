//! One durable operation of a body: asked for at its first poll, answered once, released if it is dropped.

use std::task::{Context, Poll};

use super::{ask::Ask, core::Core, journal::Recorded, op_id::OpId};
use crate::planted::Bug;

/// An operation. Its identity is taken when it is made, and so does not depend on the order of polls. Its
/// request is made at the first poll, as with all futures.
#[derive(Debug)]
pub(in crate::workflow) struct Op {
    core: Core,
    id: OpId,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Made(Ask),
    Open,
    Over,
}

impl Op {
    pub(in crate::workflow) fn new(core: &Core, ask: Ask, called: Option<&str>) -> Self {
        let id = core.identity(&ask.name(called));
        Self { core: core.clone(), id, stage: Stage::Made(ask) }
    }

    pub(in crate::workflow) fn core(&self) -> &Core {
        &self.core
    }

    pub(in crate::workflow) fn id(&self) -> &OpId {
        &self.id
    }

    /// The request, while it is not made yet.
    pub(in crate::workflow) fn ask_mut(&mut self) -> Option<&mut Ask> {
        match &mut self.stage {
            Stage::Made(ask) => Some(ask),
            Stage::Open | Stage::Over => None,
        }
    }

    /// Never ready at the first poll, neither in the first execution nor in a replay: otherwise a replay
    /// would poll other arms of a `select!` than the first execution did.
    pub(in crate::workflow) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Recorded> {
        self.core.must_be_polled();
        match std::mem::replace(&mut self.stage, Stage::Open) {
            Stage::Made(ask) => {
                if Bug::ReadyAtFirstPoll.planted()
                    && let Some(recorded) = self.core.look(&self.id, context.waker())
                {
                    self.stage = Stage::Over;
                    return Poll::Ready(recorded);
                }
                self.core.ask(&self.id, ask, context.waker());
            }
            Stage::Open => {
                if let Some(recorded) = self.core.look(&self.id, context.waker()) {
                    self.stage = Stage::Over;
                    return Poll::Ready(recorded);
                }
            }
            Stage::Over => self.stage = Stage::Over,
        }
        Poll::Pending
    }
}

impl Drop for Op {
    fn drop(&mut self) {
        if let Stage::Open = self.stage {
            self.core.let_go(&self.id);
        }
    }
}
