//! Event types, and how their events are queued and published. Topics and workflows both build on this
//! module.

pub(crate) mod key;
pub(crate) mod topic;

use serde::Serialize;

use self::topic::{Deliver, From, TopicOptions};
use crate::values::{literal, stored::Codec};

/// An event that can be sent to a run: a type with `#[derive(Event)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an event",
    label = "not an event",
    note = "add `#[derive(Event)]` to it, beside `Serialize` and `Deserialize`"
)]
pub trait Event: Sized + Send + 'static {
    /// The name of the event type, as it is stored.
    const NAME: &'static str;
    /// How events of this type are queued.
    const OPTIONS: EventOptions;
    /// The marker of a wait that has no key yet. It forbids awaiting without a key if the event has a topic
    /// for each key.
    type Asks;

    /// How events of this type are stored. A function, because with serde as a bound of the trait, a type
    /// without serde would be an error wherever it is named.
    fn codec() -> Codec<Self>;

    /// The key that a wait can ask for, made of the fields that `#[event(key = ..)]` names.
    fn key(&self) -> Option<String> {
        None
    }
}

/// An event that the workflow `W` accepts.
#[diagnostic::on_unimplemented(
    message = "the workflow `{W}` does not accept the event `{Self}`",
    label = "not an event of `{W}`",
    note = "list it: `#[workflow(events({Self}))] impl {W}`"
)]
pub trait EventOf<W>: Event {}

/// An event that can be published: a type with `#[event(topic)]` (T1).
#[diagnostic::on_unimplemented(
    message = "the event `{Self}` has no topic, and cannot be published",
    label = "not an event of a topic",
    note = "write `#[event(topic)]` on `{Self}`; an event for one run is sent: `client.checkout(key).send(event)`"
)]
pub trait TopicEvent: Event {}

/// An event with a topic for each key: a type with `#[event(topic, key = ..)]`.
#[diagnostic::on_unimplemented(
    message = "the event `{Self}` has no topic for each key",
    label = "one topic, without a key",
    note = "write `client.topic::<{Self}>()`, or `#[event(topic, key = ..)]` on `{Self}`"
)]
pub trait KeyedTopic: TopicEvent {}

/// An event that needs no key, neither for a wait nor for a look at its topic: every type but those with
/// `#[event(topic, key = ..)]`, which have a topic for each key.
#[diagnostic::on_unimplemented(
    message = "which `{Self}` is not said: it has a topic for each key",
    label = "without a key",
    note = "in a body: `flow.wait_for::<{Self}>().key(..)`; to look at it: `client.topic_of::<{Self}>(key)`"
)]
pub trait AnyKey: Event {}

/// The options of an event type, as `#[event(..)]` sets them.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct EventOptions {
    pub(crate) keep: Keep,
    pub(crate) max_queued: u64,
    pub(crate) expires_ms: u64,
    pub(crate) unread: Unread,
    is_topic: bool,
    topic: TopicOptions,
}

/// The events of a type that are kept until one is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Keep {
    /// All events, in order.
    All,
    /// The last event.
    Latest,
    /// The first event.
    First,
}

/// The fate of unread events when their run ends (D1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unread {
    /// They become dead letters.
    DeadLetter,
    /// They are dropped and counted.
    Discard,
    /// They are published on the event's topic.
    Publish,
}

impl EventOptions {
    /// The defaults: a run queues up to 10,000 events in order, for 7 days. Events that are unread when the
    /// run ends become dead letters.
    pub const NEW: Self = Self {
        keep: Keep::All,
        max_queued: 10_000,
        expires_ms: 7 * 24 * 60 * 60 * 1_000,
        unread: Unread::DeadLetter,
        is_topic: false,
        topic: TopicOptions::NEW,
    };

    /// How events of this type are published; `None` if they are not published.
    pub(crate) fn topic_options(&self) -> Option<TopicOptions> {
        self.is_topic.then_some(self.topic)
    }

