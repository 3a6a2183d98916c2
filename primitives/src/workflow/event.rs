//! Events that runs wait for.

use serde::Serialize;

use crate::{literal, stored::Codec};

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

    /// How it is stored. As a bound of the trait, a type without serde would be an error wherever it is named.
    fn codec() -> Codec<Self>;

    /// The key that a wait can ask for: that of the field which `#[event(key = ..)]` names.
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

/// How events of a type are queued: what `#[event(..)]` says.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct EventOptions {
    pub(super) keep: Keep,
    pub(super) max_queued: u64,
    pub(super) expires_ms: u64,
    pub(super) unread: Unread,
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
}

impl EventOptions {
    /// The defaults: all are kept in order, 10,000 at most, for 7 days; dead letters when their run ends.
    pub const NEW: Self =
        Self { keep: Keep::All, max_queued: 10_000, expires_ms: 7 * 24 * 60 * 60 * 1_000, unread: Unread::DeadLetter };

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

    /// `on_terminated = "dead_letter"` or `"discard"`: what becomes of events that nobody took when their run ends.
    #[track_caller]
    #[must_use]
    pub const fn on_terminated(mut self, word: &str) -> Self {
        self.unread = match word.as_bytes() {
            b"dead_letter" => Unread::DeadLetter,
            b"discard" => Unread::Discard,
            _ => panic!("write \"dead_letter\" or \"discard\""),
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
