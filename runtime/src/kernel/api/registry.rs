//! The definitions of this program, by name. Stores keep only the names, never code (E10).

use std::{collections::BTreeMap, fmt, sync::Arc};

use bytes::Bytes;

use super::handler::Handler;
use crate::{Error, Fingerprint, Key, Name};

/// A definition: name, behaviour and configuration.
#[derive(Clone)]
pub struct Definition {
    /// `primitive:name`: the name of the definition.
    pub name: Name,
    /// `primitive:type`: the kind of the definition.
    pub kind: Name,
    /// The space of the definition's keys.
    pub space: Name,
    /// `primitive:config`: the configuration, as views show it.
    pub config: Bytes,
    /// The behaviour.
    pub handler: Arc<dyn Handler>,
}

impl Definition {
    /// Returns the fingerprint that entities with this configuration store.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.kind, &self.config)
    }
}

impl fmt::Debug for Definition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Definition").field("name", &self.name).field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// All definitions of a program, and the address of its dead letters.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    definitions: BTreeMap<Name, Registered>,
    dead_letters: Option<(Name, Key)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Registered {
    pub(crate) definition: Arc<Definition>,
    pub(crate) fingerprint: Fingerprint,
}

impl Registry {
    /// Makes an empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a definition. It replaces an earlier definition of the same name.
    #[must_use]
    pub fn with(mut self, definition: Definition) -> Self {
        let fingerprint = definition.fingerprint();
        let registered = Registered { definition: Arc::new(definition), fingerprint };
        self.definitions.insert(registered.definition.name.clone(), registered);
        self
    }

    /// Sends dead letters to this key of this definition, as messages with the verb `letter`. Without such an
    /// address a dead letter stays in the inbox in which it could not be delivered.
    #[must_use]
    pub fn dead_letters(mut self, definition: impl Into<Name>, key: Key) -> Self {
        self.dead_letters = Some((definition.into(), key));
        self
    }

    /// Returns the definition of this name, or an error that lists the definitions that exist (E9).
    pub fn get(&self, name: &str) -> Result<&Arc<Definition>, Error> {
        self.find(name).map(|found| &found.definition).ok_or_else(|| Error::UnknownDefinition {
            name: name.to_owned(),
            known: self.definitions.keys().map(ToString::to_string).collect(),
        })
    }

    /// Iterates over all definitions, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Definition>> {
        self.definitions.values().map(|found| &found.definition)
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Registered> {
        self.definitions.get(name)
    }

    pub(crate) fn letter_box(&self) -> Option<&(Name, Key)> {
        self.dead_letters.as_ref()
    }
}
