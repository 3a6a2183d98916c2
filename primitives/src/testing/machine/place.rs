//! Where the state of a world is kept, longer than its processes live.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use drystone_runtime::store::{Memory, Sqlite, SqliteOptions, Store, StoreError, StoreErrorKind};

use super::executor::Executor;

/// A store that can be opened again.
pub(in crate::testing) enum Place {
    /// In memory, for as long as the world exists.
    Memory(Arc<Memory>),
    /// In a file that the test chose.
    File(PathBuf),
    /// In a file of the world's own.
    Own(Folder),
}

impl Place {
    pub(in crate::testing) fn memory(executor: &Executor) -> Self {
        let clock = executor.clone();
        Self::Memory(Arc::new(Memory::new(move || clock.wall(), 1)))
    }

    /// Opens the store for a new process.
    pub(in crate::testing) fn open(&self, executor: &Executor) -> Result<Arc<dyn Store>, StoreError> {
        Ok(match self {
            Self::Memory(memory) => memory.clone(),
            Self::File(path) => Arc::new(sqlite(path, executor)?),
            Self::Own(folder) => Arc::new(sqlite(&folder.0.join("world.db"), executor)?),
        })
    }
}

fn sqlite(path: &Path, executor: &Executor) -> Result<Sqlite, StoreError> {
    let clock = executor.clone();
    Sqlite::open(path, SqliteOptions { clock: Arc::new(move || clock.wall()), ..SqliteOptions::default() })
}

/// A folder of the world's own, which is removed when this value is dropped.
pub(in crate::testing) struct Folder(PathBuf);

impl Folder {
    /// Makes a new folder in the system's folder for temporary files.
    pub(in crate::testing) fn new() -> Result<Self, StoreError> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("drystone-{}-{number}", std::process::id()));
            match std::fs::create_dir(&path) {
                Ok(()) => return Ok(Self(path)),
                // Left by an earlier program with the same process id.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    let message = format!("no folder {} for a world: {error}", path.display());
                    return Err(StoreError::new(StoreErrorKind::Unavailable, message));
                }
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, folder = %self.0.display(), "the folder of a world is left behind");
        }
    }
}
