//! The checkpoint thread, which moves the write-ahead log into the file while the writer works.
//!
//! Without it, SQLite would make the checkpoint in a commit, which would then take long. The thread copies
//! nearly all of the log while others write, from a quarter of the bound on, and truncates the log when there
//! are no writes. If the thread falls behind, the writer keeps the log within its bound: see `writer.rs`
//! (fB10).

use std::{
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use rusqlite::Connection;

use super::log::{Log, Task};
use crate::store::{
    StoreError, StoreErrorKind,
    sqlite::{failure::failure, writer::Writer},
};

/// The log is truncated after this time without a write.
const IDLE: Duration = Duration::from_secs(2);

/// The checkpoint thread, which ends when this value is dropped.
pub(in crate::store::sqlite) struct Checkpointer {
    log: Arc<Log>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    pub(in crate::store::sqlite) fn start(writer: Arc<Writer>) -> Result<Self, StoreError> {
        let connection = writer.opening().writing()?;
        let log = writer.log().clone();
        let thread = thread::Builder::new().name("drystone-checkpoint".into()).spawn(move || run(&writer, &connection));
        let thread = thread.map_err(|error| {
            StoreError::new(StoreErrorKind::Unavailable, "the checkpoint thread could not be started").because(error)
        })?;
        Ok(Self { log, thread: Some(thread) })
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.log.close();
        // The connection of the thread must be closed before that of the writer, which empties the log at the
        // end.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(writer: &Writer, connection: &Connection) {
    let mut emptied_at = 0;
    loop {
        match writer.log().next_task(emptied_at, IDLE) {
            Task::Copy => copy(writer, connection),
            Task::Empty => {
                // There are no writes. The pause makes a writer that begins in this moment wait for the lock;
                // otherwise it would find the file busy.
                let _pause = writer.pause();
                if writer.opening().empty_log(connection) {
                    writer.log().emptied();
                    emptied_at = writer.log().commits();
                }
            }
            Task::End => return,
        }
    }
}

/// Copies the log into the file: nearly all of it while others write, then the rest while writers wait a
/// moment.
///
/// After a complete copy, the next commit overwrites the log from its beginning, in place. Otherwise the log
/// grows, and syncing a file that grows costs more.
fn copy(writer: &Writer, connection: &Connection) {
    passive(writer.log(), connection);
    let _pause = writer.pause();
    passive(writer.log(), connection);
    writer.log().copied();
}

fn passive(log: &Log, connection: &Connection) {
    // The writer waits for this lock if the log is beyond its bound. The thread never waits for the writer
    // while it holds the lock, so there is no deadlock.
    let _checkpoint = log.begin_checkpoint();
    let copied = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
    if let Err(error) = copied.map_err(failure) {
        tracing::warn!(%error, "the write-ahead log could not be copied into the file");
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::Write,
        sync::{
            atomic::{AtomicUsize, Ordering},
            mpsc,
        },
    };

    use super::*;
    use crate::store::SqliteOptions;
    use crate::store::sqlite::{file::open::Opening, pool::Pool};

    const MAX: u64 = 1 << 20;
    /// The maximum number of log bytes per transaction in the tests below.
    const TRANSACTION: u64 = 64 << 10;
    const TRANSACTIONS: usize = 300;

    /// A store file without a checkpoint thread, as if the thread never got the processor.
    struct Place {
        opening: Opening,
        writer: Writer,
        log: Arc<Log>,
        written: AtomicUsize,
        folder: tempfile::TempDir,
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("app.db");
            let (_lock, opening) = Opening::lock(&path, &SqliteOptions::default()).unwrap();
            let connection = opening.first().unwrap();
            connection.execute_batch("CREATE TABLE notes (note BLOB)").unwrap();
            let log = Arc::new(Log::new(MAX));
            let writer = Writer::new(opening.clone(), connection, log.clone()).unwrap();
            Self { opening, writer, log, written: AtomicUsize::new(0), folder }
        }

        fn write(&self) {
            let insert = |connection: &Connection| connection.execute("INSERT INTO notes VALUES (zeroblob(16000))", []);
            self.writer.transaction_of(16_000, insert).unwrap();
            self.written.fetch_add(1, Ordering::SeqCst);
        }

        /// Writes about 6 MiB of log; returns the greatest length of the log.
        fn write_steadily(&self) -> u64 {
            let write = |_| {
                self.write();
                self.opening.log_bytes()
            };
            (0..TRANSACTIONS).map(write).max().unwrap()
        }

        /// Waits until the log is beyond its bound, then for the time of as many transactions. Asserts that
        /// the writer ends no transaction meanwhile.
        fn stall_beyond_the_bound(&self) {
            while self.opening.log_bytes() <= MAX {
                thread::yield_now();
            }
            let written = self.written.load(Ordering::SeqCst);
            let mut elsewhere = tempfile::tempfile_in(self.folder.path()).unwrap();
            for _ in 0..50 {
                elsewhere.write_all(&[0; 16_000]).and_then(|()| elsewhere.sync_all()).unwrap();
            }
            assert_eq!(self.written.load(Ordering::SeqCst), written, "the writer did not wait");
        }
    }

    /// K4, fB10
    #[test]
    fn the_log_is_bounded_if_the_checkpoint_thread_never_runs() {
        let longest = Place::new().write_steadily();
        assert!(longest > MAX / 2, "the log was hardly used: {longest}");
        assert!(longest <= MAX + TRANSACTION, "the log grew to {longest}");
    }

    /// K4, fB10
    #[test]
    fn the_log_is_bounded_if_the_checkpoint_thread_stalls_in_a_checkpoint() {
        let place = Place::new();
        thread::scope(|scope| {
            let checkpoint = place.log.begin_checkpoint();
            let writing = scope.spawn(|| place.write_steadily());
            place.stall_beyond_the_bound();
            drop(checkpoint);
            let longest = writing.join().unwrap();
            assert!(longest <= MAX + TRANSACTION, "the log grew to {longest}");
        });
    }

    /// K4, fB10
    #[test]
    fn the_log_is_bounded_if_a_read_of_ours_takes_long() {
        let place = Place::new();
        let pool = Pool::open(place.opening.clone(), place.log.clone(), 1).unwrap();
        let (begun, has_begun) = mpsc::channel();
        thread::scope(|scope| {
            let reading = scope.spawn(|| {
                pool.snapshot(|connection| {
                    connection.query_row("SELECT count(*) FROM notes", [], |_| Ok(()))?;
                    begun.send(()).unwrap();
                    place.stall_beyond_the_bound();
                    Ok(())
                })
            });
            has_begun.recv().unwrap();
            let longest = place.write_steadily();
            assert!(longest <= MAX + TRANSACTION, "the log grew to {longest}");
            reading.join().unwrap().unwrap();
        });
    }

    /// fB10
    #[test]
    fn a_copied_log_is_written_over_and_an_emptied_one_is_gone() {
        let Place { opening, writer, folder: _folder, .. } = Place::new();
        let beside = opening.writing().unwrap();
        let write = || writer.transaction(|connection| connection.execute("INSERT INTO notes VALUES (NULL)", []));
        write().unwrap();
        let length = opening.log_bytes();
        copy(&writer, &beside);
        write().unwrap();
        assert_eq!(opening.log_bytes(), length, "the second began where the first had");
        assert!(opening.empty_log(&beside));
        assert_eq!(opening.log_bytes(), 0);
    }
}
