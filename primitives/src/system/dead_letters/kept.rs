//! Dead letters as they are stored, and the messages that bring and replay them.

use bytes::Bytes;
use drystone_runtime::{self as runtime, Key, Message, Name, Version};
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use super::{
    EVENT, REPLAY_BATCH, REPLAY_ITEM,
    letter::{DeadLetter, Filter, What},
};
use crate::{
    Failure, Timestamp,
    client::view::json,
    decode, encode,
    event::topic::TopicOptions,
    kinds::PastError,
    system::topics::{
        self,
        wire::{DECLINED, DELIVERED, Declined, Delivered, PUBLISH, Publish, TopicName},
    },
};

/// The longest error that is kept, as JSON.
const ERROR_BYTES_MAX: usize = 16 << 10;

/// The longest reason that is kept. The message of a panic may be of any length.
const REASON_BYTES_MAX: usize = 4 << 10;

/// The row of a letter: everything but its payload, so that a listing reads little.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Kept {
    what: What,
    definition: String,
    space: String,
    key: Vec<u8>,
    kind: Option<String>,
    action: Option<String>,
    from: Option<String>,
    reason: String,
    error: Option<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    errors: Vec<PastError>,
    attempts: u32,
    count: u64,
    bytes: u64,
    pub(super) died_at: Timestamp,
    /// When the letter was stored, from which the time to its expiry counts.
    pub(super) kept_at: Timestamp,
    /// The lane with the items of a batch.
    batch: Option<Lane>,
    /// The identity of an item in its queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    item: Option<Named>,
    /// The type and topic of an event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    event: Option<NamedEvent>,
}

/// An event without its payload.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NamedEvent {
    event: String,
    /// The topic that the event can be published on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    topic: Option<(TopicName, TopicOptions)>,
}

/// An event that was not taken, as a message brings it: the only parameter. The event was going to the
/// sender of the message.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Event {
    definition: String,
    kind: Option<String>,
    named: NamedEvent,
    payload: Box<RawValue>,
    reason: String,
}

/// Builds the message that brings an event which a run did not take.
pub(crate) fn event_of_run(
    definition: &Name,
    event: &str,
    topic: Option<(TopicName, TopicOptions)>,
    payload: &RawValue,
    reason: String,
) -> Option<Message> {
    let named = NamedEvent { event: event.to_owned(), topic };
    letter(&Event {
        definition: definition.to_string(),
        kind: Some("workflow".to_owned()),
        named,
        payload: payload.to_owned(),
        reason,
    })
}

/// Builds the message that brings an event which no wait took from its topic.
pub(crate) fn event_of_topic(
    (topic, options): (&TopicName, TopicOptions),
    payload: &RawValue,
    reason: String,
) -> Option<Message> {
    let named = NamedEvent { event: topic.event.clone(), topic: Some((topic.clone(), options)) };
    letter(&Event {
        definition: topics::DEFINITION.to_string(),
        kind: Some("topic".to_owned()),
        named,
        payload: payload.to_owned(),
        reason,
    })
}

fn letter(event: &Event) -> Option<Message> {
    let (to, definition) = (super::address(), super::DEFINITION);
    Some(Message { to, definition, verb: Name::new(EVENT), body: encode(&[event]).ok()? })
}

/// An item of a queue without its payload.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Named {
    id: String,
    priority: u8,
}

/// A lane of another entity, which is held for a letter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Lane {
    of: u64,
    lane: String,
    /// The mark in the id of the batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mark: Option<String>,
}

/// A batch as a buffer sends it: the only parameter. The key is that of the sender.
#[derive(Debug, Deserialize)]
pub(super) struct Batch {
    definition: String,
    #[serde(default)]
    kind: Option<String>,
    of: u64,
    lane: String,
    #[serde(default)]
    mark: Option<String>,
    count: u64,
    bytes: u64,
    attempts: u32,
    error: Failure,
    #[serde(default)]
    errors: Vec<PastError>,
    died_at: Timestamp,
}

/// An item as a queue sends it: the only parameter. The key is that of the sender.
#[derive(Debug, Deserialize)]
pub(super) struct Item {
    definition: String,
    #[serde(default)]
    kind: Option<String>,
    id: String,
    priority: u8,
    item: Box<RawValue>,
    attempts: u32,
    error: Failure,
    #[serde(default)]
    errors: Vec<PastError>,
    died_at: Timestamp,
}

