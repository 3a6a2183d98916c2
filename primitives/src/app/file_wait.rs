//! Opening a file that another process may still have open: the second half of a rolling restart.

use std::{path::Path, time::Duration};

use drystone_runtime::{
    Driver,
    store::{Sqlite, SqliteOptions, StoreError, StoreErrorKind},
};

/// How often the file is checked. A thread could also wait for the lock itself, but such a wait has no
/// deadline.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Opens the file. Waits up to `limit` for another process that has the file open.
pub(crate) async fn open(path: &Path, limit: Duration, driver: &dyn Driver) -> Result<Sqlite, StoreError> {
    let until = driver.monotonic() + limit;
    loop {
        let opened = Sqlite::open(path, SqliteOptions::default());
        let now = driver.monotonic();
        if now >= until || !opened.as_ref().is_err_and(|error| error.kind() == StoreErrorKind::Locked) {
            return opened;
        }
        driver.sleep_until((now + LOOK_EVERY).min(until)).await;
    }
}
