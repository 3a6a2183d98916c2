//! A dead letter as a person sees it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Timestamp, kinds::PastError};

/// Something that nobody could take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// Its number; later ones are higher, and none is used again.
    pub id: u64,
    /// What it was.
    pub what: What,
    /// The definition that it was meant for, or that gave it up.
    pub definition: String,
    /// The key that it was going to, as text; bytes that are not UTF-8 are replaced.
    pub key: String,
    /// The kind of that definition; `None` if the app did not have it.
    pub kind: Option<String>,
    /// The action that a message asked for.
    pub action: Option<String>,
    /// The type of an event.
    #[serde(default)]
    pub event: Option<String>,
    /// The topic of an event, if it has one: where [`replay_to_topic`](super::DeadLetters::replay_to_topic) brings it.
    #[serde(default)]
    pub topic: Option<String>,
    /// Who sent it, as text; `None` if it is the entity's own.
    pub from: Option<String>,
    /// Why it died.
    pub reason: String,
    /// The last error, as JSON: an action's own, or a [`Failure`](crate::Failure) of a hook. One of more than 16 KiB is
    /// left out.
    pub error: Option<Value>,
    /// What the attempts of a batch or an item failed with, the oldest first; of many the last ones.
    #[serde(default)]
    pub errors: Vec<PastError>,
    /// How often it was tried.
    pub attempts: u32,
    /// How many items it holds: those of a batch, else 1.
    pub count: u64,
    /// When it died.
    pub died_at: Timestamp,
}

/// What a dead letter was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// A message whose receiver could not take it (M4).
    Message,
    /// A batch that could not be flushed.
    Batch,
    /// An item that could not be processed.
    Item,
    /// An event that nobody took: its run has ended, or nobody waited for it in time.
    Event,
    /// The last state of an entity that gave up. There is nowhere to replay it to.
    State,
}

/// Which dead letters to list. The default asks for all, 100 at a time.
///
/// ```
/// use drystone::dead_letters::Filter;
///
/// let filter = Filter { definition: Some("cart".into()), ..Filter::default() };
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// What they were.
    pub what: Option<What>,
    /// The definition that they were meant for.
    pub definition: Option<String>,
    /// The key that they were going to.
    pub key: Option<Vec<u8>>,
    /// The kind of that definition: `"buffer"`.
    pub kind: Option<String>,
    /// The type of an event, by its name.
    #[serde(default)]
    pub event: Option<String>,
    /// After this one: [`Page::next`].
    pub after: Option<u64>,
    /// At most so many: 100.
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
    /// Where the next page begins: pass it as [`Filter::after`]. `None` at the end.
    pub next: Option<u64>,
}

/// A page of events that nobody took, the oldest first.
#[derive(Clone, Debug, PartialEq)]
pub struct EventPage<E> {
    /// The events.
    pub events: Vec<EventLetter<E>>,
    /// Where the next page begins: pass it as [`Filter::after`]. `None` at the end.
    pub next: Option<u64>,
}

/// An event that nobody took, with its letter.
#[derive(Clone, Debug, PartialEq)]
pub struct EventLetter<E> {
    /// The letter.
    pub letter: DeadLetter,
    /// The event; the path and the reason if it cannot be read as one of today.
    pub event: Result<E, String>,
}

/// What became of dead letters, of all time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Counts {
    /// How many there are.
    pub kept: u64,
    /// How many there were, ever.
    pub added: u64,
    /// How many were kept for so long that they are gone.
    pub expired: u64,
    /// How many were gone because there were too many.
    pub dropped: u64,
    /// How many were replayed.
    pub replayed: u64,
    /// How many were removed.
    pub removed: u64,
}

/// A dead letter with what is in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// The letter.
    pub letter: DeadLetter,
    /// What is in it.
    pub payload: Payload,
}

/// What is in a dead letter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Payload {
    /// The parameters of the action, in order.
    Message(Value),
    /// The first items: see [`DeadLetters::items`](super::DeadLetters::items) for the others.
    Batch(Items),
    /// What was enqueued.
    Item(Value),
    /// The event.
    Event(Value),
    /// The author's struct.
    State(Value),
}

/// Some items of a batch, in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Items {
    /// The items: at most 100, and fewer if they are large.
    pub items: Vec<Value>,
    /// Where the next ones begin; `None` at the end.
    pub next: Option<ItemCursor>,
}

/// A place in a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ItemCursor(pub(super) Vec<u8>);

/// What can be wrong with a request about one dead letter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
pub enum LetterError {
    /// There is no such letter.
    #[error("there is no dead letter {id}: it was replayed, removed or has expired")]
    Unknown {
        /// The number.
        id: u64,
    },
    /// A state is not a message: nobody would take it.
    #[error("dead letter {id} is the last state of `{definition}` and cannot be replayed; read it, and start anew")]
    NotReplayable {
        /// The number.
        id: u64,
        /// Whose state it was.
        definition: String,
    },
    /// It is no event, or one without a topic.
    #[error("dead letter {id} is no event of a topic: nobody could wait for it there")]
    NoTopic {
        /// The number.
        id: u64,
    },
    /// It is no batch, and has no items.
    #[error("dead letter {id} is not a batch and has no items")]
    NotABatch {
        /// The number.
        id: u64,
    },
}
