//! The messages between runs and topics. Each is a part of its sender's commit (M1).
//!
//! A run that comes to a wait sends [`Watch`]. The topic answers with [`Delivered`]: at once if it keeps an
//! event for the wait, or when an event is published. A wait that is over sends [`Leave`]. If the deadline
//! of the wait has passed, the topic answers with [`Left`], because an event that was published before may
//! be in flight. Messages of one sender arrive in order, so [`Left`] arrives after that event (T4). An event
//! of a work queue goes back as [`Declined`] if its run no longer waits for it (T3).

use bytes::Bytes;
use drystone_runtime::{Key, Message, Name, stable_hash};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::{DEFINITION, SPACE};
use crate::{encode, event::topic::TopicOptions, planted::Bug, values::key_text::KeyText};

pub(crate) const WATCH: &str = "topic:watch";
pub(crate) const LEAVE: &str = "topic:leave";
pub(crate) const MOVE: &str = "topic:move";
pub(crate) const DECLINED: &str = "topic:declined";
pub(crate) const DELIVERED: &str = "topic:event";
pub(crate) const LEFT: &str = "topic:left";
pub(crate) const PUBLISH: &str = "publish";

/// The name of a topic: the name of its event type, and the key of its events.
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

    /// Returns the key of the topic's entity. The name of an event with a topic has no slash, so that no
    /// topic is taken for another (V10).
    pub(crate) fn text(&self) -> String {
        match &self.key {
            Some(key) => format!("{}/{key}", self.event),
            None => self.event.clone(),
        }
    }

    /// Returns the address of the topic's entity; an error if the key is too long.
    pub(crate) fn address(&self) -> Result<Key, drystone_runtime::Error> {
        Key::new(SPACE, self.text().into_bytes())
    }

    /// Builds a message to the topic.
    pub(crate) fn message<T: Serialize>(&self, verb: &'static str, said: &T) -> Option<Message> {
        let (to, body) = (self.address().ok()?, encode(said).ok()?);
        Some(Message { to, definition: DEFINITION, verb: Name::new(verb), body })
    }
}

/// Publishes an event.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Publish {
    pub(crate) topic: TopicName,
    pub(crate) options: TopicOptions,
    pub(crate) event: Box<RawValue>,
}

/// Registers a wait.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Watch {
    pub(crate) topic: TopicName,
    pub(crate) options: TopicOptions,
    pub(crate) wait: Wait,
    pub(crate) cursor: Cursor,
}

/// The address of a wait: the run, and its operation that waits for an event of a topic or for the end of
/// another run (L6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WaitAddress {
    pub(crate) space: String,
    pub(crate) key: KeyText,
    pub(crate) definition: String,
    pub(crate) op: String,
    pub(crate) generation: u32,
    pub(crate) seed: u64,
}

/// A wait of a run, as its topic stores it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Wait {
    pub(crate) by: WaitAddress,
    /// When the wait began.
    pub(crate) since: i64,
    /// The deadline of the wait, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) until: Option<i64>,
}

impl Wait {
    /// Returns the place of the wait among all waits of its topic: by time, then by a hash, which is always
    /// the same.
    pub(crate) fn place(&self) -> Bytes {
        let by = &self.by;
        let run = stable_hash(&[by.space.as_bytes(), &by.key.bytes()]);
        let op = stable_hash(&[&by.seed.to_be_bytes(), &by.generation.to_be_bytes(), by.op.as_bytes()]);
        let since = u64::try_from(self.since).unwrap_or(0);
        [since, run, op].map(u64::to_be_bytes).concat().into()
    }

    /// Whether an event of this time is in time for the wait.
    pub(crate) fn is_in_time(&self, at: i64) -> bool {
        self.until.is_none_or(|until| at < until) || Bug::LateForWait.planted()
    }

    /// Builds a message to the run of the wait.
    pub(super) fn told<T: Serialize>(&self, verb: &'static str, said: &T) -> Option<Message> {
        let to = Key::new(Name::from(self.by.space.clone()), self.by.key.bytes()).ok()?;
        let definition = Name::from(self.by.definition.clone());
        Some(Message { to, definition, verb: Name::new(verb), body: encode(said).ok()? })
    }
}

/// The event with which a wait begins to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cursor {
    /// The next event that is published.
    Next,
    /// The event after the last event seen by the run.
    After(Seen),
    /// The first event that was published at this time or later.
    Since(i64),
    /// The oldest event that is kept.
    Oldest,
}

/// An event that a run has seen. The numbers of a topic begin again if the topic was removed because nothing
/// used it. The birth tells the numbers apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seen {
    pub(crate) birth: i64,
    pub(crate) number: u64,
}

/// Withdraws a wait that is over or whose deadline has passed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Leave {
    pub(crate) topic: TopicName,
    pub(crate) wait: Wait,
    /// Whether the run waits for a confirmation.
    pub(crate) is_answered: bool,
}

/// Delivers an event to a wait.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Delivered {
    pub(crate) topic: TopicName,
    /// The wait that the event is for.
    pub(crate) to: WaitAddress,
    pub(crate) seen: Seen,
    /// When it was published.
    pub(crate) at: i64,
    pub(crate) options: TopicOptions,
    pub(crate) event: Box<RawValue>,
}

/// Confirms that nothing more will come for a wait.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Left {
    pub(crate) topic: TopicName,
    pub(crate) to: WaitAddress,
}

/// Gives back an event that its run no longer waits for.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Declined {
    pub(crate) topic: TopicName,
    pub(crate) options: TopicOptions,
    /// The birth of the topic that gave the event its number.
    #[serde(default)]
    pub(crate) birth: i64,
    pub(crate) number: u64,
    pub(crate) at: i64,
    pub(crate) event: Box<RawValue>,
}

/// Reads the content of a message, which is its only parameter.
pub(super) fn said<T: DeserializeOwned>(verb: &str, body: &[u8]) -> Result<T, crate::system::halt::Halt> {
    crate::decode(body).map_err(|reason| crate::system::halt::Halt::malformed(verb, reason))
}
