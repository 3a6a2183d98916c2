//! The address of a run: how other entities reach its operations, and how the run reaches its children.

use bytes::Bytes;
use drystone_runtime::{Key, Message, Name, stable_hash};

use crate::workflow::{
    Workflow,
    body::{call::KeyText, names::Names},
    engine::turn::Turning,
    record::{Parent, pending::Childing},
    replay::op_id::OpId,
};

/// The address of one generation of a run.
#[derive(Clone, Copy)]
pub(in crate::workflow::engine) struct RunAddress<'a> {
    key: &'a Key,
    definition: &'a Name,
    names: &'a Names,
    seed: u64,
    generation: u32,
}

impl<'a, W: Workflow> Turning<'a, W> {
    pub(in crate::workflow::engine) fn address(&self) -> RunAddress<'a> {
        RunAddress {
            key: self.seen.key,
            definition: self.seen.definition,
            names: self.seen.names,
            seed: self.record.seed,
            generation: self.record.generation,
        }
    }
}

impl RunAddress<'_> {
    /// Returns the address of an operation of this run, as other entities store it.
    pub(in crate::workflow::engine) fn of(self, op: &OpId) -> Parent {
        Parent {
            space: self.key.space.to_string(),
            key: KeyText::of(&self.key.key),
            definition: self.definition.to_string(),
            op: op.to_string(),
            generation: self.generation,
            seed: self.seed,
        }
    }

    /// Returns the key of a child. It is the same in every replay, and the hash keeps it apart from the keys
    /// that users choose.
    pub(in crate::workflow::engine) fn child_key(self, name: &[u8]) -> KeyText {
        let hash = stable_hash(&[&self.seed.to_be_bytes(), &self.generation.to_be_bytes(), name]);
        let mut key = self.key.key.to_vec();
        key.push(b'/');
        key.extend_from_slice(name);
        key.extend_from_slice(format!("~{hash:016x}").as_bytes());
        KeyText::of(&key)
    }

    /// Whether the key of a child is longer than keys may be.
    pub(in crate::workflow::engine) fn is_too_long_for(self, childing: &Childing) -> bool {
        self.names.key(&Name::from(childing.definition.clone()), childing.key.bytes()).is_err()
    }

    /// Returns a message to a child.
    pub(in crate::workflow::engine) fn to_child(
        self,
        childing: &Childing,
        verb: &'static str,
        body: Bytes,
    ) -> Option<Message> {
        let definition = Name::from(childing.definition.clone());
        // A name that is too long for a key has ended the run before.
        let to = self.names.key(&definition, childing.key.bytes()).ok()?;
        Some(Message { to, definition, verb: Name::new(verb), body })
    }
}
