//! Collects the definitions of an app for the kernel.

use std::{marker::PhantomData, sync::Arc};

use drystone_runtime::{Definition, Registry};

use crate::{Error, Runs};

/// Registers the primitives of the app `A`, each under the name of its field.
pub struct Registrar<D, A> {
    services: Arc<D>,
    is_shared: bool,
    definitions: Result<Vec<Definition>, Error>,
    app: PhantomData<fn() -> A>,
}

impl<D: Send + Sync + 'static, A: 'static> Registrar<D, A> {
    pub(crate) fn new(services: D, is_shared: bool) -> Self {
        Self { services: Arc::new(services), is_shared, definitions: Ok(Vec::new()), app: PhantomData }
    }

    /// Registers a primitive.
    pub fn add<T: Runs<D, A>>(&mut self, name: &'static str) {
        let definition = T::define(name, self.services.clone(), self.is_shared);
        match (&mut self.definitions, definition) {
            (Ok(definitions), Ok(definition)) => definitions.push(definition),
            (definitions @ Ok(_), Err(error)) => *definitions = Err(error),
            (Err(_), _) => {}
        }
    }

    pub(crate) fn finish(self) -> Result<Registry, Error> {
        Ok(self.definitions?.into_iter().fold(Registry::new(), Registry::with))
    }
}

impl<D, A> std::fmt::Debug for Registrar<D, A> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Registrar").finish_non_exhaustive()
    }
}
