//! The file of the bare writer. It has the options of the real store, and its log is kept short in the same
//! way.
//!
//! The code copied from `store/sqlite` (`open.rs`, `checkpoint.rs`, `writer.rs`) must stay the same as
//! there. Otherwise the ratios compare two kinds of files.

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

/// Above this size the writer itself stops to empty the log.
const EMPTY_ABOVE: u64 = 64 << 20;
/// Above this size a thread copies the log back, while the writer continues.
const COPY_ABOVE: u64 = EMPTY_ABOVE / 4;
/// The writer checks the length of the log after this many written bytes, estimated per row.
const LOOK_BYTES: u64 = 1 << 20;
const ROW_BYTES: u64 = 4 * 4_096;
/// After this time without a commit the log is truncated.
const IDLE: Duration = Duration::from_secs(2);
/// The time limit for the log to become free between two rounds.
const PATIENCE: Duration = Duration::from_secs(5);

/// Opens a connection with the file options of the real store.
pub(in crate::load) fn connect(path: &Path) -> Result<Connection> {
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

/// The log of a subject, which is emptied before each round so that all rounds begin alike. Extending a log
/// costs several times as much as overwriting an old one. Without this the cost would depend on earlier
/// rounds.
pub(in crate::load) struct Log(Connection);

impl Log {
    pub(in crate::load) fn of(path: &Path) -> Result<Self> {
        connect(path).map(Self)
    }

    /// Empties the log. Retries, because SQLite does not wait for the subject's own checkpoint.
    pub(in crate::load) fn empty(&self) -> Result<()> {
        let started = Instant::now();
        while self.0.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0))? {
            ensure!(started.elapsed() < PATIENCE, "the log is in use between two rounds");
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

/// The writer's side of the log.
pub(in crate::load) struct Wal {
    shared: Arc<Shared>,
    nudge: SyncSender<()>,
    empty_above: u64,
    /// An estimate of the bytes written since the length of the log was last checked.
    unseen: u64,
}

struct Shared {
    file: PathBuf,
    copy_above: AtomicU64,
    commits: AtomicU64,
}

impl Wal {
    /// Starts the thread that checkpoints. The thread ends when this value is dropped.
    pub(in crate::load) fn start(path: &Path) -> Result<Self> {
        let mut file = path.as_os_str().to_owned();
        file.push("-wal");
        let copy_above = AtomicU64::new(COPY_ABOVE);
        let shared = Arc::new(Shared { file: file.into(), copy_above, commits: AtomicU64::new(0) });
        let (nudge, nudged) = sync_channel(1);
        let (connection, thread) = (connect(path)?, shared.clone());
        thread::Builder::new().name("bare-checkpoint".into()).spawn(move || thread.run(&connection, &nudged))?;
        Ok(Self { shared, nudge, empty_above: EMPTY_ABOVE, unseen: 0 })
    }

    /// Called by the writer after each commit, with the number of written rows.
    pub(in crate::load) fn written(&mut self, connection: &Connection, rows: usize) -> Result<()> {
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
            // If the channel is full, the thread is about to copy already.
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
        // The log restarts only when the writer finds all of it copied. Raise the limit, so that the thread
        // does not copy after every commit until then.
        self.copy_above.store(self.bytes() + COPY_ABOVE / 4, Relaxed);
        Ok(())
    }
}

fn checkpoint(connection: &Connection, sql: &str) -> Result<()> {
    Ok(connection.query_row(sql, [], |_| Ok(()))?)
}
