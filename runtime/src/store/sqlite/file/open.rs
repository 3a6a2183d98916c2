//! Opens a store: takes the lock, makes the file, and opens connections whose settings are read back.

use std::{
    fs::OpenOptions,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, config::DbConfig, types::Value};

use super::{lock::Lock, options::SqliteOptions, schema};
use crate::store::{StoreError, StoreErrorKind, sqlite::failure::failure};

/// How long the writer waits for readers in other processes before it gives up emptying the log.
const PATIENCE: Duration = if cfg!(test) { Duration::ZERO } else { Duration::from_millis(50) };

/// The number of prepared statements cached per connection: more than there are.
const STATEMENTS: usize = 64;

/// The settings with which every connection to one file is opened.
#[derive(Clone, Debug)]
pub(in crate::store::sqlite) struct Opening(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    partitions: u32,
    max_pages: Option<u32>,
    log_bytes: u64,
    /// How long a connection waits for a lock of another process. Our own connections never wait for each
    /// other.
    busy_wait: Duration,
    check: bool,
}

impl Opening {
    /// Takes the lock beside the file, and makes the file if it does not exist.
    ///
    /// The lock must come first: opening and closing a file that another connection of this process has open
    /// releases the locks of that connection (fB12).
    pub(in crate::store::sqlite) fn lock(path: &Path, options: &SqliteOptions) -> Result<(Lock, Self), StoreError> {
        let path = absolute(path).map_err(|error| unopened(path, error))?;
        let lock = Lock::take(&path)?;
        if !path.exists() {
            private(OpenOptions::new().write(true).create_new(true)).open(&path).map_err(|e| unopened(&path, e))?;
        }
        let inner = Inner {
            path,
            partitions: options.partitions,
            max_pages: options.max_pages,
            log_bytes: options.wal_bytes_max / 4,
            busy_wait: options.busy_wait,
            check: options.check,
        };
        Ok((lock, Self(Arc::new(inner))))
    }

    /// Opens the first connection: checks that the file is a store, migrates it, and ends all leases.
    pub(in crate::store::sqlite) fn first(&self) -> Result<Connection, StoreError> {
        self.refuse_stump()?;
        let mut connection = self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        schema::check(&connection)?;
        if self.0.check {
            check_integrity(&connection)?;
        }
        self.set_up(&connection)?;
        schema::migrate(&mut connection, self.0.partitions).map_err(failure)?;
        crate::store::sqlite::lease::end_all(&connection).map_err(failure)?;
        Ok(connection)
    }

    /// Refuses a file that was cut short. SQLite treats a file shorter than its smallest page as empty, and
    /// would write a new database over the remains of a store.
    fn refuse_stump(&self) -> Result<(), StoreError> {
        let found = std::fs::metadata(&self.0.path).map_err(|error| unopened(&self.0.path, error))?;
        if found.is_file() && (1..512).contains(&found.len()) {
            let message = format!("{} was cut short, or is no store; restore it", self.0.path.display());
            return Err(StoreError::new(StoreErrorKind::Corrupt, message));
        }
        Ok(())
    }

    /// Opens a connection that may write.
    pub(in crate::store::sqlite) fn writing(&self) -> Result<Connection, StoreError> {
        let connection = self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        self.set_up(&connection)?;
        Ok(connection)
    }

    /// Opens a connection that cannot write.
    pub(in crate::store::sqlite) fn reading(&self) -> Result<Connection, StoreError> {
        let connection = self.connect(OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        set(&connection, "query_only", 1)?;
        set(&connection, "mmap_size", 0)?;
        set(&connection, "temp_store", 2)?;
        Ok(connection)
    }

    /// Copies the log into the file and truncates it. Returns whether the log is empty; a reader may have
    /// prevented that.
    pub(in crate::store::sqlite) fn empty_log(&self, connection: &Connection) -> bool {
        let empty = || connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0));
        let is_busy = connection.busy_timeout(PATIENCE).and_then(|()| empty());
        let is_busy = is_busy.and_then(|is_busy| connection.busy_timeout(self.0.busy_wait).map(|()| is_busy));
        match is_busy {
            Ok(is_busy) => !is_busy,
            Err(error) => {
                tracing::warn!(%error, "the write-ahead log could not be emptied");
                false
            }
        }
    }

    /// Returns the length of the write-ahead log. The log is never opened for this (fB12).
    pub(in crate::store::sqlite) fn log_bytes(&self) -> u64 {
        let mut log = self.0.path.clone().into_os_string();
        log.push("-wal");
        std::fs::metadata(log).map_or(0, |found| found.len())
    }

    fn connect(&self, access: OpenFlags) -> Result<Connection, StoreError> {
        // Every connection is behind a lock of ours, so SQLite's own mutex would only be a second one.
        let connection =
            Connection::open_with_flags(&self.0.path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(failure)?;
        connection.busy_timeout(self.0.busy_wait).map_err(failure)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        // Make query plans independent of bound values. Otherwise SQLite plans every `LIMIT ?` again each
        // time a value is bound, which costs more than the read.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(failure)?;
        Ok(connection)
    }

    fn set_up(&self, connection: &Connection) -> Result<(), StoreError> {
        set(connection, "journal_mode", "wal".to_owned())?;
        // FULL syncs the log at every commit, so that acknowledged means durable (E4). The other two settings
        // make a sync on macOS reach the disk; elsewhere they have no effect.
        set(connection, "synchronous", 2)?;
        set(connection, "fullfsync", 1)?;
        set(connection, "checkpoint_fullfsync", 1)?;
        // Our own thread makes the checkpoints: see `checkpoint.rs`. The log is cut back to the length below
        // when it is reset.
        set(connection, "wal_autocheckpoint", 0)?;
        set(connection, "journal_size_limit", i64::try_from(self.0.log_bytes).unwrap_or(i64::MAX))?;
        set(connection, "temp_store", 2)?;
        // An I/O error in mapped memory would raise a signal that ends the process.
        set(connection, "mmap_size", 0)?;
        set(connection, "cache_size", -32_768)?;
        set(connection, "cell_size_check", 1)?;
        set(connection, "trusted_schema", 0)?;
        match self.0.max_pages {
            Some(pages) => set_at_most(connection, i64::from(pages)),
            None => Ok(()),
        }
    }
}

