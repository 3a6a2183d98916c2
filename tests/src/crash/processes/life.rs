//! The life of one child, and its progress.

use std::collections::BTreeSet;

use crate::crash::{judging::said::Said, parts::part::Part};

/// The reports of one child.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::crash) struct Life {
    /// The number of opened files.
    pub(in crate::crash) opened: u32,
    /// The number of acknowledged operations.
    pub(in crate::crash) acknowledged: u32,
    /// The parts of the system that were active.
    pub(in crate::crash) moved: BTreeSet<Part>,
    /// When it was killed, if the parent killed it.
    pub(in crate::crash) killed: Option<Killed>,
}

/// The phase in which a child was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::crash) enum Killed {
    /// It was opening its files and resuming earlier work.
    Opening,
    /// It was working.
    Working,
}

impl Life {
    pub(in crate::crash) fn hear(&mut self, said: Said) {
        match said {
            Said::Opened => self.opened += 1,
            Said::Moved(part) => self.moved.extend([part]),
            Said::Acknowledged(op, _) => {
                self.acknowledged += 1;
                self.moved.extend(Part::of(op.deed()));
            }
            _ => {}
        }
    }
}
