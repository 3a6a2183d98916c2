//! How a SQLite store is opened.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::Millis;

/// Where a store's own time comes from.
pub(super) type Clock = Arc<dyn Fn() -> Millis + Send + Sync>;

/// How a [`Sqlite`](super::Sqlite) store is opened. The defaults are right for one process on one machine.
#[derive(Clone)]
pub struct SqliteOptions {
    /// How many partitions a new file gets, for ever; an existing file keeps its own. Default 1.
    pub partitions: u32,
    /// The clock that leases are counted by. Default the machine's wall clock.
    pub clock: Arc<dyn Fn() -> Millis + Send + Sync>,
    /// The largest the file may grow, in pages of 4 KiB; beyond it writes are refused with
    /// [`Full`](crate::store::StoreErrorKind::Full). Default no limit.
    pub max_pages: Option<u32>,
    /// The bound of the write-ahead log, which one transaction may exceed. A thread copies the log into the file from a
    /// quarter of the bound on; beyond the bound the writer empties the log before it answers. A reader in another
    /// process that keeps a transaction open makes the log longer: then writers wait 50 ms for the reader at every
    /// quarter of the bound, and the length is logged as a warning. Default 64 MiB.
    pub wal_bytes_max: u64,
    /// How long a call waits for another process that writes to the file, before it is refused with
    /// [`Busy`](crate::store::StoreErrorKind::Busy). Default 5 seconds.
    pub busy_wait: Duration,
    /// How many reads can be under way at once. Default 3.
    pub readers: usize,
    /// Whether the whole file is checked for damage when it is opened, which takes about a second per
    /// gigabyte. Default no: damage is then found where it is met.
    pub check: bool,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            partitions: 1,
            clock: Arc::new(wall_clock),
            max_pages: None,
            wal_bytes_max: 64 << 20,
            busy_wait: Duration::from_secs(5),
            readers: 3,
            check: false,
        }
    }
}

impl fmt::Debug for SqliteOptions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("SqliteOptions")
            .field("partitions", &self.partitions)
            .field("max_pages", &self.max_pages)
            .field("wal_bytes_max", &self.wal_bytes_max)
            .field("busy_wait", &self.busy_wait)
            .field("readers", &self.readers)
            .field("check", &self.check)
            .finish_non_exhaustive()
    }
}

#[expect(clippy::disallowed_methods, reason = "a store's own clock: leases are counted by it")]
fn wall_clock() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
