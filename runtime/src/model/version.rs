//! Epochs and versions: who owns a partition, and which commit made an entity what it is.

use std::fmt;

/// One ownership of one partition. Epochs come from one sequence of the store, so a later owner's is higher,
/// for ever, and no two partitions share one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u32);

/// One commit of one owner: its epoch in the high 32 bits, a counter in the low ones.
///
/// Never reused, also after `destroy`: a late commit of an old incarnation cannot match the new one. An
/// entity's id is its first version. Fits a signed 64-bit integer while epochs stay below 2³¹.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u64);

impl Version {
    /// The version that `epoch` gives out as its `counter`th.
    pub const fn of(epoch: Epoch, counter: u32) -> Self {
        Self(((epoch.0 as u64) << 32) | counter as u64)
    }

    /// The owner that made it.
    pub const fn epoch(self) -> Epoch {
        Epoch((self.0 >> 32) as u32)
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}", self.0 >> 32, self.0 as u32)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, out)
    }
}

/// The identity of a message: the version of the commit that sent it, and its place in that commit.
///
/// The sender knows it without asking the store, a commit applied twice meets itself, and because a sender's
/// versions only grow, its order is the order of sending (M1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    /// The version of the sender's commit.
    pub version: Version,
    /// Its place among that commit's messages.
    pub index: u32,
}
