//! One child, from its start to its end: how far it came.

use super::said::Said;

/// What was heard of one child.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Life {
    /// How many of its files were open.
    pub(super) opened: u32,
    /// How many operations it acknowledged.
    pub(super) acknowledged: u32,
    /// How many legs it found in the logbook of the fleet, if it came to open that.
    pub(super) booked: Option<u64>,
    /// Whether it was we who ended it.
    pub(super) killed: bool,
}

impl Life {
    pub(super) fn hear(&mut self, said: Said) {
        match said {
            Said::Opened => self.opened += 1,
            Said::Acknowledged(..) => self.acknowledged += 1,
            Said::Booked(legs) => self.booked = Some(legs),
            _ => {}
        }
    }
}
