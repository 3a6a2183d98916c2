//! The commit: everything that a turn writes, atomically.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::{DropLane, Idempotency, Key, Lane, Millis, Name, Row, RowKey, Status, Ticket, Version};
use crate::Error;

/// Everything that one turn changes. A commit is applied as a whole or not at all, and nothing of it is
/// visible before it is durable (E4). An empty commit writes nothing.
///
/// On an unbound key, a commit that has a `head` or a `state` binds the key (E1).
#[derive(Clone, Debug, Default)]
pub struct Commit {
    /// The kind's record, if it changes.
    pub head: Option<Bytes>,
    /// The author's struct, if it changes. Only a turn that may borrow the struct exclusively sets it.
    pub state: Option<Bytes>,
    /// The alarm: kept, set or cleared (E7).
    pub alarm: Change<Millis>,
    /// The status, if it changes.
    pub status: Option<Status>,
    /// Rows to write.
    pub put: Vec<Row>,
    /// Rows to remove.
    pub remove: Vec<(Lane, RowKey)>,
    /// Lanes to drop.
    pub drop: Vec<DropLane>,
    /// Held lanes of other entities to release, because they are no longer needed.
    pub release: Vec<(Version, Lane)>,
    /// Ends the entity: this commit removes everything that it has, and the key becomes free.
    pub destroy: bool,
    /// The entity is being destroyed (E8). Code that runs for callers is dropped. Those callers, and callers
    /// who wait for a held answer, are notified that the entity was destroyed.
    pub evict: bool,
    /// Messages to other entities (M1).
    pub send: Vec<Message>,
    /// Answers to callers. A call that is neither answered nor held gets an empty answer.
    pub replies: Vec<(To, Reply)>,
    /// Holds the caller of this call under this name; a later commit answers.
    pub hold: Option<Name>,
    /// Replies of calls with an idempotency key that an earlier commit recorded (E12).
    pub remember: Vec<(Idempotency, Reply)>,
    /// Events for the listeners, emitted after the commit (E15).
    pub emit: Vec<Lifecycle>,
}

impl Commit {
    /// Makes a commit that answers `ticket` and writes nothing.
    pub fn reply(ticket: Ticket, reply: Reply) -> Self {
        Self { replies: vec![(To::Ticket(ticket), reply)], ..Self::default() }
    }

    /// Whether the commit writes something for its entity: the record, rows, lanes or messages. Replies and
    /// events do not count.
    pub fn writes(&self) -> bool {
        self.head.is_some()
            || self.state.is_some()
            || self.alarm != Change::Keep
            || self.status.is_some()
            || self.destroy
            || !(self.put.is_empty() && self.remove.is_empty() && self.drop.is_empty())
            || !(self.release.is_empty() && self.send.is_empty())
    }

    /// Whether the commit binds an unbound key.
    pub(crate) fn binds(&self) -> bool {
        self.head.is_some() || self.state.is_some()
    }

    /// Returns the number of payload bytes in the commit.
    pub(crate) fn weight(&self) -> usize {
        let record = |bytes: &Option<Bytes>| bytes.as_ref().map_or(0, Bytes::len);
        self.added() + record(&self.head) + record(&self.state)
    }

    /// Returns the number of bytes by which the commit makes a chain longer. The record is not counted,
    /// because it replaces the record of earlier turns.
    pub(crate) fn added(&self) -> usize {
        let rows: usize = self.put.iter().map(|row| row.key.len() + row.body.len()).sum();
        let sent: usize = self.send.iter().map(|message| message.body.len()).sum();
        rows + sent
    }

    /// Returns the number of rows that the store has to change.
    pub(crate) fn row_changes(&self) -> usize {
        self.put.len() + self.remove.len() + self.drop.len() + self.release.len() + self.send.len()
    }
}

/// A change to an optional value, with an explicit case for no change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Change<T> {
    /// The value stays.
    #[default]
    Keep,
    /// The value becomes this one.
    Set(T),
    /// The value is removed.
    Clear,
}

impl<T> Change<T> {
    /// Returns the value after the change.
    pub fn apply(self, before: Option<T>) -> Option<T> {
        match self {
            Self::Keep => before,
            Self::Set(value) => Some(value),
            Self::Clear => None,
        }
    }
}

/// A message to another entity. A message is part of its sender's commit (M1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The receiver.
    pub to: Key,
    /// The definition to bind the receiver's key with if it is unbound (M4).
    pub definition: Name,
    /// The verb to call on the receiver.
    pub verb: Name,
    /// The argument of the verb.
    pub body: Bytes,
}

/// The receiver of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum To {
    /// One caller.
    Ticket(Ticket),
    /// All callers of the entity held under the given name.
    All(Name),
}

/// An answer to a caller.
pub type Reply = Result<Bytes, Error>;

/// A lifecycle event, emitted to listeners after the commit in which it happened (E15).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lifecycle {
    /// The name of the event: `buffer.flushed`, `continuous.failed`, or a name of the author's.
    pub name: Name,
    /// The details, by name.
    pub fields: BTreeMap<Name, Bytes>,
}
