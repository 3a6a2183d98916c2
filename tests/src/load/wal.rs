//! The file of the bare writer: opened with the options of the real store, its log kept short in its manner.
//!
//! What is copied from `store/sqlite` (`open.rs`, `checkpoint.rs`, `writer.rs`) must stay as it is there, or the
//! ratios compare two kinds of file.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use rusqlite::Connection;

/// Above this the writer itself stops to empty the log.
const EMPTY_ABOVE: u64 = 64 << 20;
/// Above this a thread copies it back, beside the writer.
const COPY_ABOVE: u64 = EMPTY_ABOVE / 4;
/// So much is written before the writer asks how long the log is, each row taken for so many bytes.
const LOOK_BYTES: u64 = 1 << 20;
const ROW_BYTES: u64 = 4 * 4_096;
/// After so long without a commit the log is cut to nothing.
const IDLE: Duration = Duration::from_secs(2);
/// Between two rounds the log is free after this at the latest.
const PATIENCE: Duration = Duration::from_secs(5);

/// A connection with the file options of the real store.
pub(super) fn connect(path: &Path) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.execute_batch(&format!(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0; \
         PRAGMA journal_size_limit={COPY_ABOVE}; PRAGMA temp_store=2; PRAGMA mmap_size=0; \
         PRAGMA cache_size=-32768; PRAGMA cell_size_check=1; PRAGMA trusted_schema=0;"
    ))?;
    let synchronous: i64 = connection.pragma_query_value(None, "synchronous", |row| row.get(0))?;
    ensure!(synchronous == 2, "SQLite would not set synchronous to FULL");
    Ok(connection)
}

/// A subject's log, seen from beside: emptied before each round, so that all of them begin alike. To extend a
/// log costs several times what writing over an old one does, and which it is hangs on rounds long past.
pub(super) struct Log(Connection);

impl Log {
    pub(super) fn of(path: &Path) -> Result<Self> {
        connect(path).map(Self)
    }

    /// The subject's own checkpointer may be at it: SQLite does not wait for that one.
    pub(super) fn empty(&self) -> Result<()> {
        let started = Instant::now();
        while self.0.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0))? {
            ensure!(started.elapsed() < PATIENCE, "the log is in use between two rounds");
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

/// The writer's end of the log.
pub(super) struct Wal {
    shared: Arc<Shared>,
    nudge: SyncSender<()>,
    empty_above: u64,
    /// About how much was written since its length was last asked for.
    unseen: u64,
}

struct Shared {
    file: PathBuf,
    copy_above: AtomicU64,
    commits: AtomicU64,
}

impl Wal {
    /// Starts the thread that checkpoints; it ends when this is dropped.
    pub(super) fn start(path: &Path) -> Result<Self> {
        let mut file = path.as_os_str().to_owned();
        file.push("-wal");
        let copy_above = AtomicU64::new(COPY_ABOVE);
        let shared = Arc::new(Shared { file: file.into(), copy_above, commits: AtomicU64::new(0) });
        let (nudge, nudged) = sync_channel(1);
        let (connection, thread) = (connect(path)?, shared.clone());
        thread::Builder::new().name("bare-checkpoint".into()).spawn(move || thread.run(&connection, &nudged))?;
        Ok(Self { shared, nudge, empty_above: EMPTY_ABOVE, unseen: 0 })
    }

    /// Called by the writer after each commit, with how many rows it wrote.
    pub(super) fn written(&mut self, connection: &Connection, rows: usize) -> Result<()> {
        self.shared.commits.fetch_add(1, Relaxed);
        self.unseen += rows as u64 * ROW_BYTES;
        if self.unseen < LOOK_BYTES {
            return Ok(());
        }
        self.unseen = 0;
        let bytes = self.shared.bytes();
        if bytes <= EMPTY_ABOVE {
            self.empty_above = EMPTY_ABOVE;
        }
        if bytes <= COPY_ABOVE {
            self.shared.copy_above.store(COPY_ABOVE, Relaxed);
        }
        if bytes > self.shared.copy_above.load(Relaxed) {
            // Full means that the thread is about to copy already.
            let _ = self.nudge.try_send(());
        }
        if bytes > self.empty_above {
            self.empty_above = bytes + COPY_ABOVE;
            checkpoint(connection, "PRAGMA wal_checkpoint(TRUNCATE)")?;
        }
        Ok(())
    }
}

impl Shared {
    fn bytes(&self) -> u64 {
        fs::metadata(&self.file).map_or(0, |found| found.len())
    }

    fn run(&self, connection: &Connection, nudged: &Receiver<()>) {
        let (mut before, mut emptied_at) = (0, 0);
        loop {
            let done = match nudged.recv_timeout(IDLE) {
                Ok(()) => self.copy(connection),
                Err(RecvTimeoutError::Timeout) if before == self.commits.load(Relaxed) && before != emptied_at => {
                    emptied_at = before;
                    checkpoint(connection, "PRAGMA wal_checkpoint(TRUNCATE)")
                }
                Err(RecvTimeoutError::Timeout) => Ok(()),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if let Err(error) = done {
                eprintln!("the log of the bare writer could not be copied: {error:#}");
            }
            before = self.commits.load(Relaxed);
        }
    }

    fn copy(&self, connection: &Connection) -> Result<()> {
        checkpoint(connection, "PRAGMA wal_checkpoint(PASSIVE)")?;
        // The log begins anew only when the writer finds it copied whole; until then not again at every commit.
        self.copy_above.store(self.bytes() + COPY_ABOVE / 4, Relaxed);
        Ok(())
    }
}

fn checkpoint(connection: &Connection, sql: &str) -> Result<()> {
    Ok(connection.query_row(sql, [], |_| Ok(()))?)
}