    /// `topic`: events of this type can be published.
    #[must_use]
    pub const fn topic(mut self) -> Self {
        self.is_topic = true;
        self
    }

    /// `deliver = "all"` (default) or `"one"`: a published event goes to all waits, or to the longest
    /// waiting one.
    #[track_caller]
    #[must_use]
    pub const fn deliver(mut self, word: &str) -> Self {
        self.topic.deliver = match word.as_bytes() {
            b"all" => Deliver::All,
            b"one" => Deliver::One,
            _ => panic!("write \"all\" or \"one\""),
        };
        self
    }

    /// `from = "wait"` (default), `"created"` or `"start"`: a wait takes events published after the wait
    /// began, after its run began, or from the oldest kept event on.
    #[track_caller]
    #[must_use]
    pub const fn from(mut self, word: &str) -> Self {
        self.topic.from = match word.as_bytes() {
            b"wait" => From::Wait,
            b"created" => From::Created,
            b"start" => From::Start,
            _ => panic!("write \"wait\", \"created\" or \"start\""),
        };
        self
    }

    /// How long a published event is kept: `"7d"`, the default. With `deliver = "one"`, an event not taken
    /// by then becomes a dead letter.
    #[track_caller]
    #[must_use]
    pub const fn keep_for(mut self, span: &str) -> Self {
        self.topic.keep_for_ms = literal::millis(literal::some_duration(span));
        self
    }

    /// How many published events a topic keeps: 10,000 by default, 1,000,000 at most. Beyond that a log
    /// drops its oldest event; with `deliver = "one"` a further event is refused as full.
    #[track_caller]
    #[must_use]
    pub const fn max_pending(mut self, count: u64) -> Self {
        assert!(count <= 1_000_000, "this is more than 1,000,000");
        self.topic.max_pending = literal::count(count);
        self
    }

    /// `keep = "all"` (default), `"latest"` or `"first"`: the last two make the queue a single slot, and
    /// every event lost to the slot is counted.
    #[track_caller]
    #[must_use]
    pub const fn keep(mut self, word: &str) -> Self {
        self.keep = match word.as_bytes() {
            b"all" => Keep::All,
            b"latest" => Keep::Latest,
            b"first" => Keep::First,
            _ => panic!("write \"all\", \"latest\" or \"first\""),
        };
        self
    }

    /// How many events of this type may be queued for one run: 10,000 by default, 100,000 at most. A
    /// further event is refused as full.
    #[track_caller]
    #[must_use]
    pub const fn max_queued(mut self, count: u64) -> Self {
        assert!(count <= 100_000, "this is more than 100,000");
        self.max_queued = literal::count(count);
        self
    }

    /// How long an unread event stays queued: `"7d"`, the default. Expired events are dropped and counted.
    #[track_caller]
    #[must_use]
    pub const fn expires(mut self, span: &str) -> Self {
        self.expires_ms = literal::millis(literal::some_duration(span));
        self
    }

    /// `on_terminated = "dead_letter"` (default), `"discard"` or `"publish"`: the fate of unread events
    /// when their run ends.
    #[track_caller]
    #[must_use]
    pub const fn on_terminated(mut self, word: &str) -> Self {
        self.unread = match word.as_bytes() {
            b"dead_letter" => Unread::DeadLetter,
            b"discard" => Unread::Discard,
            b"publish" => Unread::Publish,
            _ => panic!("write \"dead_letter\", \"discard\" or \"publish\""),
        };
        self
    }
}

/// An event type that a workflow accepts, without its Rust type.
#[derive(Clone, Copy, Debug)]
pub struct EventCode {
    pub(crate) name: &'static str,
    pub(crate) options: EventOptions,
    /// Reads an event and returns its key. The error has the path and the reason.
    pub(crate) read: fn(&[u8]) -> Result<Option<String>, String>,
}

impl EventCode {
    /// The code of an event type.
    pub const fn of<E: Event>() -> Self {
        Self { name: E::NAME, options: E::OPTIONS, read: |bytes| E::codec().read(bytes).map(|event| event.key()) }
    }
}
