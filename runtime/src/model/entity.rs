//! The record of one entity: everything that a store keeps in one row.

use std::fmt;

use bytes::Bytes;

use super::{Conviction, Crashes, Key, Millis, Name, Version, WorkId, stable_hash};

/// An entity as stored. A clone is cheap, because names and bytes are shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entity {
    /// The entity's first version. This id identifies the incarnation of the key forever.
    pub id: Version,
    /// The address of the entity.
    pub key: Key,
    /// `primitive:type`: the kind of the entity.
    pub kind: Name,
    /// `primitive:name`: the definition of the entity.
    pub definition: Name,
    /// The version of the commit that wrote the entity last.
    pub version: Version,
    /// The status, in the words of the kind.
    pub status: Status,
    /// `primitive:config`: the configuration that the entity was last run with.
    pub config: Fingerprint,
    /// Whether the handler listed work for the entity. The flag is stored for takeovers: after a crash it
    /// marks the entities whose work may have been running.
    pub active: bool,
    /// The kind's record: counters, attempts, open batch, pending waits and deadlines.
    pub head: Bytes,
    /// `primitive:state`: the author's struct, nothing else.
    pub state: Bytes,
    /// When the alarm of the entity is due (A1).
    pub alarm: Option<Millis>,
    /// How often the process died with the entity since it last made progress, and the stage of the inquiry
    /// (W2).
    pub crashes: Crashes,
    /// The piece of work that was running alone when the process died, if one was named.
    pub suspect: Option<WorkId>,
    /// Why the entity is parked, if it is. A parked entity does not run.
    pub parked: Option<Parked>,
    /// When the key was bound.
    pub created_at: Millis,
    /// When the entity last changed.
    pub updated_at: Millis,
}

impl Entity {
    /// Returns about how many bytes the entity takes in memory.
    pub fn weight(&self) -> usize {
        size_of::<Self>() + self.head.len() + self.state.len() + self.key.key.len()
    }

    /// Whether the entity must have a wake source (R7): its status is live and it is not parked.
    pub fn wants_wake(&self) -> bool {
        self.status.phase == Phase::Live && self.parked.is_none()
    }
}

/// The status of an entity: a word of its kind, and what that word means to the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The kind's word: `running`, `stopped`, `error` …
    pub word: Name,
    /// The meaning of the word for the kernel.
    pub phase: Phase,
}

impl Status {
    /// A status that needs a wake source: work, an alarm, an inbox row or a waiting caller.
    pub fn live(word: impl Into<Name>) -> Self {
        Self { word: word.into(), phase: Phase::Live }
    }

    /// A status in which nothing is due until the next call.
    pub fn resting(word: impl Into<Name>) -> Self {
        Self { word: word.into(), phase: Phase::Resting }
    }

    /// A status that needs the attention of a person.
    pub fn failing(word: impl Into<Name>) -> Self {
        Self { word: word.into(), phase: Phase::Failing }
    }
}

/// The meaning of a status for the kernel, which does not know the words of the kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The entity needs a wake source. Without a wake source the entity is stuck, which is a bug of Drystone.
    Live,
    /// The entity is at rest, as its kind intends.
    Resting,
    /// The entity is at rest after a failure and needs the attention of a person.
    Failing,
}

/// A hash of the configuration that an entity's definition had when the entity last ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub u64);

impl Fingerprint {
    /// Returns the fingerprint of a configuration.
    pub fn of(kind: &Name, config: &[u8]) -> Self {
        // Drop the lowest bit: stores keep the fingerprint in a signed 64-bit integer.
        Self(stable_hash(&[kind.as_bytes(), config]) >> 1)
    }
}

/// Why an entity is parked. A parked entity does not run; its record stays as it is, and nothing of it is
/// lost or reset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parked {
    /// The definition is not registered in this program. The entity resumes when the definition is back
    /// (E10).
    Unregistered,
    /// The record cannot be read; the text says where and why. The entity resumes with a definition that
    /// differs.
    Undecodable(String),
    /// A turn of the entity panicked or failed too often.
    Poisoned(String),
    /// The process died with the entity too often, and survived without it (W2). The entity resumes with
    /// another build or other options.
    Held(Conviction),
    /// The store refused a commit of the entity because of a bug of Drystone.
    Broken(String),
}

impl fmt::Display for Parked {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unregistered => out.write_str("its definition is not registered"),
            Self::Undecodable(why) => write!(out, "its record cannot be read: {why}"),
            Self::Poisoned(why) => write!(out, "poisoned: {why}"),
            Self::Held(conviction) => write!(out, "held: {conviction}"),
            Self::Broken(why) => write!(out, "the store refused it: {why}"),
        }
    }
}
