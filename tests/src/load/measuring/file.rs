//! Store files, and kernels over them.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Result;
use drystone::d;
use drystone_runtime::{
    Definition, Kernel, Options, Registry, Store,
    driver::TokioDriver,
    store::{Sqlite, SqliteOptions},
};

use tokio::time::sleep;

use crate::load::births::Births;

/// The longest time that a file may stay locked after it was closed.
const HELD_MAX: Duration = d!("10s");
/// The pause between two attempts to open the file.
const LOOK: Duration = d!("10ms");

/// Opens the store, as a user's program does.
pub(in crate::load) fn open(path: &Path) -> Result<Sqlite> {
    Ok(Sqlite::open(path, SqliteOptions::default())?)
}

/// Makes a file with these entities, and closes it.
pub(in crate::load) async fn make(path: &Path, births: &Births<'_>) -> Result<()> {
    births.bind(&open(path)?).await
}

/// Opens a kernel with the default options that users get.
pub(in crate::load) async fn kernel(store: Arc<dyn Store>, definition: Definition) -> Result<Kernel> {
    let registry = Registry::new().with(definition);
    let (kernel, _) = Kernel::open(store, registry, Arc::new(TokioDriver::new()?), Options::default()).await?;
    Ok(kernel)
}

/// Opens the file of an app again after it was closed in this process. The threads of the old runtime may
/// still be ending, and lock the file until then.
pub(in crate::load) async fn reopened<A, E>(open: impl AsyncFn() -> Result<A, E>) -> Result<A, E> {
    let start = Instant::now();
    loop {
        match open().await {
            Err(_) if start.elapsed() < HELD_MAX => sleep(LOOK).await,
            opened => return opened,
        }
    }
}
