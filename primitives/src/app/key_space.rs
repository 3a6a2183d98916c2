//! The key space of a primitive, and the store's record of whether all primitives share one (E2).

use drystone_runtime::{Name, Store};

use super::definitions::is_ours;
use crate::Error;

/// The key space of all primitives in an app with shared keys.
const SHARED_SPACE: &str = "app";

/// Returns the key space of a definition. A definition of this library's own always has a space of its own.
pub(crate) fn space_of(definition: &Name, is_shared: bool) -> Name {
    if is_shared && !is_ours(definition) { Name::new(SHARED_SPACE) } else { definition.clone() }
}

/// Records in a new store whether keys are shared, and refuses a store that has recorded the other choice.
///
/// The key space is part of every stored key, so under the other choice all entities of the store would seem
/// to be gone.
pub(crate) async fn choose(store: &dyn Store, is_shared: bool) -> Result<(), Error> {
    let asked = if is_shared { "shared" } else { "separate" };
    let recorded = store.choose("keys", asked).await?;
    if recorded == asked { Ok(()) } else { Err(Error::OtherKeys { recorded }) }
}
