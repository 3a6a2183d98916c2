//! Which definitions this program has, by name. Only names are stored, never code (E10).

use std::{collections::BTreeMap, fmt, sync::Arc};

use bytes::Bytes;

use super::{Fingerprint, Handler, Key, Name};
use crate::Error;

/// One definition: a name, how it behaves and with what.
#[derive(Clone)]
pub struct Definition {
    /// `primitive:name`.
    pub name: Name,
    /// `primitive:type`.
    pub kind: Name,
    /// The space of its keys.
    pub space: Name,
    /// `primitive:config`, as it is shown.
    pub config: Bytes,
    /// What it does.
    pub handler: Arc<dyn Handler>,
}

impl Definition {
    /// What entities made with this configuration carry.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.kind, &self.config)
    }
}

impl fmt::Debug for Definition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Definition").field("name", &self.name).field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// All definitions of a program, and where its dead letters go.
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
    /// An empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// With this definition; a second one of the same name replaces the first.
    #[must_use]
    pub fn with(mut self, definition: Definition) -> Self {
        let fingerprint = definition.fingerprint();
        let registered = Registered { definition: Arc::new(definition), fingerprint };
        self.definitions.insert(registered.definition.name.clone(), registered);
        self
    }

    /// With dead letters sent, as messages with the verb `letter`, to this key of this definition. Without
    /// one they stay in the inbox that they died in.
    #[must_use]
    pub fn dead_letters(mut self, definition: impl Into<Name>, key: Key) -> Self {
        self.dead_letters = Some((definition.into(), key));
        self
    }

    /// The definition of this name, or an error that lists those there are (E9).
    pub fn get(&self, name: &str) -> Result<&Arc<Definition>, Error> {
        self.find(name).map(|found| &found.definition).ok_or_else(|| Error::UnknownDefinition {
            name: name.to_owned(),
            known: self.definitions.keys().map(ToString::to_string).collect(),
        })
    }

    /// All definitions, by name.
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
