//! A transactional action that was asked for, as its entity records it (W6).

use std::time::Duration;

use bytes::Bytes;
use drystone_runtime::{Idempotency, Key, Mark, MessageId, Name, Version};
use serde::{Deserialize, Serialize};

/// A recorded action. The record exists from the commit that takes the call to the commit that takes the end
/// of the action. The parameters are in a row, the claim.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Asked {
    /// The name of its work, `action:put/1-7`. Callers who wait for the answer are held under this name.
    pub(super) work: String,
    /// The attempt. Only a message is tried again.
    pub(super) attempt: u32,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::values::stored::mark")]
    pub(super) mark: Option<Mark>,
    /// The caller's idempotency key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) once: Option<Once>,
    /// The message that asked for the action; `None` for a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<Sent>,
}

/// An idempotency key, as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Once {
    key: Vec<u8>,
    hash: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    remember_for_ms: Option<u64>,
}

/// A message, as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Sent {
    version: u64,
    index: u32,
    from_space: String,
    from_key: Vec<u8>,
    /// The length of the body.
    pub(super) bytes: usize,
}

impl Asked {
    /// Whether a call with this key repeats the recorded call.
    pub(super) fn is_repeated_by(&self, once: &Idempotency) -> bool {
        self.once.as_ref().is_some_and(|own| own.key == once.key)
    }

    /// Whether such a repeat has the same action and parameters.
    pub(super) fn is_same(&self, once: &Idempotency) -> bool {
        self.once.as_ref().is_some_and(|own| own.hash == once.hash)
    }

    /// The name under which callers are held.
    pub(super) fn name(&self) -> Name {
        Name::from(self.work.clone())
    }
}

impl Once {
    pub(super) fn of(once: &Idempotency) -> Self {
        let remember_for_ms = once.remember_for.map(|span| span.as_millis() as u64);
        Self { key: once.key.to_vec(), hash: once.hash, remember_for_ms }
    }

    pub(super) fn idempotency(self) -> Idempotency {
        let remember_for = self.remember_for_ms.map(Duration::from_millis);
        Idempotency { key: self.key.into(), hash: self.hash, remember_for }
    }
}

impl Sent {
    pub(super) fn of(id: MessageId, from: &Key, body: &Bytes) -> Self {
        Self {
            version: id.version.0,
            index: id.index,
            from_space: from.space.to_string(),
            from_key: from.key.to_vec(),
            bytes: body.len(),
        }
    }

    pub(super) fn id(&self) -> MessageId {
        MessageId { version: Version(self.version), index: self.index }
    }

    pub(super) fn from(&self) -> Key {
        Key { space: Name::from(self.from_space.clone()), key: self.from_key.clone().into() }
    }
}
