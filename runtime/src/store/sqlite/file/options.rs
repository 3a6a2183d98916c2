//! The options of a SQLite store.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::Millis;

/// The clock of a store.
pub(in crate::store::sqlite) type Clock = Arc<dyn Fn() -> Millis + Send + Sync>;

/// The options of a [`Sqlite`](crate::store::sqlite::Sqlite) store. The defaults suit a single process on a single machine.
#[derive(Clone)]
pub struct SqliteOptions {
    /// The number of partitions of a new file, which never changes; an existing file keeps its own number.
    /// Default 1.
    pub partitions: u32,
    /// The clock by which leases expire. Default: the machine's wall clock.
    pub clock: Arc<dyn Fn() -> Millis + Send + Sync>,
    /// The maximum size of the file, in pages of 4 KiB. Writes beyond it are refused with
    /// [`Full`](crate::store::StoreErrorKind::Full). Default: no limit.
    pub max_pages: Option<u32>,
    /// The bound of the write-ahead log; a single transaction may exceed it. From a quarter of the bound on,
    /// a thread copies the log into the file. Beyond the bound, the writer empties the log before it answers.
    ///
    /// A reader in another process that keeps a transaction open makes the log longer. The writer then waits
    /// 50 ms for the reader at every further quarter of the bound, and logs the length as a warning. Default
    /// 64 MiB.
    pub wal_bytes_max: u64,
    /// How long a call waits for a writer in another process before it is refused with
    /// [`Busy`](crate::store::StoreErrorKind::Busy). Default 5 seconds.
    pub busy_wait: Duration,
    /// The maximum number of concurrent reads; further reads wait. Default 3.
    pub readers: usize,
    /// Whether opening the store checks the whole file for damage, which takes about a second per gigabyte.
    /// Default: no, damage is then found when the damaged part is read.
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
