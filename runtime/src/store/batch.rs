//! What the kernel asks a store to write.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;

use crate::{
    DropLane, Entity, Epoch, Fingerprint, Key, Lane, Mark, MessageId, Millis, Name, Partition, RowKey, Version,
};

/// Writes of many entities that share one transaction and one sync.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The worker's time; the store keeps the highest it was ever told (A5).
    pub now: Millis,
    /// Grows from batch to batch of one worker. A batch that comes to a partition after a later one of the same
    /// epoch was lost on its way and given up: it is fenced. Else a birth that was retried could happen again
    /// after its entity has ended.
    pub number: u64,
    /// The ownership that the writes rely on: one entry per partition they touch.
    pub epochs: Vec<(Partition, Epoch)>,
    /// One write per entity at most.
    pub writes: Vec<Write>,
    /// Configurations to keep, for the view.
    pub configs: Vec<Config>,
}

/// All that changes for one key, atomically.
#[derive(Clone, Debug)]
pub struct Write {
    /// The key's partition.
    pub partition: Partition,
    /// The key.
    pub key: Key,
    /// What must be true for this write to be applied at all.
    pub guard: Guard,
    /// The entity afterwards.
    pub after: After,
    /// Which of its columns differ: a store may leave the others alone.
    pub touched: Touched,
    /// Rows: put if there is a body, removed if there is none. They belong to the entity of `after`; with
    /// [`After::Destroyed`] they are not looked at. A put into a dropped lane is refused, as long as that lane
    /// is not swept. Shared, for whoever writes keeps them until they are durable.
    pub rows: Arc<BTreeMap<(Lane, RowKey), Option<Bytes>>>,
    /// Lanes let go; applied before `rows`.
    pub drop: Vec<DropLane>,
    /// Held lanes of other entities that may be swept now.
    pub release: Vec<(Version, Lane)>,
    /// Messages taken from this key's inbox: each must be there, else the write is stale (M1).
    pub taken: Vec<MessageId>,
    /// Messages that stay, to be tried again; one that is not there is passed over.
    pub retry: Vec<Retry>,
    /// Messages for others. One that is already there, by its id, is left as it is: it met itself.
    pub sent: Vec<Outgoing>,
    /// Replies to remember for this key: each must not be there yet, else the write is stale (E12). One that is
    /// past its time by the batch's `now` does not count, and is replaced.
    pub remember: Vec<Remembered>,
}

impl Write {
    /// A write of the entity alone.
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

    /// About how many bytes it writes.
    pub fn weight(&self) -> usize {
        let record = match &self.after {
            After::Entity(entity) => entity.weight(),
            After::Destroyed | After::Unbound => 0,
        };
        let rows: usize = self.rows.values().flatten().map(Bytes::len).sum();
        let sent: usize = self.sent.iter().map(|message| message.body.len()).sum();
        record + rows + sent
    }

    /// Whether it keeps the rules of the contract that can be seen from the write alone; if not, which one it
    /// breaks. Every store refuses by this, so that they refuse alike.
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

    /// The entity that its rows and lanes belong to, unless none is bound before or after.
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

/// What must be true of a key for its write to be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// No entity is bound to it.
    Absent,
    /// The entity bound to it is this one, at this version.
    At {
        /// Its id.
        id: Version,
        /// Its version.
        version: Version,
    },
}

/// A key after a write.
#[derive(Clone, Debug, PartialEq)]
pub enum After {
    /// This entity is bound to it. With [`Guard::Absent`] this is its birth.
    Entity(Box<Entity>),
    /// The guarded entity is gone, its rows (but held lanes) with it; what is remembered stays.
    Destroyed,
    /// Still nothing is bound to it; only messages and remembered replies change.
    Unbound,
}

/// How much of an entity differs from what is stored, beside version, head, state and time. Each means those before it,
/// too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touched {
    /// Nothing else.
    #[default]
    Record,
    /// The alarm, or whether it is active: an index changes.
    Wake,
    /// The status.
    Status,
    /// Anything: configuration, definition, crashes, suspect, parked.
    All,
}

impl Touched {
    /// What a write that makes `before` into `after` touches.
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

/// A message that stays in the inbox, to be tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Which message.
    pub id: MessageId,
    /// How often it was tried.
    pub attempts: u32,
    /// When to try again.
    pub at: Millis,
}

/// A message on its way into another key's inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Its identity: the write's new version and its place.
    pub id: MessageId,
    /// The receiver's partition.
    pub partition: Partition,
    /// The receiver.
    pub to: Key,
    /// The definition to bind it with.
    pub definition: Name,
    /// What it asks.
    pub verb: Name,
    /// With what.
    pub body: Bytes,
    /// The mark of the opening that sends it.
    pub mark: Option<Mark>,
}

/// The idempotency key of a call: the caller's own text, 1 to 512 bytes (E12).
pub type Once = Bytes;

/// What is remembered of a call with an idempotency key (E12).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// The caller's key.
    pub once: Once,
    /// A hash of action and input.
    pub hash: u64,
    /// What it was answered, in the kernel's own encoding.
    pub reply: Bytes,
    /// Until when it is kept: at this time it is past.
    pub expires_at: Millis,
}

/// The configuration behind a fingerprint, for the view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Whose.
    pub definition: Name,
    /// Under which fingerprint.
    pub fingerprint: Fingerprint,
    /// The configuration.
    pub body: Bytes,
}

/// What became of one write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is durable.
    Applied,
    /// Its guard did not hold; nothing of it was written. The version found, if an entity was.
    Stale(Option<Version>),
    /// Its partition has another owner now; nothing of it was written.
    Fenced(Epoch),
    /// It breaks a rule of the contract (a row put into a dropped lane, say): a bug of whoever wrote it.
    /// Nothing of it was written.
    Refused(String),
}
