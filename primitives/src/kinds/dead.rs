//! What a kind sends to the dead letters when it gives something up (A3, B5, D2).

use bytes::Bytes;
use drystone_runtime::{Key, Message, Name};
use serde::Serialize;

use crate::{Failure, Timestamp, encode, kind::Turn};

/// The entity that keeps dead letters.
const TO: (&str, &[u8]) = ("drystone", b"dead-letters");
const DEFINITION: &str = "drystone:dead_letters";

/// Where it came from, why and when it died.
#[derive(Debug, Serialize)]
pub(super) struct Letter<W> {
    definition: String,
    /// The key as text, with what is not printable escaped, and as it is.
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

/// The message that hands a dead message over to the dead letters.
pub(crate) fn dead_message(letter: Bytes) -> Message {
    let to = Key { space: Name::new(TO.0), key: Bytes::from_static(TO.1) };
    Message { to, definition: Name::new(DEFINITION), verb: Name::new("letter"), body: letter }
}

/// The message that hands `what` over to the dead letters, as the only parameter of `verb`; `None` for an entity that is
/// just being bound, which cannot have failed yet.
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
