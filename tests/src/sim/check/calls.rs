//! The calls to primitives, each from its beginning to its answer.

use std::sync::Mutex;

use bytes::Bytes;

use crate::sim::{drawing::roster::Number, recording::log::lock, running::world::World};

/// One call.
#[derive(Clone, Debug)]
pub struct Span {
    /// The member that was called.
    pub member: Number,
    /// The name of the called verb.
    pub verb: &'static str,
    /// The number that identifies the effect of the call.
    pub number: u64,
    /// The moment of the call.
    pub from: u64,
    /// The moment of the answer; `u64::MAX` without a known answer.
    pub until: u64,
    /// The answer. Without one the call may have taken effect, or may still do so.
    pub told: Option<Bytes>,
    /// Whether the call was refused and so took no effect.
    pub refused: bool,
}

impl Span {
    /// Whether the call may drop items before their flush.
    pub fn drops(&self) -> bool {
        !self.refused && matches!(self.verb, "clear" | "destroy")
    }
}

impl Span {
    /// Whether the call may have restarted a run.
    pub fn restarts(&self) -> bool {
        !self.refused && self.verb == "restart"
    }
}

/// All calls to primitives.
#[derive(Default)]
pub struct Calls(Mutex<Vec<Span>>);

impl Calls {
    /// Registers a call and returns its handle.
    pub fn asks(&self, world: &World, member: Number, verb: &'static str, number: u64) -> usize {
        let mut spans = lock(&self.0);
        let from = world.chronicle.moment();
        spans.push(Span { member, verb, number, from, until: u64::MAX, told: None, refused: false });
        spans.len() - 1
    }

    /// Registers the answer of a call. `None` stands for an unknown answer.
    pub fn answered(&self, world: &World, handle: usize, told: Option<Bytes>) {
        if told.is_some() {
            let span = &mut lock(&self.0)[handle];
            (span.until, span.told) = (world.chronicle.moment(), told);
        }
    }

    /// Registers that a call was refused.
    pub fn refused(&self, handle: usize) {
        lock(&self.0)[handle].refused = true;
    }

    /// The calls of a member.
    pub fn of(&self, member: Number) -> Vec<Span> {
        lock(&self.0).iter().filter(|span| span.member == member).cloned().collect()
    }

    /// Whether any member got a call of this verb that was not refused.
    pub fn any(&self, verb: &str) -> bool {
        lock(&self.0).iter().any(|span| span.verb == verb && !span.refused)
    }
}
