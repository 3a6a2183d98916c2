//! The life of one child, and its progress.

use std::collections::BTreeSet;

use super::{part::Part, said::Said};

/// The reports of one child.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Life {
    /// The number of opened files.
    pub(super) opened: u32,
    /// The number of acknowledged operations.
    pub(super) acknowledged: u32,
    /// The parts of the system that were active.
    pub(super) moved: BTreeSet<Part>,
    /// When it was killed, if the parent killed it.
    pub(super) killed: Option<Killed>,
}

/// The phase in which a child was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Killed {
    /// It was opening its files and resuming earlier work.
    Opening,
    /// It was working.
    Working,
}

impl Life {
    pub(super) fn hear(&mut self, said: Said) {
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