/// The state of an entity as its kind sends it when it gives up: the only parameter. The key is that of the
/// sender.
#[derive(Debug, Deserialize)]
pub(super) struct State {
    definition: String,
    #[serde(default)]
    kind: Option<String>,
    state: Box<RawValue>,
    reason: String,
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    attempts: u32,
    #[serde(default)]
    died_at: Option<Timestamp>,
}

/// A batch sent back to a buffer for flushing.
#[derive(Debug, Serialize, Deserialize)]
struct Returned {
    of: u64,
    lane: String,
    count: u64,
    bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mark: Option<String>,
}

/// An item sent back to a queue for processing.
#[derive(Debug, Serialize, Deserialize)]
struct ReturnedItem {
    id: String,
    priority: u8,
    item: Box<RawValue>,
}

impl Kept {
    /// Builds the letter of a message that the kernel gave up, and its payload. If the message was the
    /// replay of a batch, the letter is a batch again: its lane is held, and must be released with the
    /// letter. In the same way a replayed item is an item again, and a replayed event an event.
    pub(super) fn message(dead: &runtime::DeadLetter, kind: Option<&Name>, now: Timestamp) -> (Self, Option<Bytes>) {
        let returned = (dead.verb == REPLAY_BATCH).then(|| decode::<[Returned; 1]>(&dead.body).ok()).flatten();
        let kept = Self {
            what: What::Message,
            definition: dead.definition.to_string(),
            space: dead.to.space.to_string(),
            key: dead.to.key.to_vec(),
            kind: kind.map(ToString::to_string),
            action: Some(dead.verb.to_string()),
            from: Some(dead.from.to_string()),
            reason: clipped(&dead.reason),
            error: error_of(&dead.error),
            errors: Vec::new(),
            attempts: dead.attempts,
            count: 1,
            bytes: dead.body.len() as u64,
            died_at: now,
            kept_at: now,
            batch: None,
            item: None,
            event: None,
        };
        let item = (dead.verb == REPLAY_ITEM).then(|| decode::<[ReturnedItem; 1]>(&dead.body).ok()).flatten();
        if let Some([ReturnedItem { id, priority, item }]) = item {
            let (body, item) = (text(item), Some(Named { id, priority }));
            let bytes = body.len() as u64;
            return (Self { what: What::Item, action: None, from: None, bytes, item, ..kept }, Some(body));
        }
        if let Some(Sent { named, payload }) = Sent::of(dead) {
            let body = text(payload);
            let bytes = body.len() as u64;
            return (Self { what: What::Event, bytes, event: Some(named), ..kept }, Some(body));
        }
        match returned {
            Some([Returned { of, lane, count, bytes, mark }]) => {
                let batch = Some(Lane { of, lane, mark });
                (Self { what: What::Batch, action: None, from: None, count, bytes, batch, ..kept }, None)
            }
            None => (kept, Some(dead.body.clone())),
        }
    }

    /// Builds the letter of a batch that its buffer gave up.
    pub(super) fn batch(batch: Batch, from: &Key, now: Timestamp) -> Self {
        Self {
            what: What::Batch,
            definition: batch.definition,
            space: from.space.to_string(),
            key: from.key.to_vec(),
            kind: batch.kind,
            action: None,
            from: None,
            reason: clipped(&format!("its flush failed: {}", batch.error)),
            error: encode(&batch.error).ok().and_then(|error| error_of(&error)),
            errors: batch.errors,
            attempts: batch.attempts,
            count: batch.count,
            bytes: batch.bytes,
            died_at: batch.died_at,
            kept_at: now,
            batch: Some(Lane { of: batch.of, lane: batch.lane, mark: batch.mark }),
            item: None,
            event: None,
        }
    }

