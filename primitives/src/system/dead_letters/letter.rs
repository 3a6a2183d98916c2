//! Dead letters as a person sees them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Timestamp, kinds::PastError};

/// A message, batch, item, event or state that could not be handled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// The number of the letter. Later letters have higher numbers, and no number is used again.
    pub id: u64,
    /// The type of the letter.
    pub what: What,
    /// The definition of the receiver, or of the entity that gave up.
    pub definition: String,
    /// The key of that entity, as text; bytes that are not UTF-8 are replaced.
    pub key: String,
    /// The kind of that definition; `None` if the app did not have the definition.
    pub kind: Option<String>,
    /// The action that the message asked for.
    pub action: Option<String>,
    /// The type of the event.
    #[serde(default)]
    pub event: Option<String>,
    /// The topic of the event, if it has one: [`replay_to_topic`](super::DeadLetters::replay_to_topic)
    /// publishes it there.
    #[serde(default)]
    pub topic: Option<String>,
    /// The sender, as text; `None` if the letter is the entity's own.
    pub from: Option<String>,
    /// The reason why the letter died.
    pub reason: String,
    /// The last error, as JSON: the error of an action, or a [`Failure`](crate::Failure) of a hook. An error
    /// of more than 16 KiB is left out.
    pub error: Option<Value>,
    /// The errors of the attempts of a batch or an item, the oldest first. Of very many errors the last ones
    /// are kept.
    #[serde(default)]
    pub errors: Vec<PastError>,
    /// The number of attempts.
    pub attempts: u32,
    /// The number of items: those of a batch, otherwise 1.
    pub count: u64,
    /// When the letter died.
    pub died_at: Timestamp,
}

/// The type of a dead letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// A message whose receiver could not take it (M4).
    Message,
    /// A batch that could not be flushed.
    Batch,
    /// An item that could not be processed.
    Item,
    /// An event that was not taken: its run has ended, or no wait took it in time.
    Event,
    /// The last state of an entity that gave up. It cannot be replayed.
    State,
}

/// A filter for dead letters. The default matches all, 100 at a time.
///
/// ```
/// use drystone::dead_letters::Filter;
///
/// let filter = Filter { definition: Some("cart".into()), ..Filter::default() };
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// The type of the letters.
    pub what: Option<What>,
    /// The definition of the receiver.
    pub definition: Option<String>,
    /// The key of the receiver.
    pub key: Option<Vec<u8>>,
    /// The kind of that definition, for example `"buffer"`.
    pub kind: Option<String>,
    /// The name of the event's type.
    #[serde(default)]
    pub event: Option<String>,
    /// The number of the letter after which the page begins: [`Page::next`].
    pub after: Option<u64>,
    /// The most letters that a page has; 100 by default.
    pub limit: usize,
}

impl Default for Filter {
    fn default() -> Self {
        Self { what: None, definition: None, key: None, kind: None, event: None, after: None, limit: 100 }
    }
}

/// A page of dead letters, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// The letters.
    pub letters: Vec<DeadLetter>,
    /// The value of [`Filter::after`] for the next page; `None` at the end.
    pub next: Option<u64>,
}

/// A page of events that were not taken, the oldest first.
#[derive(Clone, Debug, PartialEq)]
pub struct EventPage<E> {
    /// The events.
    pub events: Vec<EventLetter<E>>,
    /// The value of [`Filter::after`] for the next page; `None` at the end.
    pub next: Option<u64>,
}

/// An event that was not taken, with its letter.
#[derive(Clone, Debug, PartialEq)]
pub struct EventLetter<E> {
    /// The letter.
    pub letter: DeadLetter,
    /// The event; the path and the reason if the current type cannot read it.
    pub event: Result<E, String>,
}

/// The numbers of dead letters, of all time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Counts {
    /// The letters that are kept.
    pub kept: u64,
    /// The letters that were added, ever.
    pub added: u64,
    /// The letters that expired.
    pub expired: u64,
    /// The letters that were dropped because there were too many.
    pub dropped: u64,
    /// The letters that were replayed.
    pub replayed: u64,
    /// The letters that were removed.
    pub removed: u64,
}

/// A dead letter with its payload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// The letter.
    pub letter: DeadLetter,
    /// The payload of the letter.
    pub payload: Payload,
}

/// The payload of a dead letter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Payload {
    /// The parameters of the action, in order.
    Message(Value),
    /// The first items; see [`DeadLetters::items`](super::DeadLetters::items) for the others.
    Batch(Items),
    /// The item that was enqueued.
    Item(Value),
    /// The event.
    Event(Value),
    /// The author's struct.
    State(Value),
}

/// A page of the items of a batch, in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Items {
    /// The items: at most 100, and fewer if they are large.
    pub items: Vec<Value>,
    /// The place where the next page begins; `None` at the end.
    pub next: Option<ItemCursor>,
}

/// A place in a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ItemCursor(pub(super) Vec<u8>);

/// An error of a request about one dead letter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
pub enum LetterError {
    /// There is no such letter.
    #[error("there is no dead letter {id}: it was replayed, removed or has expired")]
    Unknown {
        /// The number of the letter.
        id: u64,
    },
    /// The letter is a state, which is no message that an entity could take.
    #[error("dead letter {id} is the last state of `{definition}` and cannot be replayed; read it, and start anew")]
    NotReplayable {
        /// The number of the letter.
        id: u64,
        /// The definition of the entity whose state it was.
        definition: String,
    },
    /// The letter is no event, or an event without a topic.
    #[error("dead letter {id} is no event of a topic: nobody could wait for it there")]
    NoTopic {
        /// The number of the letter.
        id: u64,
    },
    /// The letter is no batch, so it has no items.
    #[error("dead letter {id} is not a batch and has no items")]
    NotABatch {
        /// The number of the letter.
        id: u64,
    },
}
