//! The caller's side of topics.

use std::{fmt, marker::PhantomData};

use drystone_runtime::Millis;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    DEFINITION,
    wire::{PUBLISH, Publish, TopicName, Wait},
};
use crate::{
    Address, Args, Call, Desk, Event, Never, Timestamp, decode,
    workflow::{AnyKey, KeyOf, KeyedTopic, TopicEvent, Waiter},
};

/// What became of an event that was published (T1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Published {
    /// Its number: that of the one before it in its topic, and 1.
    pub number: u64,
    /// How many waits there were.
    pub waiting: u64,
}

/// Why an event was not published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError {
    /// So many events wait for somebody to take them that there is no room for another (`max_pending`).
    #[error("the topic `{topic}` is full: {limit} events wait to be taken")]
    Full {
        /// The topic.
        topic: String,
        /// How many may wait.
        limit: u64,
    },
    /// It is longer than an event may be.
    #[error("the event has {bytes} bytes, and {limit} is the most that can be published")]
    TooLarge {
        /// How many bytes it has.
        bytes: u64,
        /// How many it may have.
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

/// The topic of an event: what generated clients hand out.
#[doc(hidden)]
pub fn topic<E: TopicEvent + AnyKey>(desk: &Desk) -> Topic<E> {
    Topic::new(desk, None)
}

/// The topic of an event with this key.
#[expect(clippy::needless_pass_by_value, reason = "a key is handed over")]
#[doc(hidden)]
pub fn topic_of<E: KeyedTopic>(desk: &Desk, key: impl KeyOf<E::Asks>) -> Topic<E> {
    Topic::new(desk, Some(key.text()))
}

/// A topic, as people look at it: who waits, what was published, who got it. Events are published by `client.publish(event)`.
pub struct Topic<E> {
    address: Address,
    event: PhantomData<fn() -> E>,
}

impl<E: TopicEvent> Topic<E> {
    fn new(desk: &Desk, key: Option<String>) -> Self {
        Self { address: desk.address(DEFINITION, TopicName::new(E::NAME, key).text()), event: PhantomData }
    }

    /// Where it stands; `None` if nobody waits and nothing is kept. One that has lost events is there for another `keep_for`, with how many.
    pub fn status(&self) -> Call<Option<TopicStatus>> {
        self.address.call("status", Args::new())
    }

    /// Who waits, the longest first, 100 at a time: those behind a place, or the first (T6).
    #[expect(clippy::needless_pass_by_value, reason = "a place is handed over")]
    pub fn watchers(&self, after: Option<Place>) -> Call<Watchers> {
        self.address.call("watchers", Args::new().put(&after))
    }

    /// The last events, the oldest first: 100 at most, and fewer if they are long.
    pub fn history(&self, count: u32) -> Call<Vec<PublishedEvent<E>>> {
        Call::new(&self.address, "history", Args::new().put(&count), events_in::<E>, decode::<Never>)
    }

    /// Who got an event, some at a time: those behind a place, or the first. Of very many the oldest are forgotten before their event is.
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

/// Where a topic stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TopicStatus {
    /// Since when its events are numbered.
    pub since: Timestamp,
    /// The last number.
    pub last: u64,
    /// How many events are kept.
    pub kept: u64,
    /// How many of them nobody has got, of those that go to one alone.
    pub pending: u64,
    /// How many waits there are.
    pub watching: u64,
    /// Whether an event is on its way to those who wait.
    pub is_delivering: bool,
    /// How many nobody took in time: they are dead letters.
    pub dead: u64,
    /// How many left the log early, for there were more than `max_pending`.
    pub trimmed: u64,
    /// How many left the log after `keep_for`.
    #[serde(default)]
    pub expired: u64,
}

/// An event that was published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedEvent<E> {
    /// Its number.
    pub number: u64,
    /// When it was published.
    pub at: Timestamp,
    /// The event.
    pub event: E,
}

/// The same as it is answered.
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

/// Some who wait.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watchers {
    /// The longest first.
    pub watchers: Vec<WatcherShown>,
    /// Where the next ones begin; `None` at the end.
    pub next: Option<Place>,
}

/// A wait of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WatcherShown {
    /// The workflow: its field in the app.
    pub workflow: String,
    /// The key of the run, as text; bytes that are not UTF-8 are replaced.
    pub run: String,
    /// The operation: `wait:Paid#1`.
    pub operation: String,
    /// Since when it waits.
    pub since: Timestamp,
    /// Until when.
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

/// Some who got an event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deliveries {
    /// In the order in which it was sent to them.
    pub deliveries: Vec<Delivery>,
    /// Where the next ones begin; `None` at the end.
    pub next: Option<Place>,
}

/// A wait that an event was sent to. One that was over by then has not taken it: of a log it goes to nobody else for that, and
/// what goes to one alone goes to the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Delivery {
    /// The workflow: its field in the app.
    pub workflow: String,
    /// The key of the run, as text; bytes that are not UTF-8 are replaced.
    pub run: String,
    /// The operation: `wait:Paid#1`.
    pub operation: String,
    /// When it was sent.
    pub at: Timestamp,
}

impl Delivery {
    pub(super) fn of(by: Waiter, at: Millis) -> Self {
        Self { run: shown(&by), workflow: by.definition, operation: by.op, at: at.into() }
    }
}

fn shown(by: &Waiter) -> String {
    String::from_utf8_lossy(&by.key.bytes()).into_owned()
}
