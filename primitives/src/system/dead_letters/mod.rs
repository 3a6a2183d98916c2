//! Dead letters: messages, batches, items, events and states that could not be handled, kept for a person
//! (D2, D3).
//!
//! All dead letters lie in one ordinary entity, `drystone:dead_letters` under the key `dead-letters`, a row
//! each. The kernel sends it the messages that were retried in vain; kinds send what they give up. Whatever
//! is done with a letter is one turn of that entity, and so one commit: a replay removes the letter and
//! sends the message, or does neither.
//!
//! A batch is kept by reference: its rows stay where they are, in a lane of the buffer that is held (D2).
//! Removing such a letter for good releases the lane; a replay hands the lane on.

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

/// The key of that entity.
const KEY: &[u8] = b"dead-letters";

/// The verb that brings a batch which could not be flushed; the body is [`kept::Batch`].
const BATCH: &str = "batch";

/// The verb that brings an item which could not be processed; the body is [`kept::Item`].
const ITEM: &str = "item";

/// The verb that brings an event which was not taken; the body is [`kept::Event`].
const EVENT: &str = "event";

/// The verb that brings the last state of an entity which gave up; the body is [`kept::State`].
const STATE: &str = "entity";

/// The verb that sends a batch back to a buffer, to flush it again.
const REPLAY_BATCH: &str = "replay_batch";

/// The verb that sends an item back to a queue, to process it again.
const REPLAY_ITEM: &str = "replay_item";

/// The limits of the dead letters.
#[derive(Clone, Copy, Debug, Serialize)]
struct Limits {
    /// The letters that are kept at once: 10,000. Beyond that, the oldest is dropped.
    letters_max: u64,
    /// How long a letter is kept: 30 days.
    keep_for: Duration,
}

const LIMITS: Limits = Limits { letters_max: 10_000, keep_for: Duration::from_secs(30 * 24 * 60 * 60) };

/// The address of the entity that keeps dead letters.
pub(crate) fn address() -> Key {
    Key { space: Name::new("drystone"), key: Bytes::from_static(KEY) }
}

/// Registers the entity that keeps dead letters.
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
