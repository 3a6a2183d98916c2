//! The caller's side of topics.

use std::{fmt, marker::PhantomData};

use drystone_runtime::Millis;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    DEFINITION,
    wire::{PUBLISH, Publish, TopicName, Wait, WaitAddress},
};
use crate::{
    Address, Args, Call, Desk, Event, Never, Timestamp, decode,
    event::{AnyKey, KeyedTopic, TopicEvent, key::KeyOf},
};

/// The answer to a publisher (T1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Published {
    /// The number of the event: the number of the event before it in the topic, plus 1.
    pub number: u64,
    /// The number of waits on the topic.
    pub waiting: u64,
}

/// Why an event was not published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError {
    /// The topic is full: `max_pending` events wait to be taken.
    #[error("the topic `{topic}` is full: {limit} events wait to be taken")]
    Full {
        /// The topic.
        topic: String,
        /// The limit.
        limit: u64,
    },
    /// The event is longer than an event may be.
    #[error("the event has {bytes} bytes, and {limit} is the most that can be published")]
    TooLarge {
        /// The length of the event.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
}

/// The call that publishes an event.
#[expect(clippy::needless_pass_by_value, reason = "an event is handed over")]
#[doc(hidden)]
pub fn publish<E: TopicEvent>(desk: &Desk, event: E) -> Call<Published, PublishError> {
    let topic = TopicName::new(E::NAME, event.key());
    let address = desk.address(DEFINITION, topic.text());
    let options = E::OPTIONS.topic_options().expect("an event that can be published says how");
    let written = E::codec().write(&event).and_then(|event| decode::<Box<RawValue>>(&event));
    match written {
        Ok(event) => address.call(PUBLISH, Args::new().put(&Publish { topic, options, event })),
        Err(reason) => Call::unwritable(&address, PUBLISH, reason),
    }
}

/// Returns the topic of an event type, for generated clients.
#[doc(hidden)]
pub fn topic<E: TopicEvent + AnyKey>(desk: &Desk) -> Topic<E> {
    Topic::new(desk, None)
}

/// Returns the topic of an event type and a key, for generated clients.
#[expect(clippy::needless_pass_by_value, reason = "a key is handed over")]
#[doc(hidden)]
pub fn topic_of<E: KeyedTopic>(desk: &Desk, key: impl KeyOf<E::Asks>) -> Topic<E> {
    Topic::new(desk, Some(key.text()))
}

/// A view of a topic: its waits, its published events, and their deliveries. Events are published by
/// `client.publish(event)`.
pub struct Topic<E> {
    address: Address,
    event: PhantomData<fn() -> E>,
}

impl<E: TopicEvent> Topic<E> {
    fn new(desk: &Desk, key: Option<String>) -> Self {
        Self { address: desk.address(DEFINITION, TopicName::new(E::NAME, key).text()), event: PhantomData }
    }

    /// Returns the status of the topic; `None` if nothing waits there and nothing is kept. A topic with lost
    /// events keeps the status, with the number of lost events, for another `keep_for`.
    pub fn status(&self) -> Call<Option<TopicStatus>> {
        self.address.call("status", Args::new())
    }

    /// Returns a page of up to 100 waits, the longest waiting first. The page begins behind the place
    /// `after`, or with the first wait (T6).
    #[expect(clippy::needless_pass_by_value, reason = "a place is handed over")]
    pub fn watchers(&self, after: Option<Place>) -> Call<Watchers> {
        self.address.call("watchers", Args::new().put(&after))
    }

    /// Returns the last events, the oldest first: 100 at most, and fewer if they are long.
    pub fn history(&self, count: u32) -> Call<Vec<PublishedEvent<E>>> {
        Call::new(&self.address, "history", Args::new().put(&count), events_in::<E>, decode::<Never>)
    }

