//! The definitions of an app by name, for untyped calls (E9).

use std::sync::Arc;

use drystone_runtime::{Call, Definition, Fingerprint, Key, Name, Registry};
use serde_json::Value;

use crate::{Address, Desk, Error, decode, encode};

/// The app's own definitions, without those of this library.
#[derive(Clone, Debug)]
pub(crate) struct Definitions(Arc<[Arc<Definition>]>);

impl Definitions {
    pub(crate) fn of(registry: &Registry) -> Self {
        Self(registry.iter().filter(|definition| !is_ours(&definition.name)).cloned().collect())
    }

    /// Returns the definition of this name, or an error that lists the known names.
    pub(crate) fn get(&self, name: &str) -> Result<&Definition, Error> {
        self.find(name).ok_or_else(|| Error::UnknownDefinition {
            name: name.to_owned(),
            known: self.0.iter().map(|definition| definition.name.to_string()).collect(),
        })
    }

    /// Returns the address of a key of the definition with this name. A name that is not registered is
    /// refused, unless an entity of that definition is stored under the key (E10).
    pub(crate) async fn address(&self, desk: &Desk, name: &str, key: &[u8]) -> Result<Address, Error> {
        let unknown = match self.get(name) {
            Ok(definition) => return Ok(desk.address(definition.name.clone(), key)),
            Err(unknown) => unknown,
        };
        if is_ours(name) {
            return Err(unknown);
        }
        let address = desk.address(name.to_owned(), key);
        match address.view().await {
            Ok(Some(_)) => Ok(address),
            // A name that is too long cannot be stored, so it is unknown, too.
            Ok(None) | Err(Error::TypeMismatch { .. } | Error::TooLarge { .. }) => Err(unknown),
            Err(error) => Err(error),
        }
    }

    /// Returns the key of an entity of a definition.
    pub(crate) fn key(&self, name: &str, key: &[u8]) -> Result<Key, Error> {
        Key::new(self.get(name)?.space.clone(), key.to_vec())
    }

    /// Returns the configuration with this fingerprint, if the definition has it at present.
    pub(crate) fn config(&self, name: &str, fingerprint: Fingerprint) -> Option<&[u8]> {
        self.find(name).filter(|found| found.fingerprint() == fingerprint).map(|found| &found.config[..])
    }

    /// Calls an action by its name. Returns its answer as JSON.
    pub(crate) async fn ask(
        &self,
        desk: &Desk,
        name: &str,
        key: &[u8],
        action: &str,
        params: &Value,
    ) -> Result<Value, Error> {
        let answer = desk.clone().call(self.call(name, key, action, params)?).await?;
        if answer.is_empty() {
            return Ok(Value::Null);
        }
        decode(&answer).map_err(|reason| Error::Malformed { verb: action.to_owned(), reason })
    }

    /// Makes a call of an action, with the JSON array of its parameters.
    fn call(&self, name: &str, key: &[u8], action: &str, params: &Value) -> Result<Call, Error> {
        let definition = self.get(name)?.name.clone();
        let malformed = |reason| Error::Malformed { verb: action.to_owned(), reason };
        let body = match params {
            Value::Array(_) => encode(params).map_err(malformed)?,
            Value::Null => "[]".into(),
            _ => {
                return Err(malformed("parameters are a JSON array, in order; one of them alone is `[it]`".to_owned()));
            }
        };
        Ok(Call::new(definition, key.to_vec(), Name::from(action.to_owned()), body))
    }

    fn find(&self, name: &str) -> Option<&Definition> {
        self.0.iter().find(|definition| definition.name == *name).map(|definition| &**definition)
    }
}

/// Whether a definition is this library's own. No field of an app can have such a name.
pub(crate) fn is_ours(name: &str) -> bool {
    name.starts_with("drystone:")
}
