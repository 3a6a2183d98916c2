//! The lock beside the file: one engine at a time has a store open, and a second one learns which process has
//! it.
//!
//! The operating system holds the lock, and releases it when the process ends, however it ends. The process
//! id in the lock file is only shown to people; no decision depends on it. So the id of a killed process does
//! not block the next one.

use std::{
    collections::BTreeSet,
    fs::{File, OpenOptions, TryLockError},
    io::{Read, Write},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::open::{private, unopened};
use crate::store::{StoreError, StoreErrorKind};

/// The open stores of this process. The id in the lock file cannot show this, because a process in another
/// container may have the same id.
static HELD: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// The lock of one store, held until it is dropped.
#[derive(Debug)]
pub(in crate::store::sqlite) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Takes the lock of the store at `path`. The error names the process with the lock.
    pub(in crate::store::sqlite) fn take(path: &Path) -> Result<Self, StoreError> {
        let mut beside = path.as_os_str().to_owned();
        beside.push(".lock");
        let beside = PathBuf::from(beside);
        let mut file = private(OpenOptions::new().read(true).write(true).create(true).truncate(false))
            .open(&beside)
            .map_err(|error| unopened(&beside, error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_use(path, file)),
            Err(TryLockError::Error(error)) => return Err(unopened(&beside, error)),
        }
        held().insert(path.to_owned());
        // Ignore an error: the store must open on a full disk as well, and the id is only shown to people.
        let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok(Self { file, path: path.to_owned() })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = self.file.set_len(0);
        held().remove(&self.path);
    }
}

fn held() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

fn in_use(path: &Path, lock: File) -> StoreError {
    let path_shown = path.display();
    let message = if held().contains(path) {
        format!("{path_shown} is open in this process already; shut that runtime down first")
    } else {
        let holder = holder(lock).map_or_else(|| "another process".to_owned(), |id| format!("process {id}"));
        format!("{path_shown} is in use by {holder}; end that process, or wait for it with `wait_for_file`")
    };
    StoreError::new(StoreErrorKind::Locked, message)
}

/// Returns the id of the process that holds the lock, if the file names one and this process can see it.
fn holder(mut lock: File) -> Option<u32> {
    let mut text = String::new();
    lock.read_to_string(&mut text).ok()?;
    let id = text.trim().parse().ok()?;
    // After a kill, the file names the dead process until the next holder writes its id. A holder with our
    // own id runs in another container.
    (id != std::process::id() && may_live(id)).then_some(id)
}

fn may_live(id: u32) -> bool {
    !Path::new("/proc/self").exists() || Path::new("/proc").join(id.to_string()).exists()
}