/// Sets a pragma and reads it back, because SQLite silently ignores a pragma that it does not know or cannot
/// apply.
fn set(connection: &Connection, name: &str, value: impl Into<Value>) -> Result<(), StoreError> {
    let value = value.into();
    connection.pragma_update_and_check(None, name, &value, |_| Ok(())).or_else(no_answer).map_err(failure)?;
    let found: Value = connection.pragma_query_value(None, name, |row| row.get(0)).map_err(failure)?;
    if found == value {
        return Ok(());
    }
    let message = format!("SQLite would not set {name} to {value:?}: it is {found:?}");
    Err(StoreError::new(StoreErrorKind::Unsupported, message))
}

/// Limits the size of the file. A file that is already larger keeps its length and does not grow.
fn set_at_most(connection: &Connection, pages: i64) -> Result<(), StoreError> {
    let set = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
    let found = connection.pragma_update_and_check(None, "max_page_count", pages, set).map_err(failure)?;
    if found >= pages {
        return Ok(());
    }
    Err(StoreError::new(StoreErrorKind::Unsupported, format!("SQLite would not limit the file to {pages} pages")))
}

fn no_answer(error: rusqlite::Error) -> Result<(), rusqlite::Error> {
    match error {
        rusqlite::Error::QueryReturnedNoRows => Ok(()),
        other => Err(other),
    }
}

fn check_integrity(connection: &Connection) -> Result<(), StoreError> {
    let found: String = connection.pragma_query_value(None, "integrity_check", |row| row.get(0)).map_err(failure)?;
    if found == "ok" {
        return Ok(());
    }
    let message = format!("the file is damaged; restore it, or try `sqlite3 <file> .recover`: {found}");
    Err(StoreError::new(StoreErrorKind::Corrupt, message))
}

/// Returns the canonical path of the file. The lock is bound to the name, so every path to one file must give
/// the same name.
fn absolute(path: &Path) -> io::Result<PathBuf> {
    if path.exists() {
        return path.canonicalize();
    }
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(folder.canonicalize()?.join(name))
}

/// Lets only the owner read and write the file (K4). SQLite gives its log the same mode.
pub(in crate::store::sqlite) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

pub(in crate::store::sqlite) fn unopened(path: &Path, error: io::Error) -> StoreError {
    let kind = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => StoreErrorKind::ReadOnly,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreErrorKind::Full,
        _ => StoreErrorKind::Unavailable,
    };
    StoreError::new(kind, format!("{} cannot be opened: {error}", path.display())).because(error)
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;

    /// K4
    #[test]
    fn every_connection_is_set_up_as_promised() {
        let folder = tempfile::tempdir().unwrap();
        let (_lock, opening) = Opening::lock(&folder.path().join("app.db"), &SqliteOptions::default()).unwrap();
        let first = opening.first().unwrap();
        for connection in [first, opening.writing().unwrap()] {
            let found = |name| connection.pragma_query_value(None, name, |row| row.get::<_, Value>(0)).unwrap();
            assert_eq!(found("journal_mode"), Value::Text("wal".into()));
            assert_eq!(found("synchronous"), Value::Integer(2));
            assert_eq!(found("wal_autocheckpoint"), Value::Integer(0));
            assert_eq!(found("mmap_size"), Value::Integer(0));
            assert_eq!(found("journal_size_limit"), Value::Integer(16 << 20));
            assert_eq!(found("busy_timeout"), Value::Integer(5000));
        }
        let reader = opening.reading().unwrap();
        assert!(reader.execute("DELETE FROM drystone_entity", []).is_err());
        let mut limited = reader.prepare("SELECT body FROM drystone_row LIMIT ?1").unwrap();
        for limit in [1, 7, 100] {
            assert!(!limited.exists([limit]).unwrap());
        }
        assert_eq!(limited.get_status(StatementStatus::RePrepare), 0);
    }

    /// K4
    #[test]
    fn a_setting_that_is_not_taken_is_refused() {
        let connection = Connection::open_in_memory().unwrap();
        let error = set(&connection, "journal_mode", "wal".to_owned()).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Unsupported);
    }
}
