//! The writes that the kernel passes to a store.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;

use crate::{
    DropLane, Entity, Epoch, Fingerprint, Key, Lane, Mark, MessageId, Millis, Name, Partition, RowKey, Version,
};

/// Writes of many entities, applied in a single transaction with a single sync.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The time of the worker; the store keeps the highest time ever reported to it (A5).
    pub now: Millis,
    /// The number of the batch; it grows with every batch of one worker. If a batch reaches a partition after
    /// a later one of the same epoch, the worker has given it up as lost, so it is fenced. Without that
    /// check, the lost batch of a birth that was retried could bind the key again after the entity has ended.
    pub number: u64,
    /// The ownership that the writes rely on: one entry for each partition with a write.
    pub epochs: Vec<(Partition, Epoch)>,
    /// The writes, at most one per entity.
    pub writes: Vec<Write>,
    /// Configurations to record, for the view.
    pub configs: Vec<Config>,
}

/// All changes of one key, applied atomically.
#[derive(Clone, Debug)]
pub struct Write {
    /// The key's partition.
    pub partition: Partition,
    /// The key.
    pub key: Key,
    /// The condition for this write to be applied at all.
    pub guard: Guard,
    /// The entity after the write.
    pub after: After,
    /// The columns that differ. A store may leave the other columns alone.
    pub touched: Touched,
    /// The rows to put (with a body) and to remove (`None`). They belong to the entity of `after`; with
    /// [`After::Destroyed`] they are ignored. A put into a dropped lane is refused until that lane has been
    /// swept. Shared by `Arc`, because the kernel keeps the rows until they are durable.
    pub rows: Arc<BTreeMap<(Lane, RowKey), Option<Bytes>>>,
    /// Lanes to drop; applied before `rows`.
    pub drop: Vec<DropLane>,
    /// Held lanes of other entities that may be swept now.
    pub release: Vec<(Version, Lane)>,
    /// Messages to take from this key's inbox. If one of them does not exist, the write is stale (M1).
    pub taken: Vec<MessageId>,
    /// Messages that stay in the inbox, to be retried. A message that does not exist is skipped.
    pub retry: Vec<Retry>,
    /// Messages to other keys. A message whose id already exists at the receiver is left as it is: it was
    /// sent before.
    pub sent: Vec<Outgoing>,
    /// Replies to remember for this key. If one is remembered already, the write is stale (E12). A reply that
    /// has expired by the batch's `now` does not count, and is replaced.
    pub remember: Vec<Remembered>,
}

impl Write {
    /// Makes a write of the entity alone.
    pub fn new(partition: Partition, key: Key, guard: Guard, after: After) -> Self {
        Self {
            partition,
            key,
            guard,
            after,
            touched: Touched::default(),
            rows: Arc::default(),
            drop: Vec::new(),
            release: Vec::new(),
            taken: Vec::new(),
            retry: Vec::new(),
            sent: Vec::new(),
            remember: Vec::new(),
        }
    }

    /// Returns about how many bytes the write has.
    pub fn weight(&self) -> usize {
        let record = match &self.after {
            After::Entity(entity) => entity.weight(),
            After::Destroyed | After::Unbound => 0,
        };
        let rows: usize = self.rows.values().flatten().map(Bytes::len).sum();
        let sent: usize = self.sent.iter().map(|message| message.body.len()).sum();
        record + rows + sent
    }

    /// Checks the rules of the contract that concern this write alone; the error names the rule that it
    /// breaks. Every store uses this check, so that all stores refuse the same writes.
    pub fn check(&self, partitions: u32) -> Result<(), String> {
        let astray = |key: &Key, partition| key.partition(partitions) != partition;
        if astray(&self.key, self.partition) {
            return Err(format!("{} does not belong to partition {}", self.key, self.partition.0));
        }
        if let Some(sent) = self.sent.iter().find(|sent| astray(&sent.to, sent.partition)) {
            return Err(format!("{} does not belong to partition {}", sent.to, sent.partition.0));
        }
        self.check_after().map_err(str::to_owned)
    }

    /// Returns the entity that the rows and lanes belong to, or `None` if no entity is bound before or after.
    pub fn entity(&self) -> Option<Version> {
        match (&self.after, self.guard) {
            (After::Entity(entity), _) => Some(entity.id),
            (_, Guard::At { id, .. }) => Some(id),
            (_, Guard::Absent) => None,
        }
    }

