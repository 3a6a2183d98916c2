//! Dead letters: what nobody could take, kept for a person (D2, D3).
//!
//! They lie in one ordinary entity, `drystone:dead_letters` under the key `dead-letters`, a row each. The kernel sends it messages that were tried
//! in vain, kinds send what they give up. All that is done with a letter is one turn of that entity, and so one commit: a
//! replay removes the letter and sends the message, or neither.
//!
//! A batch is kept by reference: its rows stay where they are, in a lane of the buffer's that is held (D2). Whoever removes
//! such a letter for good releases the lane; a replay hands it on.

mod adding;
mod client;
mod handler;
mod kept;
mod letter;
mod removing;
#[cfg(test)]
mod tests;
mod turn;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use drystone_runtime::{Definition, Key, Name, Registry};
use serde::Serialize;

pub use client::DeadLetters;
pub(crate) use kept::{event_of_run, event_of_topic};
pub use letter::{
    Counts, DeadLetter, EventLetter, EventPage, Filter, ItemCursor, Items, LetterError, Opened, Page, Payload, What,
};

use self::handler::Letters;
use crate::encode;

/// The definition of the entity that keeps dead letters.
pub(crate) const DEFINITION: Name = Name::new("drystone:dead_letters");

/// Its key.
const KEY: &[u8] = b"dead-letters";

/// What a batch that could not be flushed is sent with; its body is [`kept::Batch`].
const BATCH: &str = "batch";

/// What an item that could not be processed is sent with; its body is [`kept::Item`].
const ITEM: &str = "item";

/// What an event that nobody took is sent with; its body is [`kept::Event`].
const EVENT: &str = "event";

/// What a state that was given up is sent with; its body is [`kept::State`].
const STATE: &str = "entity";

/// What a buffer is sent with a batch of its own, to flush it again.
const REPLAY_BATCH: &str = "replay_batch";

/// What a queue is sent with an item of its own, to process it again.
const REPLAY_ITEM: &str = "replay_item";

/// How much is kept, and how long.
#[derive(Clone, Copy, Debug, Serialize)]
struct Limits {
    /// Letters at once: 10,000. One more, and the oldest is dropped.
    letters_max: u64,
    /// How long each: 30 days.
    keep_for: Duration,
}

const LIMITS: Limits = Limits { letters_max: 10_000, keep_for: Duration::from_secs(30 * 24 * 60 * 60) };

/// The address of the entity that keeps dead letters.
pub(crate) fn address() -> Key {
    Key { space: Name::new("drystone"), key: Bytes::from_static(KEY) }
}

/// With dead letters kept.
pub(crate) fn registered(registry: Registry) -> Registry {
    registered_with(registry, LIMITS)
}

fn registered_with(registry: Registry, limits: Limits) -> Registry {
    let kinds = registry.iter().map(|definition| (definition.name.clone(), definition.kind.clone())).collect();
    let definition = Definition {
        name: DEFINITION,
        kind: Name::new("dead_letters"),
        space: address().space,
        config: encode(&limits).expect("numbers can be written"),
        handler: Arc::new(Letters { limits, kinds }),
    };
    registry.with(definition).dead_letters(DEFINITION, address())
}
