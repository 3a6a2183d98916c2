//! Epochs and versions: who owns a partition, and which commit wrote an entity last.

use std::fmt;

/// One ownership of one partition.
///
/// All epochs of a store come from one sequence: a later owner always has a higher epoch, and no two
/// partitions share one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u32);

/// One commit of one owner: the epoch in the high 32 bits, a counter in the low 32 bits.
///
/// A version is never reused, not even after `destroy`: a late commit of an old incarnation of a key cannot
/// match the new one. An entity's id is its first version. A version fits a signed 64-bit integer while
/// epochs stay below 2³¹.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u64);

impl Version {
    /// Returns the version with this epoch and counter.
    pub const fn of(epoch: Epoch, counter: u32) -> Self {
        Self(((epoch.0 as u64) << 32) | counter as u64)
    }

    /// Returns the epoch of the owner that made the version.
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

/// The identity of a message: the version of the sender's commit, and the index of the message in that
/// commit.
///
/// The sender knows the id without asking the store. A commit that is applied twice produces the same ids, so
/// its messages are recognized as duplicates. A sender's versions only grow, so the order of ids is the order
/// of sending (M1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    /// The version of the sender's commit.
    pub version: Version,
    /// The index of the message in that commit.
    pub index: u32,
}
