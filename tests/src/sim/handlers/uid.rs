//! The number of a message between toys: sender, receiver, and its place among the messages of this pair.

use crate::sim::drawing::roster::Number;

/// A message between members that were drawn; their numbers are small. The sender numbers its messages to
/// each receiver: 1, 2, 3 and so on. The numbers that a receiver recorded show whether a message is
/// missing, doubled or out of order (M1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Uid {
    /// The sender.
    pub from: Number,
    /// The receiver.
    pub to: Number,
    /// The place among the messages of this pair, from 1.
    pub sequence: u32,
}

/// The bit that tells messages' numbers from callers' numbers.
const MESSAGE: u64 = 1 << 63;

impl Uid {
    /// Encodes the message as a number that no caller uses.
    pub fn number(self) -> u64 {
        MESSAGE | u64::from(self.from) << 40 | u64::from(self.to) << 32 | u64::from(self.sequence)
    }

    /// Decodes a number, or returns `None` if it is not the number of a message.
    pub fn of(number: u64) -> Option<Self> {
        (number & MESSAGE != 0).then_some(Self {
            from: Number::from((number >> 40) as u8),
            to: Number::from((number >> 32) as u8),
            sequence: number as u32,
        })
    }
}