    /// Builds the letter of an item that its queue gave up, and its payload.
    pub(super) fn item(item: Item, from: &Key, now: Timestamp) -> (Self, Bytes) {
        let body = text(item.item);
        let kept = Self {
            what: What::Item,
            definition: item.definition,
            space: from.space.to_string(),
            key: from.key.to_vec(),
            kind: item.kind,
            action: None,
            from: None,
            reason: clipped(&format!("its processing failed: {}", item.error)),
            error: encode(&item.error).ok().and_then(|error| error_of(&error)),
            errors: item.errors,
            attempts: item.attempts,
            count: 1,
            bytes: body.len() as u64,
            died_at: item.died_at,
            kept_at: now,
            batch: None,
            item: Some(Named { id: item.id, priority: item.priority }),
            event: None,
        };
        (kept, body)
    }

    /// Builds the letter of an event that was not taken, and its payload.
    pub(super) fn event(event: Event, from: &Key, now: Timestamp) -> (Self, Bytes) {
        let body = text(event.payload);
        let kept = Self {
            what: What::Event,
            definition: event.definition,
            space: from.space.to_string(),
            key: from.key.to_vec(),
            kind: event.kind,
            action: None,
            from: None,
            reason: clipped(&event.reason),
            error: None,
            errors: Vec::new(),
            attempts: 0,
            count: 1,
            bytes: body.len() as u64,
            died_at: now,
            kept_at: now,
            batch: None,
            item: None,
            event: Some(event.named),
        };
        (kept, body)
    }

    /// Builds the letter of an entity's last state, and its payload.
    pub(super) fn state(state: State, from: &Key, now: Timestamp) -> (Self, Bytes) {
        let body = text(state.state);
        let kept = Self {
            what: What::State,
            definition: state.definition,
            space: from.space.to_string(),
            key: from.key.to_vec(),
            kind: state.kind,
            action: None,
            from: None,
            reason: clipped(&state.reason),
            error: state.error.and_then(|error| encode(&error).ok()).and_then(|error| error_of(&error)),
            errors: Vec::new(),
            attempts: state.attempts,
            count: 1,
            bytes: body.len() as u64,
            died_at: state.died_at.unwrap_or(now),
            kept_at: now,
            batch: None,
            item: None,
            event: None,
        };
        (kept, body)
    }

    /// Returns the letter as it is shown.
    pub(super) fn shown(&self, id: u64) -> DeadLetter {
        DeadLetter {
            id,
            what: self.what,
            definition: self.definition.clone(),
            key: String::from_utf8_lossy(&self.key).into_owned(),
            kind: self.kind.clone(),
            action: self.action.clone(),
            event: self.event.as_ref().map(|named| named.event.clone()),
            topic: self.event.as_ref().and_then(|named| named.topic.as_ref()).map(|(topic, _)| topic.text()),
            from: self.from.clone(),
            reason: self.reason.clone(),
            error: self.error.clone(),
            errors: self.errors.clone(),
            attempts: self.attempts,
            count: self.count,
            died_at: self.died_at,
        }
    }

    /// Whether the letter matches the filter.
    pub(super) fn is_wanted(&self, filter: &Filter) -> bool {
        filter.what.is_none_or(|what| what == self.what)
            && filter.definition.as_ref().is_none_or(|definition| *definition == self.definition)
            && filter.key.as_ref().is_none_or(|key| *key == self.key)
            && (filter.kind.is_none() || filter.kind == self.kind)
            && filter.event.as_ref().is_none_or(|event| self.event.as_ref().is_some_and(|named| named.event == *event))
    }

    /// Returns about how many bytes the letter takes in an answer.
    pub(super) fn weight(&self) -> usize {
        let error = self.error.as_ref().map_or(0, |error| error.to_string().len());
        256 + self.definition.len() + self.key.len() + self.reason.len() + error
    }

    pub(super) fn what(&self) -> What {
        self.what
    }

    pub(super) fn definition(&self) -> &str {
        &self.definition
    }

    /// Returns the lane of the items, if the letter is a batch.
    pub(super) fn lane(&self) -> Option<(Version, Name)> {
        self.batch.as_ref().map(|batch| (Version(batch.of), Name::from(batch.lane.clone())))
    }

