//! Calls to primitives, from when each was asked to when it was answered.

use std::sync::Mutex;

use bytes::Bytes;

use crate::sim::{cast::Number, chronicle::lock, world::World};

/// One call.
#[derive(Clone, Debug)]
pub struct Span {
    /// To whom.
    pub member: Number,
    /// What.
    pub verb: &'static str,
    /// Whose effect it is.
    pub number: u64,
    /// When it was asked.
    pub from: u64,
    /// When it was answered; never, if it was not or nobody knows.
    pub until: u64,
    /// What it was answered; without that it may have taken effect, or may yet.
    pub told: Option<Bytes>,
    /// It was refused, and took no effect.
    pub refused: bool,
}

impl Span {
    /// Whether it may drop items that are not flushed.
    pub fn drops(&self) -> bool {
        !self.refused && matches!(self.verb, "clear" | "destroy")
    }
}

impl Span {
    /// Whether it may have had a run begin anew.
    pub fn restarts(&self) -> bool {
        !self.refused && self.verb == "restart"
    }
}

/// All calls to primitives.
#[derive(Default)]
pub struct Calls(Mutex<Vec<Span>>);

impl Calls {
    /// A call is made; its handle.
    pub fn asks(&self, world: &World, member: Number, verb: &'static str, number: u64) -> usize {
        let mut spans = lock(&self.0);
        let from = world.chronicle.moment();
        spans.push(Span { member, verb, number, from, until: u64::MAX, told: None, refused: false });
        spans.len() - 1
    }

    /// It was answered with this, or nobody knows with what.
    pub fn answered(&self, world: &World, handle: usize, told: Option<Bytes>) {
        if told.is_some() {
            let span = &mut lock(&self.0)[handle];
            (span.until, span.told) = (world.chronicle.moment(), told);
        }
    }

    /// It was refused.
    pub fn refused(&self, handle: usize) {
        lock(&self.0)[handle].refused = true;
    }

    /// The calls to a member.
    pub fn of(&self, member: Number) -> Vec<Span> {
        lock(&self.0).iter().filter(|span| span.member == member).cloned().collect()
    }

    /// Whether a call of this sort was made to anybody, and not refused.
    pub fn any(&self, verb: &str) -> bool {
        lock(&self.0).iter().any(|span| span.verb == verb && !span.refused)
    }
}
