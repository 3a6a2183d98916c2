//! The number of a message between toys: who sent it, to whom, and which one of those it was.

use crate::sim::cast::Number;

/// One message between members that were drawn, of whom there are few, as its sender numbers it: 1, 2, 3 … per receiver. What receivers record shows by itself whether
/// one is missing, doubled or out of order (M1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Uid {
    /// The sender.
    pub from: Number,
    /// The receiver.
    pub to: Number,
    /// Its place among those of this pair, from 1.
    pub sequence: u32,
}

/// Callers' numbers never have this bit.
const MESSAGE: u64 = 1 << 63;

impl Uid {
    /// As a number that no caller uses.
    pub fn number(self) -> u64 {
        MESSAGE | u64::from(self.from) << 40 | u64::from(self.to) << 32 | u64::from(self.sequence)
    }

    /// From a number, if it is a message's.
    pub fn of(number: u64) -> Option<Self> {
        (number & MESSAGE != 0).then_some(Self {
            from: Number::from((number >> 40) as u8),
            to: Number::from((number >> 32) as u8),
            sequence: number as u32,
        })
    }
}
