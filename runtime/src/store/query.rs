//! The reads, scans and listings that the kernel asks of a store.

use bytes::Bytes;

use super::{Once, Remembered};
use crate::{Entity, Fingerprint, Key, Mark, MessageId, Millis, Name, Partition, Phase, Range, Row, Version};

/// A single read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// The entity bound to a key.
    Entity(Key),
    /// Rows of an entity, live or held; `range.of` is ignored.
    Rows {
        /// The entity.
        entity: Version,
        /// The range of rows.
        range: Range,
    },
    /// The inbox of a key, in order of [`MessageId`].
    Inbox {
        /// The receiver.
        key: Key,
        /// Reads messages after this one.
        after: Option<MessageId>,
        /// The maximum number of messages.
        limit: u32,
    },
    /// The reply that is remembered under an idempotency key, expired or not.
    Remembered {
        /// The called entity.
        key: Key,
        /// The idempotency key.
        once: Once,
    },
    /// The configuration that belongs to a fingerprint.
    Config {
        /// The definition.
        definition: Name,
        /// The fingerprint.
        fingerprint: Fingerprint,
    },
}

/// The answer to a [`Read`], of the same variant.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// The entity, if one is bound.
    Entity(Option<Box<Entity>>),
    /// The rows.
    Rows(Vec<Row>),
    /// The messages.
    Inbox(Vec<Letter>),
    /// The reply, if one is remembered.
    Remembered(Option<Remembered>),
    /// The configuration, if it was recorded.
    Config(Option<Bytes>),
}

impl Found {
    /// Returns the rows of `Found::Rows`, and no rows for any other variant.
    pub fn into_rows(self) -> Vec<Row> {
        match self {
            Self::Rows(rows) => rows,
            _ => Vec::new(),
        }
    }
}

/// A message in an inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    /// The id of the message.
    pub id: MessageId,
    /// The sender.
    pub from: Key,
    /// The definition to bind the receiver with if it is unbound.
    pub definition: Name,
    /// The verb.
    pub verb: Name,
    /// The argument of the verb.
    pub body: Bytes,
    /// The mark of the opening of the store in which the message was sent; `None` if an older build sent it.
    pub mark: Option<Mark>,
    /// The number of attempts so far.
    pub attempts: u32,
    /// The earliest time of the next attempt: at first the `now` of the batch that sent the message.
    pub at: Millis,
}

/// A scan for keys that must be woken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ready {
    /// Entities that are not parked and whose alarm is at or before `until`, ordered by (alarm, id).
    Due {
        /// The partitions to scan.
        partitions: Vec<Partition>,
        /// The latest alarm to include.
        until: Millis,
    },
    /// Active entities that are not parked, ordered by id.
    Active {
        /// The partitions to scan.
        partitions: Vec<Partition>,
    },
    /// Keys with messages in their inbox, bound or not, ordered by (partition, key).
    Inbox {
        /// The partitions to scan.
        partitions: Vec<Partition>,
    },
    /// Parked entities, ordered by id.
    Parked {
        /// The partitions to scan.
        partitions: Vec<Partition>,
    },
}

/// The position after which a scan of [`Ready`] continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cursor {
    /// The alarm time and id of the last entity.
    Alarm(Millis, Version),
    /// The id of the last entity.
    Id(Version),
    /// The partition and key of the last receiver.
    Key(Partition, Key),
}

/// A key that must be woken.
#[derive(Clone, Debug, PartialEq)]
pub struct Woken {
    /// The key.
    pub key: Key,
    /// The record of the entity, if one is bound.
    pub entity: Option<Box<Entity>>,
    /// The position from which a scan continues after this key.
    pub cursor: Cursor,
}

/// A filter for a listing of entities. The default lists all entities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Only entities of this space.
    pub space: Option<Name>,
    /// Only entities of this definition.
    pub definition: Option<Name>,
    /// Only entities with this status.
    pub status: Option<Name>,
    /// Only entities in this phase.
    pub phase: Option<Phase>,
    /// Only parked entities, or only entities that are not parked.
    pub parked: Option<bool>,
    /// Only entities whose alarm is at or before this time.
    pub due_until: Option<Millis>,
    /// Only entities with a different configuration fingerprint.
    pub config_other_than: Option<Fingerprint>,
    /// Only entities that need a wake source but have no alarm, work or message, which is a bug of Drystone
    /// (R7).
    pub stuck: bool,
    /// Only entities after this one.
    pub after: Option<Version>,
    /// The maximum number of entities.
    pub limit: usize,
}

impl Default for Query {
    fn default() -> Self {
        Self {
            space: None,
            definition: None,
            status: None,
            phase: None,
            parked: None,
            due_until: None,
            config_other_than: None,
            stuck: false,
            after: None,
            limit: 100,
        }
    }
}

/// A page of a listing, ordered by id.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The entities.
    pub entities: Vec<Entity>,
    /// The value of `after` for the next page; `None` at the end.
    pub next: Option<Version>,
}
