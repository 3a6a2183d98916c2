//! The message that a kind sends to the dead letters when it gives something up (A3, B5, D2).

use bytes::Bytes;
use drystone_runtime::{Key, Message, Name};
use serde::Serialize;

use crate::{Failure, Timestamp, encode, kind::Turn};

/// The address of the entity that keeps dead letters: its key space and key.
const TO: (&str, &[u8]) = ("drystone", b"dead-letters");
const DEFINITION: &str = "drystone:dead_letters";

/// The common part of all dead letters: the origin, the error and the time of death.
#[derive(Debug, Serialize)]
pub(super) struct Letter<W> {
    definition: String,
    /// The key as text, with unprintable bytes escaped. The bytes as they are follow in `key_bytes`.
    key: String,
    key_bytes: Vec<u8>,
    space: String,
    kind: &'static str,
    entity: u64,
    attempts: u32,
    error: Failure,
    died_at: Timestamp,
    #[serde(flatten)]
    what: W,
}

/// Returns the message that takes a dead message to the dead letters.
pub(crate) fn dead_message(letter: Bytes) -> Message {
    let to = Key { space: Name::new(TO.0), key: Bytes::from_static(TO.1) };
    Message { to, definition: Name::new(DEFINITION), verb: Name::new("letter"), body: letter }
}

/// Returns the message that takes `what` to the dead letters, as the only parameter of `verb`. Returns
/// `None` for an entity that this turn binds, because a new entity has no failures.
pub(super) fn message<R, W: Serialize>(
    turn: &Turn<'_, R>,
    (kind, verb): (&'static str, &'static str),
    (attempts, error): (u32, &Failure),
    what: W,
) -> Option<Message> {
    let key = turn.key();
    let letter = Letter {
        definition: turn.definition()?.to_string(),
        key: key.key.escape_ascii().to_string(),
        key_bytes: key.key.to_vec(),
        space: key.space.to_string(),
        kind,
        entity: turn.id()?.0,
        attempts,
        error: error.clone(),
        died_at: turn.now.into(),
        what,
    };
    let to = Key { space: Name::new(TO.0), key: Bytes::from_static(TO.1) };
    let body = encode(&[letter]).ok()?;
    Some(Message { to, definition: Name::new(DEFINITION), verb: Name::new(verb), body })
}