    fn check_after(&self) -> Result<(), &'static str> {
        match (&self.after, self.guard) {
            (After::Entity(entity), _) if entity.key != self.key => Err("the entity belongs to another key"),
            (After::Entity(entity), Guard::At { id, .. }) if entity.id != id => Err("the entity is another one"),
            (After::Destroyed, Guard::Absent) => Err("nothing is there to be destroyed"),
            (After::Unbound, Guard::At { .. }) => Err("a bound key cannot stay unbound"),
            (After::Unbound, Guard::Absent) if !(self.rows.is_empty() && self.drop.is_empty()) => {
                Err("rows belong to an entity, and none is bound")
            }
            _ => Ok(()),
        }
    }
}

/// The condition on a key for its write to be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// No entity is bound to the key.
    Absent,
    /// This entity is bound to the key, at this version.
    At {
        /// The id of the entity.
        id: Version,
        /// The version of the entity.
        version: Version,
    },
}

/// The state of a key after a write.
#[derive(Clone, Debug, PartialEq)]
pub enum After {
    /// This entity is bound. With [`Guard::Absent`] the write is its birth.
    Entity(Box<Entity>),
    /// The guarded entity is gone, and its rows with it, except for held lanes. Remembered replies stay.
    Destroyed,
    /// No entity is bound, as before; only messages and remembered replies change.
    Unbound,
}

/// The columns of an entity that a write changes, besides version, head, state and time. A later variant
/// includes all earlier variants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touched {
    /// No other columns.
    #[default]
    Record,
    /// The alarm and `active`: an index changes.
    Wake,
    /// The status.
    Status,
    /// Any column: configuration, definition, crashes, suspect, parked.
    All,
}

impl Touched {
    /// Returns what a write that turns `before` into `after` touches.
    pub fn between(before: &Entity, after: &Entity) -> Self {
        let is_renamed = before.kind != after.kind || before.definition != after.definition;
        let is_doubted = before.crashes != after.crashes || before.suspect != after.suspect;
        if is_renamed || is_doubted || before.config != after.config || before.parked != after.parked {
            Self::All
        } else if before.status != after.status {
            Self::Status
        } else if (before.alarm, before.active) != (after.alarm, after.active) {
            Self::Wake
        } else {
            Self::Record
        }
    }
}

/// A message that stays in the inbox, to be retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// The id of the message.
    pub id: MessageId,
    /// The number of attempts so far.
    pub attempts: u32,
    /// When to retry.
    pub at: Millis,
}

/// A message that is sent to the inbox of another key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The id: the new version of the sending write, and the index of the message in it.
    pub id: MessageId,
    /// The receiver's partition.
    pub partition: Partition,
    /// The receiver.
    pub to: Key,
    /// The definition to bind the receiver with if it is unbound.
    pub definition: Name,
    /// The verb.
    pub verb: Name,
    /// The argument of the verb.
    pub body: Bytes,
    /// The mark of the opening of the store in which the message was sent.
    pub mark: Option<Mark>,
}

/// The idempotency key of a call: a text chosen by the caller, 1 to 512 bytes (E12).
pub type Once = Bytes;

/// The recorded reply to a call with an idempotency key (E12).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// The idempotency key.
    pub once: Once,
    /// A hash of action and input.
    pub hash: u64,
    /// The reply, in the kernel's own encoding.
    pub reply: Bytes,
    /// When the record expires.
    pub expires_at: Millis,
}

/// The configuration that belongs to a fingerprint, for the view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The definition with this configuration.
    pub definition: Name,
    /// The fingerprint of the configuration.
    pub fingerprint: Fingerprint,
    /// The configuration.
    pub body: Bytes,
}

/// The result of one write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The write is durable.
    Applied,
    /// The guard did not hold, a message was missing, or a reply was remembered already. Nothing was written.
    /// Contains the version of the entity that was found, if any.
    Stale(Option<Version>),
    /// The partition has another owner, or has seen a later batch. Nothing was written. Contains the current
    /// epoch of the partition.
    Fenced(Epoch),
    /// The write breaks a rule of the contract, for example by a put into a dropped lane. That is a bug of
    /// the caller; nothing was written.
    Refused(String),
}
