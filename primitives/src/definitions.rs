//! The definitions of an app by name, for those who ask without types (E9).

use std::sync::Arc;

use drystone_runtime::{Call, Definition, Fingerprint, Key, Name, Registry};
use serde_json::Value;

use crate::{Address, Desk, Error, decode, encode};

/// The app's own definitions: those of this library are not among them.
#[derive(Clone, Debug)]
pub(crate) struct Definitions(Arc<[Arc<Definition>]>);

impl Definitions {
    pub(crate) fn of(registry: &Registry) -> Self {
        Self(registry.iter().filter(|definition| !is_ours(&definition.name)).cloned().collect())
    }

    /// The definition of this name, or an error that lists those there are.
    pub(crate) fn get(&self, name: &str) -> Result<&Definition, Error> {
        self.find(name).ok_or_else(|| Error::UnknownDefinition {
            name: name.to_owned(),
            known: self.0.iter().map(|definition| definition.name.to_string()).collect(),
        })
    }

    /// The address of a key of the definition with this name. A name that is not registered is refused, unless an entity of
    /// that definition is stored under the key (E10).
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
            // A name that is too long is unknown, too.
            Ok(None) | Err(Error::TypeMismatch { .. } | Error::TooLarge { .. }) => Err(unknown),
            Err(error) => Err(error),
        }
    }

    /// The key of an entity of a definition.
    pub(crate) fn key(&self, name: &str, key: &[u8]) -> Result<Key, Error> {
        Key::new(self.get(name)?.space.clone(), key.to_vec())
    }

    /// The configuration behind a fingerprint, if it is the one that the definition has now.
    pub(crate) fn config(&self, name: &str, fingerprint: Fingerprint) -> Option<&[u8]> {
        self.find(name).filter(|found| found.fingerprint() == fingerprint).map(|found| &found.config[..])
    }

    /// Calls an action by its name; its answer as JSON.
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

    /// A call of an action, with the JSON array of its parameters.
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

/// Whether a definition is this library's own. No field of an app has such a name.
pub(crate) fn is_ours(name: &str) -> bool {
    name.starts_with("drystone:")
}
