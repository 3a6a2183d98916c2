//! The record of one entity, whole: what a store keeps in one row.

use std::fmt;

use bytes::Bytes;

use super::{Conviction, Crashes, Key, Millis, Name, Version, WorkId, stable_hash};

/// One entity as it is stored. Cloning is cheap: names and bytes are shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entity {
    /// Its first version: names this incarnation of the key for ever.
    pub id: Version,
    /// Its address.
    pub key: Key,
    /// `primitive:type`: how it behaves.
    pub kind: Name,
    /// `primitive:name`: which definition it belongs to.
    pub definition: Name,
    /// The commit that made it what it is.
    pub version: Version,
    /// Its kind's word for where it stands.
    pub status: Status,
    /// `primitive:config`: what it was last run with.
    pub config: Fingerprint,
    /// Whether its handler listed work for it. Stored, so that a takeover finds what may have been running.
    pub active: bool,
    /// The kind's record: counters, attempts, open batch, pending waits and deadlines.
    pub head: Bytes,
    /// `primitive:state`: the author's struct, nothing else.
    pub state: Bytes,
    /// When it is to be woken (A1).
    pub alarm: Option<Millis>,
    /// How often a process died with it since it last got on, and where its inquiry stands (W2).
    pub crashes: Crashes,
    /// The piece of work that was running alone when the process died, if one was named.
    pub suspect: Option<WorkId>,
    /// Why it is not run at all, if so.
    pub parked: Option<Parked>,
    /// When it was bound.
    pub created_at: Millis,
    /// When it last changed.
    pub updated_at: Millis,
}

impl Entity {
    /// About how many bytes it takes in memory.
    pub fn weight(&self) -> usize {
        size_of::<Self>() + self.head.len() + self.state.len() + self.key.key.len()
    }

    /// Whether it says of itself that something must still wake it (R7).
    pub fn wants_wake(&self) -> bool {
        self.status.phase == Phase::Live && self.parked.is_none()
    }
}

/// Where an entity stands, in its kind's word, and what that means to the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The kind's word: `running`, `stopped`, `error` …
    pub word: Name,
    /// What it means.
    pub phase: Phase,
}

impl Status {
    /// A status that needs a wake source: work, an alarm, an inbox row or a waiting caller.
    pub fn live(word: impl Into<Name>) -> Self {
        Self { word: word.into(), phase: Phase::Live }
    }

    /// A status in which nothing is due until somebody calls.
    pub fn resting(word: impl Into<Name>) -> Self {
        Self { word: word.into(), phase: Phase::Resting }
    }

    /// A status that somebody should look at.
    pub fn failing(word: impl Into<Name>) -> Self {
        Self { word: word.into(), phase: Phase::Failing }
    }
}

/// What a status means to the kernel, which does not know the kinds' words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Something must wake it: without a wake source it is stuck, and that is our bug.
    Live,
    /// At rest by its kind's own word.
    Resting,
    /// At rest, and somebody should look at it.
    Failing,
}

/// What an entity's definition was when it last ran: a hash of its configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub u64);

impl Fingerprint {
    /// The fingerprint of a configuration.
    pub fn of(kind: &Name, config: &[u8]) -> Self {
        // Stores keep it in a signed integer.
        Self(stable_hash(&[kind.as_bytes(), config]) >> 1)
    }
}

/// Why an entity is not run. Its record stays as it is; nothing of it is lost or reset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parked {
    /// Its definition is not registered here; it goes on when it is back (E10).
    Unregistered,
    /// Its record could not be read: where and why. It goes on with a definition that differs.
    Undecodable(String),
    /// Its turn panicked or failed too often.
    Poisoned(String),
    /// The process died with it too often, and lived without it (W2). It goes on with another build or other options.
    Held(Conviction),
    /// The store refused its commit for a reason that is ours.
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
