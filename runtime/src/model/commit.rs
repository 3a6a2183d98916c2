//! What a turn writes: everything at once, or nothing.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::{DropLane, Idempotency, Key, Lane, Millis, Name, Row, RowKey, Status, Ticket, Version};
use crate::Error;

/// All that one turn changes. It is applied whole or not at all, and nothing of it is seen before it is
/// durable (E4). An empty one writes nothing.
///
/// On an unbound key a commit that has a `head` or a `state` binds it (E1).
#[derive(Clone, Debug, Default)]
pub struct Commit {
    /// The kind's record, if it changes.
    pub head: Option<Bytes>,
    /// The author's struct, if it changes. Only a turn that may borrow it exclusively sets it.
    pub state: Option<Bytes>,
    /// The alarm: kept, set or cleared (E7).
    pub alarm: Change<Millis>,
    /// The status, if it changes.
    pub status: Option<Status>,
    /// Rows that are there afterwards.
    pub put: Vec<Row>,
    /// Rows that are not.
    pub remove: Vec<(Lane, RowKey)>,
    /// Lanes that are let go.
    pub drop: Vec<DropLane>,
    /// Held lanes of other entities that are no longer needed.
    pub release: Vec<(Version, Lane)>,
    /// The entity ends: everything it has goes with this commit, and the key is free.
    pub destroy: bool,
    /// The entity is on its way out (E8): code that runs for callers is dropped; they, and those who wait for a held
    /// answer, are told that it was destroyed.
    pub evict: bool,
    /// Messages to other entities (M1).
    pub send: Vec<Message>,
    /// Answers to callers. A call that is neither answered nor held gets an empty answer.
    pub replies: Vec<(To, Reply)>,
    /// Keep this call's caller waiting, under this name; a later commit answers.
    pub hold: Option<Name>,
    /// Replies of calls with an idempotency key that were recorded in an earlier commit (E12).
    pub remember: Vec<(Idempotency, Reply)>,
    /// What listeners are told afterwards (E15).
    pub emit: Vec<Lifecycle>,
}

impl Commit {
    /// A commit that answers `ticket` and writes nothing.
    pub fn reply(ticket: Ticket, reply: Reply) -> Self {
        Self { replies: vec![(To::Ticket(ticket), reply)], ..Self::default() }
    }

    /// Whether the entity itself differs afterwards.
    pub fn writes(&self) -> bool {
        self.head.is_some()
            || self.state.is_some()
            || self.alarm != Change::Keep
            || self.status.is_some()
            || self.destroy
            || !(self.put.is_empty() && self.remove.is_empty() && self.drop.is_empty())
            || !(self.release.is_empty() && self.send.is_empty())
    }

    /// Whether it binds an unbound key.
    pub(crate) fn binds(&self) -> bool {
        self.head.is_some() || self.state.is_some()
    }

    /// How many bytes the store is given.
    pub(crate) fn weight(&self) -> usize {
        let record = |bytes: &Option<Bytes>| bytes.as_ref().map_or(0, Bytes::len);
        self.added() + record(&self.head) + record(&self.state)
    }

    /// How many of them come on top of what other turns of the same chain write; the record takes the place of theirs.
    pub(crate) fn added(&self) -> usize {
        let rows: usize = self.put.iter().map(|row| row.key.len() + row.body.len()).sum();
        let sent: usize = self.send.iter().map(|message| message.body.len()).sum();
        rows + sent
    }

    /// How many rows the store changes.
    pub(crate) fn row_changes(&self) -> usize {
        self.put.len() + self.remove.len() + self.drop.len() + self.release.len() + self.send.len()
    }
}

/// What becomes of a value: said aloud, never implied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Change<T> {
    /// It stays.
    #[default]
    Keep,
    /// It becomes this.
    Set(T),
    /// It goes.
    Clear,
}

impl<T> Change<T> {
    /// The value afterwards.
    pub fn apply(self, before: Option<T>) -> Option<T> {
        match self {
            Self::Keep => before,
            Self::Set(value) => Some(value),
            Self::Clear => None,
        }
    }
}

/// A message to another entity; part of its sender's commit (M1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Where it goes.
    pub to: Key,
    /// The definition to bind that key with if it is unbound (M4).
    pub definition: Name,
    /// What is asked.
    pub verb: Name,
    /// With what.
    pub body: Bytes,
}

/// Who an answer is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum To {
    /// One caller.
    Ticket(Ticket),
    /// Every caller of this entity held under this name.
    All(Name),
}

/// An answer to a caller.
pub type Reply = Result<Bytes, Error>;

/// Something that happened, told to listeners after the commit in which it did (E15).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lifecycle {
    /// What: `buffer.flushed`, `continuous.failed`, or an author's own.
    pub name: Name,
    /// The particulars, by name.
    pub fields: BTreeMap<Name, Bytes>,
}
