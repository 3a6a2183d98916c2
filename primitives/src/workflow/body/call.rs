//! Durable calls of other entities from a body. The effect of a call happens once (M5).

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{Call, Never, client::call::Asked, workflow::replay::ask::canonical_hash};

/// The error type of a call that cannot fail, as [`Flow::call`](crate::workflow::Flow::call) requires.
#[diagnostic::on_unimplemented(
    message = "this call can fail, with `{Self}`",
    label = "can fail",
    note = "write `flow.try_call(..)`: its answer is a `Result`, whose error is recorded, too"
)]
pub trait CannotFail {}

impl CannotFail for Never {}

/// A call that a body makes: the entity, the verb and the parameters.
#[derive(Clone, Debug)]
pub(in crate::workflow) struct Called {
    /// The Rust type of the primitive. The engine knows the name that the app gives to this type.
    pub(in crate::workflow) of: String,
    pub(in crate::workflow) key: Bytes,
    pub(in crate::workflow) verb: &'static str,
    pub(in crate::workflow) body: Bytes,
}

impl Called {
    /// The call, and the functions that read its answer. The error says why the parameters cannot be
    /// written.
    pub(in crate::workflow) fn of<T, E>(call: Call<T, E>) -> Result<(Self, Reads<T, E>), String> {
        let Asked { definition, key, verb, body, read, thrown } = call.asked();
        let called = Self { of: definition.to_string(), key, verb, body: body? };
        Ok((called, (read, thrown)))
    }

    /// The hash of everything that a replay must ask for again.
    pub(in crate::workflow) fn hash(&self) -> u64 {
        let body = canonical_hash(&self.body).to_be_bytes();
        drystone_runtime::stable_hash(&[&self.key, self.verb.as_bytes(), &body]) >> 1
    }
}

/// The functions that read an answer and an error.
pub(in crate::workflow) type Reads<T, E> = (fn(&[u8]) -> Result<T, String>, fn(&[u8]) -> Result<E, String>);

/// A call as it is stored until it is answered.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::workflow) struct StoredCall {
    pub(in crate::workflow) definition: String,
    pub(in crate::workflow) key: KeyText,
    pub(in crate::workflow) verb: String,
    pub(in crate::workflow) body: Box<RawValue>,
}

/// A key in stored JSON: a text if the key is UTF-8, so that people can read it.
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

    /// The key as a JSON text, with invalid UTF-8 replaced.
    pub(in crate::workflow) fn shown(&self) -> Box<RawValue> {
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

/// An answer as it is recorded, in brackets: some verbs answer with an empty text, which is not JSON.
pub(in crate::workflow) fn recorded_answer(answer: &[u8]) -> Bytes {
    let mut recorded = Vec::with_capacity(answer.len() + 2);
    recorded.push(b'[');
    recorded.extend_from_slice(answer);
    recorded.push(b']');
    recorded.into()
}

/// The answer in a recorded value.
pub(in crate::workflow) fn answer_in(recorded: &[u8]) -> &[u8] {
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