    /// Returns a page of the waits that an event was sent to. The page begins behind the place `after`, or
    /// with the first wait. If there are very many deliveries, the oldest are forgotten before their event.
    #[expect(clippy::needless_pass_by_value, reason = "a place is handed over")]
    pub fn deliveries(&self, number: u64, after: Option<Place>) -> Call<Deliveries> {
        self.address.call("deliveries", Args::new().put(&number).put(&after))
    }
}

fn events_in<E: Event>(bytes: &[u8]) -> Result<Vec<PublishedEvent<E>>, String> {
    let read = |logged: Logged| {
        let event = E::codec().read(logged.event.get().as_bytes())?;
        Ok(PublishedEvent { number: logged.number, at: logged.at, event })
    };
    decode::<Vec<Logged>>(bytes)?.into_iter().map(read).collect()
}

impl<E> fmt::Debug for Topic<E> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Topic({:?})", self.address)
    }
}

/// The status of a topic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TopicStatus {
    /// The time since which events are numbered.
    pub since: Timestamp,
    /// The last number.
    pub last: u64,
    /// The number of kept events.
    pub kept: u64,
    /// The number of kept events that wait to be taken, in a work queue.
    pub pending: u64,
    /// The number of waits.
    pub watching: u64,
    /// Whether an event is being delivered to the waits.
    pub is_delivering: bool,
    /// The number of events that expired before they were taken, and became dead letters.
    pub dead: u64,
    /// The number of events that left the log early, because the log had more than `max_pending`.
    pub trimmed: u64,
    /// The number of events that left the log after `keep_for`.
    #[serde(default)]
    pub expired: u64,
}

/// An event that was published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedEvent<E> {
    /// The number of the event.
    pub number: u64,
    /// When it was published.
    pub at: Timestamp,
    /// The event.
    pub event: E,
}

/// The same event, as a topic answers it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Logged {
    pub(super) number: u64,
    pub(super) at: Timestamp,
    pub(super) event: Box<RawValue>,
}

/// A place in a list: where the next page begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Place(pub(super) Vec<u8>);

/// A page of waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watchers {
    /// The waits, the longest waiting first.
    pub watchers: Vec<WatcherShown>,
    /// The place where the next page begins; `None` at the end.
    pub next: Option<Place>,
}

/// A wait of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WatcherShown {
    /// The name of the workflow: its field in the app.
    pub workflow: String,
    /// The key of the run, as text; bytes that are not UTF-8 are replaced.
    pub run: String,
    /// The operation, for example `wait:Paid#1`.
    pub operation: String,
    /// When the wait began.
    pub since: Timestamp,
    /// The deadline of the wait, if any.
    pub until: Option<Timestamp>,
}

impl WatcherShown {
    pub(super) fn of(wait: &Wait) -> Self {
        Self {
            workflow: wait.by.definition.clone(),
            run: shown(&wait.by),
            operation: wait.by.op.clone(),
            since: Timestamp::from_millis(wait.since),
            until: wait.until.map(Timestamp::from_millis),
        }
    }
}

/// A page of the deliveries of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deliveries {
    /// The deliveries, in the order in which they were sent.
    pub deliveries: Vec<Delivery>,
    /// The place where the next page begins; `None` at the end.
    pub next: Option<Place>,
}

/// A wait that an event was sent to. A wait that was over when the event came has not taken the event. An
/// event of a log then goes to no other wait instead; an event of a work queue goes to the next wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Delivery {
    /// The name of the workflow: its field in the app.
    pub workflow: String,
    /// The key of the run, as text; bytes that are not UTF-8 are replaced.
    pub run: String,
    /// The operation, for example `wait:Paid#1`.
    pub operation: String,
    /// When the event was sent.
    pub at: Timestamp,
}

impl Delivery {
    pub(super) fn of(by: WaitAddress, at: Millis) -> Self {
        Self { run: shown(&by), workflow: by.definition, operation: by.op, at: at.into() }
    }
}

fn shown(by: &WaitAddress) -> String {
    String::from_utf8_lossy(&by.key.bytes()).into_owned()
}
