//! A key's place in memory: its mail, and its body when no hand has it.

use super::{body::Body, mail::Mail};

#[derive(Debug)]
pub(crate) struct Slot {
    /// What arrived since the last visit.
    pub(crate) mail: Vec<Mail>,
    /// `None` while a hand has it.
    pub(crate) body: Option<Box<Body>>,
    /// It is in the run queue.
    pub(crate) is_queued: bool,
    /// Somebody wants it visited, and a hand had it.
    pub(crate) was_called: bool,
    /// It is in the line for the writer.
    pub(crate) is_writable: bool,
    /// Its partition was lost while a hand had the body.
    pub(crate) is_lost: bool,
    /// It was used since the last look for what must leave, for want of room.
    pub(crate) was_used: bool,
    /// The tick in which a hand last had it.
    pub(crate) used_at: u64,
    /// Calls that wait here, and their bytes.
    pub(crate) calls: usize,
    pub(crate) bytes: usize,
    /// What it counts for in memory.
    pub(crate) weight: usize,
}

impl Slot {
    pub(crate) fn new(body: Body, tick: u64) -> Self {
        Self {
            mail: Vec::new(),
            weight: body.weight(),
            body: Some(Box::new(body)),
            is_queued: false,
            was_called: false,
            is_writable: false,
            is_lost: false,
            was_used: true,
            used_at: tick,
            calls: 0,
            bytes: 0,
        }
    }
}
