//! What runs and topics say to each other, each a message in its sender's commit (M1).
//!
//! A run that comes to a wait says [`Watch`]; the topic answers at once from what it keeps, or when an event is published, with
//! [`Delivered`]. A wait that is over says [`Leave`]. If its time was up it is answered, for an event may be on its way that was
//! published before: messages of one sender come in order, so [`Left`] comes behind it (T4). What one run alone was to have and does
//! not wait for any more goes back as [`Declined`] (T3).

use bytes::Bytes;
use drystone_runtime::{Key, Message, Name, stable_hash};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::{DEFINITION, SPACE, TopicOptions};
use crate::{encode, planted::Bug, workflow::Waiter};

pub(crate) const WATCH: &str = "topic:watch";
pub(crate) const LEAVE: &str = "topic:leave";
pub(crate) const MOVE: &str = "topic:move";
pub(crate) const DECLINED: &str = "topic:declined";
pub(crate) const DELIVERED: &str = "topic:event";
pub(crate) const LEFT: &str = "topic:left";
pub(crate) const PUBLISH: &str = "publish";

/// A topic: an event by its name, and the key of those that it takes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct TopicName {
    pub(crate) event: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
}

impl TopicName {
    pub(crate) fn new(event: &str, key: Option<String>) -> Self {
        Self { event: event.to_owned(), key }
    }

    /// The key of its entity. The name of an event that has a topic has no slash, so that none is taken for another (V10).
    pub(crate) fn text(&self) -> String {
        match &self.key {
            Some(key) => format!("{}/{key}", self.event),
            None => self.event.clone(),
        }
    }

    /// Where its entity is; an error if the key is too long.
    pub(crate) fn address(&self) -> Result<Key, drystone_runtime::Error> {
        Key::new(SPACE, self.text().into_bytes())
    }

    /// A message to it.
    pub(crate) fn message<T: Serialize>(&self, verb: &'static str, said: &T) -> Option<Message> {
        let (to, body) = (self.address().ok()?, encode(said).ok()?);
        Some(Message { to, definition: DEFINITION, verb: Name::new(verb), body })
    }
}

/// Somebody publishes.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Publish {
    pub(crate) topic: TopicName,
    pub(crate) options: TopicOptions,
    pub(crate) event: Box<RawValue>,
}

/// A run begins to wait.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Watch {
    pub(crate) topic: TopicName,
    pub(crate) options: TopicOptions,
    pub(crate) wait: Wait,
    pub(crate) cursor: Cursor,
}

/// A wait of a run, as its topic knows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Wait {
    pub(crate) by: Waiter,
    /// Since when.
    pub(crate) since: i64,
    /// Until when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) until: Option<i64>,
}

impl Wait {
    /// Its place among those who wait: by time, and then by chance, the same whenever it is asked.
    pub(crate) fn place(&self) -> Bytes {
        let by = &self.by;
        let run = stable_hash(&[by.space.as_bytes(), &by.key.bytes()]);
        let op = stable_hash(&[&by.seed.to_be_bytes(), &by.generation.to_be_bytes(), by.op.as_bytes()]);
        let since = u64::try_from(self.since).unwrap_or(0);
        [since, run, op].map(u64::to_be_bytes).concat().into()
    }

    /// Whether an event of this time is in time for it.
    pub(crate) fn is_in_time(&self, at: i64) -> bool {
        self.until.is_none_or(|until| at < until) || Bug::LateForWait.planted()
    }

    /// A message to its run.
    pub(super) fn told<T: Serialize>(&self, verb: &'static str, said: &T) -> Option<Message> {
        let to = Key::new(Name::from(self.by.space.clone()), self.by.key.bytes()).ok()?;
        let definition = Name::from(self.by.definition.clone());
        Some(Message { to, definition, verb: Name::new(verb), body: encode(said).ok()? })
    }
}

/// Where a wait begins to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cursor {
    /// With the next that is published.
    Next,
    /// With the one after this, which its run has seen.
    After(Seen),
    /// With the first that was published then, or later.
    Since(i64),
    /// With the oldest that is kept.
    Oldest,
}

/// An event that a run has seen. Numbers begin anew if nobody used a topic for so long that it was gone: its birth tells one from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seen {
    pub(crate) birth: i64,
    pub(crate) number: u64,
}

/// A wait is over, or its time is up.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Leave {
    pub(crate) topic: TopicName,
    pub(crate) wait: Wait,
    /// Whether its run waits to hear of it.
    pub(crate) is_answered: bool,
}

/// An event for a wait.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Delivered {
    pub(crate) topic: TopicName,
    /// Which wait it is for.
    pub(crate) to: Waiter,
    pub(crate) seen: Seen,
    /// When it was published.
    pub(crate) at: i64,
    pub(crate) options: TopicOptions,
    pub(crate) event: Box<RawValue>,
}

/// Nothing more will come for a wait.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Left {
    pub(crate) topic: TopicName,
    pub(crate) to: Waiter,
}

/// An event that its run does not wait for any more.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Declined {
    pub(crate) topic: TopicName,
    pub(crate) options: TopicOptions,
    /// That of the topic which gave it its number.
    #[serde(default)]
    pub(crate) birth: i64,
    pub(crate) number: u64,
    pub(crate) at: i64,
    pub(crate) event: Box<RawValue>,
}

/// Reads what was said; every message has one parameter.
pub(super) fn said<T: DeserializeOwned>(verb: &str, body: &[u8]) -> Result<T, crate::halt::Halt> {
    crate::decode(body).map_err(|reason| crate::halt::Halt::malformed(verb, reason))
}