    /// Builds the message that replays the letter, to its receiver or to another entity; `None` if the
    /// letter is a state. `body` is the payload.
    pub(super) fn replayed(self, body: Bytes, to: Option<(Name, Key)>) -> Option<Message> {
        let (verb, body) = match (self.what, self.batch) {
            (What::Message, _) => (Name::from(self.action?), body),
            (What::Batch, Some(Lane { of, lane, mark })) => {
                let returned = [Returned { of, lane, count: self.count, bytes: self.bytes, mark }];
                (Name::new(REPLAY_BATCH), encode(&returned).ok()?)
            }
            (What::Item, _) => {
                let (Named { id, priority }, item) = (self.item?, decode(&body).ok()?);
                (Name::new(REPLAY_ITEM), encode(&[ReturnedItem { id, priority, item }]).ok()?)
            }
            // An event of a topic is published again. Any other receiver is a run, and the event is sent
            // there.
            (What::Event, _) if to.is_none() && self.definition == *topics::DEFINITION => {
                (Name::new(PUBLISH), publish(&self.event?, &body)?)
            }
            (What::Event, _) => {
                let (named, payload) = (self.event?, decode(&body).ok()?);
                (Name::new(SEND), Sent { named, payload }.written()?)
            }
            (What::Batch, None) | (What::State, _) => return None,
        };
        let own = || (Name::from(self.definition), Key { space: self.space.into(), key: self.key.into() });
        let (definition, to) = to.unwrap_or_else(own);
        Some(Message { to, definition, verb, body })
    }

    /// Builds the message that publishes the event; `None` without a topic.
    pub(super) fn published(&self, body: &[u8]) -> Option<Message> {
        let named = self.event.as_ref()?;
        let to = named.topic.as_ref()?.0.address().ok()?;
        Some(Message { to, definition: topics::DEFINITION, verb: Name::new(PUBLISH), body: publish(named, body)? })
    }
}

fn publish(named: &NamedEvent, body: &[u8]) -> Option<Bytes> {
    let (topic, options) = named.topic.clone()?;
    encode(&[Publish { topic, options, event: decode(body).ok()? }]).ok()
}

/// The verb that sends an event to a run. The message also names the topic, which is kept if the message
/// becomes a dead letter again.
const SEND: &str = "send";

/// An event in a message.
struct Sent {
    named: NamedEvent,
    payload: Box<RawValue>,
}

impl Sent {
    fn written(&self) -> Option<Bytes> {
        encode(&(&self.named.event, &self.payload, &self.named.topic)).ok()
    }

    /// Returns the event in a message, whether the message was going to a run, to a topic, from a topic to a
    /// run, or back.
    fn of(dead: &runtime::DeadLetter) -> Option<Self> {
        let on_topic = |topic: TopicName, options, payload| {
            let named = NamedEvent { event: topic.event.clone(), topic: Some((topic, options)) };
            Some(Self { named, payload })
        };
        match dead.verb.as_str() {
            SEND => Self::read(&dead.body),
            PUBLISH if dead.definition == topics::DEFINITION => {
                let [Publish { topic, options, event }] = decode(&dead.body).ok()?;
                on_topic(topic, options, event)
            }
            DELIVERED => {
                let Delivered { topic, options, event, .. } = decode(&dead.body).ok()?;
                on_topic(topic, options, event)
            }
            DECLINED => {
                let Declined { topic, options, event, .. } = decode(&dead.body).ok()?;
                on_topic(topic, options, event)
            }
            _ => None,
        }
    }

    /// Reads an event as it is written here, or by another sender.
    fn read(body: &[u8]) -> Option<Self> {
        type Own = (String, Box<RawValue>, Option<(TopicName, TopicOptions)>);
        if let Ok((event, payload, topic)) = decode::<Own>(body) {
            return Some(Self { named: NamedEvent { event, topic }, payload });
        }
        let (event, payload) = decode(body).ok()?;
        Some(Self { named: NamedEvent { event, topic: None }, payload })
    }
}

fn text(json: Box<RawValue>) -> Bytes {
    Bytes::from(String::from(Box::<str>::from(json)))
}

/// Returns an error as JSON; an error that is no JSON becomes text.
fn error_of(error: &[u8]) -> Option<Value> {
    (!error.is_empty() && error.len() <= ERROR_BYTES_MAX).then(|| json(error))
}

fn clipped(reason: &str) -> String {
    let end = reason.floor_char_boundary(REASON_BYTES_MAX);
    if end == reason.len() { reason.to_owned() } else { format!("{} …", &reason[..end]) }
}
