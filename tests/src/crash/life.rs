//! One child, from its start to its end: how far it came.

use std::collections::BTreeSet;

use super::{part::Part, said::Said};

/// What was heard of one child.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Life {
    /// How many of its files were open.
    pub(super) opened: u32,
    /// How many operations it acknowledged.
    pub(super) acknowledged: u32,
    /// The parts in which it moved.
    pub(super) moved: BTreeSet<Part>,
    /// How it was killed, if it was we who ended it.
    pub(super) killed: Option<Killed>,
}

/// When a child was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Killed {
    /// While it opened its files and took up what was begun.
    Opening,
    /// While it worked.
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
