//! The names that an app gives to the primitives that a body calls.

use std::collections::BTreeMap;

use drystone_runtime::{Error, Key, Name};

use crate::app::key_space::space_of;

/// The names of other primitives, by Rust type.
#[derive(Debug, Default)]
pub(in crate::workflow) struct Names {
    names: BTreeMap<&'static str, &'static str>,
    is_shared: bool,
}

impl Names {
    pub(in crate::workflow) fn new(
        names: impl IntoIterator<Item = (&'static str, &'static str)>,
        is_shared: bool,
    ) -> Self {
        Self { names: names.into_iter().collect(), is_shared }
    }

    /// The name of the primitive of this type. A body can only call primitives among its parameters, so the
    /// type is known.
    pub(in crate::workflow) fn of(&self, type_: &str) -> Name {
        self.names.get(type_).map_or_else(|| Name::from(type_.to_owned()), |name| Name::new(name))
    }

    /// A key of this definition, in the definition's space.
    pub(in crate::workflow) fn key(&self, definition: &Name, key: bytes::Bytes) -> Result<Key, Error> {
        Key::new(space_of(definition, self.is_shared), key)
    }
}
