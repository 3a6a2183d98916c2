//! The parts of the system that a campaign keeps busy, and the parts that were active in a life.
//!
//! A new part gets a variant here. Its code calls [`Part::moved`], or its operation is listed in
//! [`Part::of`]. Its evidence is judged together with that of the other parts.

use std::{
    fmt,
    sync::atomic::{AtomicU32, Ordering},
};

use crate::crash::{judging::said::Said, op::Deed};

/// A part of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::crash) enum Part {
    Calls,
    Messages,
    Alarms,
    Work,
    Buffers,
    Queues,
    Ticks,
    Runs,
    Transactions,
    Children,
    Undos,
    Generations,
    Topics,
    Semaphores,
    Hooks,
    Outbox,
}

/// The parts that were active in this process.
static MOVED: AtomicU32 = AtomicU32::new(0);

impl Part {
    pub(in crate::crash) const ALL: [Self; 16] = [
        Self::Calls,
        Self::Messages,
        Self::Alarms,
        Self::Work,
        Self::Buffers,
        Self::Queues,
        Self::Ticks,
        Self::Runs,
        Self::Transactions,
        Self::Children,
        Self::Undos,
        Self::Generations,
        Self::Topics,
        Self::Semaphores,
        Self::Hooks,
        Self::Outbox,
    ];

    /// The part that was active when an operation is acknowledged. `None` if the part is active later, in
    /// code that calls [`Part::moved`].
    pub(in crate::crash) fn of(deed: Deed) -> Option<Self> {
        match deed {
            Deed::Add => Some(Self::Calls),
            Deed::Publish => Some(Self::Topics),
            Deed::Permit => Some(Self::Semaphores),
            _ => None,
        }
    }

    /// Reports to the parent that code of this part runs. It reports only once per process, because a line
    /// each time would slow the process down.
    pub(in crate::crash) fn moved(self) {
        let bit = 1 << self as u32;
        if MOVED.fetch_or(bit, Ordering::Relaxed) & bit == 0 {
            Said::Moved(self).aloud();
        }
    }

    pub(in crate::crash) fn numbered(number: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }
}

impl fmt::Display for Part {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Calls => "calls",
            Self::Messages => "messages",
            Self::Alarms => "alarms",
            Self::Work => "work",
            Self::Buffers => "buffers",
            Self::Queues => "queues",
            Self::Ticks => "ticks",
            Self::Runs => "runs",
            Self::Transactions => "transactional steps",
            Self::Children => "children",
            Self::Undos => "undos",
            Self::Generations => "generations",
            Self::Topics => "topics",
            Self::Semaphores => "semaphores",
            Self::Hooks => "transactional hooks",
            Self::Outbox => "outboxes",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_its_number() {
        for (number, part) in (0..).zip(Part::ALL) {
            assert_eq!((part as u64, Part::numbered(number)), (number, Some(part)));
        }
        assert_eq!(Part::numbered(Part::ALL.len() as u64), None);
    }
}
