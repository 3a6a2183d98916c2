//! Durable calls of other entities from a body. The effect of a call happens once (M5).

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub(crate) use crate::values::key_text::KeyText;
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
}
