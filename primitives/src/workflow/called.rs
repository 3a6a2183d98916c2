//! Calls of other entities from a body: durable, and done once (M5).

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::ask::canonical_hash;
use crate::{Call, Never, call::Asked};

/// The error of a call that has none, as [`Flow::call`](super::Flow::call) takes it.
#[diagnostic::on_unimplemented(
    message = "this call can fail, with `{Self}`",
    label = "can fail",
    note = "write `flow.try_call(..)`: its answer is a `Result`, whose error is recorded, too"
)]
pub trait CannotFail {}

impl CannotFail for Never {}

/// What is asked of which entity, as a body says it.
#[derive(Clone, Debug)]
pub(super) struct Called {
    /// The type of the primitive: under which name the app has it, the engine knows.
    pub(super) of: String,
    pub(super) key: Bytes,
    pub(super) verb: &'static str,
    pub(super) body: Bytes,
}

impl Called {
    /// The call, and how its answer is read; the reason if it cannot be written.
    pub(super) fn of<T, E>(call: Call<T, E>) -> Result<(Self, Reads<T, E>), String> {
        let Asked { definition, key, verb, body, read, thrown } = call.asked();
        let called = Self { of: definition.to_string(), key, verb, body: body? };
        Ok((called, (read, thrown)))
    }

    /// What a replay must ask for again.
    pub(super) fn hash(&self) -> u64 {
        let body = canonical_hash(&self.body).to_be_bytes();
        drystone_runtime::stable_hash(&[&self.key, self.verb.as_bytes(), &body]) >> 1
    }
}

/// The functions that read an answer and an error.
pub(super) type Reads<T, E> = (fn(&[u8]) -> Result<T, String>, fn(&[u8]) -> Result<E, String>);

/// The same call as it is stored, until it is answered.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredCall {
    pub(super) definition: String,
    pub(super) key: KeyText,
    pub(super) verb: String,
    pub(super) body: Box<RawValue>,
}

/// A key, as people can read it where it is text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum KeyText {
    Text(String),
    Bytes(Vec<u8>),
}

impl KeyText {
    pub(crate) fn of(key: &[u8]) -> Self {
        match std::str::from_utf8(key) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Bytes(key.to_vec()),
        }
    }

    /// As a text, in JSON.
    pub(super) fn shown(&self) -> Box<RawValue> {
        let text = String::from_utf8_lossy(&self.bytes()).into_owned();
        serde_json::value::to_raw_value(&text).expect("a text is JSON")
    }

    pub(crate) fn bytes(&self) -> Bytes {
        match self {
            Self::Text(text) => Bytes::copy_from_slice(text.as_bytes()),
            Self::Bytes(bytes) => Bytes::copy_from_slice(bytes),
        }
    }
}

/// An answer as it is recorded: some verbs answer with no text at all, which is no JSON.
pub(super) fn recorded_answer(answer: &[u8]) -> Bytes {
    let mut recorded = Vec::with_capacity(answer.len() + 2);
    recorded.push(b'[');
    recorded.extend_from_slice(answer);
    recorded.push(b']');
    recorded.into()
}

/// The answer that was recorded.
pub(super) fn answer_in(recorded: &[u8]) -> &[u8] {
    recorded.strip_prefix(b"[").and_then(|inner| inner.strip_suffix(b"]")).unwrap_or(recorded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_back_as_they_were() {
        for answer in [&b""[..], b"null", b"[1,2]", b"\"]\""] {
            assert_eq!(answer_in(&recorded_answer(answer)), answer);
        }
    }

    #[test]
    fn keys_come_back_whether_they_are_text_or_not() {
        for key in [&b"order-9"[..], b"\xff\x00"] {
            let written = crate::encode(&KeyText::of(key)).unwrap();
            assert_eq!(crate::decode::<KeyText>(&written).unwrap().bytes(), key);
        }
    }
}
