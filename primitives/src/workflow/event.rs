//! Events that runs wait for.

use serde::Serialize;

use crate::{
    literal,
    stored::Codec,
    topics::{Deliver, From, TopicOptions},
};

/// Something that can be sent to a run: a type with `#[derive(Event)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an event",
    label = "not an event",
    note = "add `#[derive(Event)]` to it, beside `Serialize` and `Deserialize`"
)]
pub trait Event: Sized + Send + 'static {
    /// Its name, as it is stored.
    const NAME: &'static str;
    /// How events of this type are queued.
    const OPTIONS: EventOptions;
    /// Whether a wait for it must say a key: one that has a topic for each must.
    type Asks;

    /// How it is stored. As a bound of the trait, a type without serde would be an error wherever it is named.
    fn codec() -> Codec<Self>;

    /// The key that a wait can ask for: that of the fields which `#[event(key = ..)]` names.
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

/// An event that can be published: one with `#[event(topic)]` (T1).
#[diagnostic::on_unimplemented(
    message = "the event `{Self}` has no topic, and cannot be published",
    label = "not an event of a topic",
    note = "write `#[event(topic)]` on `{Self}`; an event for one run is sent: `client.checkout(key).send(event)`"
)]
pub trait TopicEvent: Event {}

/// An event that has a topic for each key: one with `#[event(topic, key = ..)]`.
#[diagnostic::on_unimplemented(
    message = "the event `{Self}` has no topic for each key",
    label = "one topic, without a key",
    note = "write `client.topic::<{Self}>()`, or `#[event(topic, key = ..)]` on `{Self}`"
)]
pub trait KeyedTopic: TopicEvent {}

/// An event that can be waited for whatever its key is: any but one with `#[event(topic, key = ..)]`, which has a topic for each key.
#[diagnostic::on_unimplemented(
    message = "which `{Self}` is not said: it has a topic for each key",
    label = "without a key",
    note = "in a body: `flow.wait_for::<{Self}>().key(..)`; to look at it: `client.topic_of::<{Self}>(key)`"
)]
pub trait AnyKey: Event {}

/// How events of a type are queued: what `#[event(..)]` says.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct EventOptions {
    pub(super) keep: Keep,
    pub(super) max_queued: u64,
    pub(super) expires_ms: u64,
    pub(super) unread: Unread,
    is_topic: bool,
    topic: TopicOptions,
}

/// Which events of a type are kept until one is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Keep {
    /// All, in order.
    All,
    /// The last one.
    Latest,
    /// The first one.
    First,
}

/// What becomes of events that nobody has taken when their run ends (D1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Unread {
    /// They are dead letters.
    DeadLetter,
    /// They are gone, and counted.
    Discard,
    /// They are published on their topic.
    Publish,
}

impl EventOptions {
    /// The defaults: all are kept in order, 10,000 at most, for 7 days; dead letters when their run ends.
    pub const NEW: Self = Self {
        keep: Keep::All,
        max_queued: 10_000,
        expires_ms: 7 * 24 * 60 * 60 * 1_000,
        unread: Unread::DeadLetter,
        is_topic: false,
        topic: TopicOptions::NEW,
    };

    /// How events of this type are published; `None` if they are not.
    pub(crate) fn topic_options(&self) -> Option<TopicOptions> {
        self.is_topic.then_some(self.topic)
    }

    /// `topic`: they can be published.
    #[must_use]
    pub const fn topic(mut self) -> Self {
        self.is_topic = true;
        self
    }

    /// `deliver = "all"` or `"one"`: whether a published event goes to all who wait, or to the one who waits longest.
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

    /// `from = "wait"`, `"created"` or `"start"`: whether a wait takes what is published after it, after its run began, or the oldest
    /// that is kept.
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

    /// How long a published event is kept: `"7d"`. One that nobody took, of those that go to one, is a dead letter then.
    #[track_caller]
    #[must_use]
    pub const fn keep_for(mut self, span: &str) -> Self {
        self.topic.keep_for_ms = literal::millis(literal::some_duration(span));
        self
    }

    /// How many published events wait for the one who takes them; of a log, how many are kept. At most 1,000,000.
    #[track_caller]
    #[must_use]
    pub const fn max_pending(mut self, count: u64) -> Self {
        assert!(count <= 1_000_000, "this is more than 1,000,000");
        self.topic.max_pending = literal::count(count);
        self
    }

    /// `keep = "all"`, `"latest"` or `"first"`: the last two are a single slot, and each event that is lost to it is counted.
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

    /// How many of one type may be queued for one run; then sending one more is refused as full. At most 100,000.
    #[track_caller]
    #[must_use]
    pub const fn max_queued(mut self, count: u64) -> Self {
        assert!(count <= 100_000, "this is more than 100,000");
        self.max_queued = literal::count(count);
        self
    }

    /// How long an event is kept that nobody takes: `"7d"`. Then it is gone, and counted.
    #[track_caller]
    #[must_use]
    pub const fn expires(mut self, span: &str) -> Self {
        self.expires_ms = literal::millis(literal::some_duration(span));
        self
    }

    /// `on_terminated = "dead_letter"`, `"discard"` or `"publish"`: what becomes of events that nobody took when their run ends.
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

/// An event that a workflow accepts, without its type.
#[derive(Clone, Copy, Debug)]
pub struct EventCode {
    pub(super) name: &'static str,
    pub(super) options: EventOptions,
    /// The key of one; the path and the reason if it is something else.
    pub(super) read: fn(&[u8]) -> Result<Option<String>, String>,
}

impl EventCode {
    /// That of a type.
    pub const fn of<E: Event>() -> Self {
        Self { name: E::NAME, options: E::OPTIONS, read: |bytes| E::codec().read(bytes).map(|event| event.key()) }
    }
}
