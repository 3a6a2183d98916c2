//! What the kernel asks a store to read.

use bytes::Bytes;

use super::{Once, Remembered};
use crate::{Entity, Fingerprint, Key, Mark, MessageId, Millis, Name, Partition, Phase, Range, Row, Version};

/// One thing to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// The entity bound to a key.
    Entity(Key),
    /// Rows of an entity, live or held; `range.of` is not looked at.
    Rows {
        /// Whose.
        entity: Version,
        /// Which.
        range: Range,
    },
    /// The inbox of a key, in order of [`MessageId`].
    Inbox {
        /// Whose.
        key: Key,
        /// After this one.
        after: Option<MessageId>,
        /// At most so many.
        limit: u32,
    },
    /// What is remembered under an idempotency key, past its time or not.
    Remembered {
        /// Whose.
        key: Key,
        /// Under what.
        once: Once,
    },
    /// The configuration behind a fingerprint.
    Config {
        /// Whose.
        definition: Name,
        /// Which.
        fingerprint: Fingerprint,
    },
}

/// What was found: one per [`Read`], of the same variant, in order.
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
    /// The configuration, if it was kept.
    Config(Option<Bytes>),
}

impl Found {
    /// The rows, if rows were asked for.
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
    /// Which one.
    pub id: MessageId,
    /// Who sent it.
    pub from: Key,
    /// The definition to bind with.
    pub definition: Name,
    /// What it asks.
    pub verb: Name,
    /// With what.
    pub body: Bytes,
    /// The mark of the opening that sent it; `None` for one that an older build sent.
    pub mark: Option<Mark>,
    /// How often it was tried.
    pub attempts: u32,
    /// Not before this: at first the `now` of the batch that sent it.
    pub at: Millis,
}

/// What must be woken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ready {
    /// Entities whose alarm is at or before `until`, not parked, by (alarm, id).
    Due {
        /// In these partitions.
        partitions: Vec<Partition>,
        /// Until when.
        until: Millis,
    },
    /// Active entities that are not parked, by id.
    Active {
        /// In these partitions.
        partitions: Vec<Partition>,
    },
    /// Keys with messages in their inbox, bound or not, by (partition, key).
    Inbox {
        /// In these partitions.
        partitions: Vec<Partition>,
    },
    /// Parked entities, by id.
    Parked {
        /// In these partitions.
        partitions: Vec<Partition>,
    },
}

/// Where a scan of [`Ready`] goes on: after this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cursor {
    /// After this alarm of this entity.
    Alarm(Millis, Version),
    /// After this entity.
    Id(Version),
    /// After this key.
    Key(Partition, Key),
}

/// A key that must be woken.
#[derive(Clone, Debug, PartialEq)]
pub struct Woken {
    /// The key.
    pub key: Key,
    /// The entity, whole, if one is bound.
    pub entity: Option<Box<Entity>>,
    /// Where the scan goes on after it.
    pub cursor: Cursor,
}

/// Which entities to list. The default asks for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Of this space.
    pub space: Option<Name>,
    /// Of this definition.
    pub definition: Option<Name>,
    /// With this status.
    pub status: Option<Name>,
    /// In this phase.
    pub phase: Option<Phase>,
    /// Parked, or not.
    pub parked: Option<bool>,
    /// Whose alarm is at or before this.
    pub due_until: Option<Millis>,
    /// Whose configuration is another than this.
    pub config_other_than: Option<Fingerprint>,
    /// That say something must wake them, and have neither alarm nor work nor message: our bugs (R7).
    pub stuck: bool,
    /// After this one.
    pub after: Option<Version>,
    /// At most so many.
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

/// A page of a listing, by id.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The entities.
    pub entities: Vec<Entity>,
    /// Where the next page begins: pass it as `after`. `None` at the end.
    pub next: Option<Version>,
}
