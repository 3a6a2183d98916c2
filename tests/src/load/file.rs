//! Store files, and kernels over them.

use std::{path::Path, sync::Arc};

use anyhow::Result;
use drystone_runtime::{
    Definition, Kernel, Options, Registry, Store,
    driver::TokioDriver,
    store::{Sqlite, SqliteOptions},
};

use super::births::Births;

/// Opens the store, as a user's program does.
pub(super) fn open(path: &Path) -> Result<Sqlite> {
    Ok(Sqlite::open(path, SqliteOptions::default())?)
}

/// Makes a file with these entities, and closes it.
pub(super) async fn make(path: &Path, births: &Births<'_>) -> Result<()> {
    births.bind(&open(path)?).await
}

/// A kernel with the defaults that users get.
pub(super) async fn kernel(store: Arc<dyn Store>, definition: Definition) -> Result<Kernel> {
    let registry = Registry::new().with(definition);
    let (kernel, _) = Kernel::open(store, registry, Arc::new(TokioDriver::new()?), Options::default()).await?;
    Ok(kernel)
}
