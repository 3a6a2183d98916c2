//! Moving the write-ahead log into the file, beside the writer.
//!
//! SQLite would do it in whichever commit comes next, which then takes long. Here a thread does nearly all of
//! it while others write, from a quarter of the limit on, and cuts the log to nothing when nobody writes. Only
//! beyond the limit, when readers were in the way, does the writer itself stop for it (fB10).

use std::{
    sync::{Arc, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use rusqlite::Connection;

use super::{
    failure::failure,
    writer::{Log, Writer},
};
use crate::store::{StoreError, StoreErrorKind};

/// How long nothing is written before the log is cut to nothing.
const IDLE: Duration = Duration::from_secs(2);

/// The thread that checkpoints; it ends when this is dropped.
pub(super) struct Checkpointer {
    log: Arc<Log>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, PartialEq, Eq)]
enum Todo {
    Copy,
    Empty,
    End,
}

impl Checkpointer {
    pub(super) fn start(writer: Arc<Writer>) -> Result<Self, StoreError> {
        let connection = writer.opening().writing()?;
        let log = writer.log.clone();
        let thread = thread::Builder::new().name("drystone-checkpoint".into()).spawn(move || run(&writer, &connection));
        let thread = thread.map_err(|error| {
            StoreError::new(StoreErrorKind::Unavailable, "the checkpoint thread could not be started").because(error)
        })?;
        Ok(Self { log, thread: Some(thread) })
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.log.lock().closed = true;
        self.log.changed.notify_one();
        // Its connection must be closed before the writer's, which empties the log at the end.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(writer: &Writer, connection: &Connection) {
    let mut emptied_at = 0;
    loop {
        match wait(&writer.log, &mut emptied_at, IDLE) {
            Todo::Copy => copy(writer, connection),
            Todo::Empty => {
                // Nobody writes; whoever begins now waits for the lock, and not for a busy file.
                let _pause = writer.pause();
                writer.opening().empty_log(connection);
            }
            Todo::End => return,
        }
    }
}

/// Waits for the next thing to do. `emptied_at` counts the commits that were there when the log was emptied.
fn wait(log: &Log, emptied_at: &mut u64, idle: Duration) -> Todo {
    let mut state = log.lock();
    loop {
        if state.closed {
            return Todo::End;
        }
        if state.bytes > state.checkpoint_above {
            return Todo::Copy;
        }
        let before = state.commits;
        state.asleep = before == *emptied_at;
        if state.asleep {
            state = log.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.asleep = false;
            continue;
        }
        let (after, waited) = log.changed.wait_timeout(state, idle).unwrap_or_else(PoisonError::into_inner);
        state = after;
        if waited.timed_out() && state.commits == before {
            *emptied_at = before;
            return Todo::Empty;
        }
    }
}

/// Copies the log into the file: nearly all of it while others write, then the rest while they wait a moment.
///
/// A log that is copied whole is written over from its beginning by whoever comes next, in place; one that is
/// not grows, and to sync a file that grows costs more.
fn copy(writer: &Writer, connection: &Connection) {
    passive(connection);
    let _pause = writer.pause();
    passive(connection);
    let mut state = writer.log.lock();
    // If a reader is in the way it grows all the same; then not again at every commit.
    state.checkpoint_above = state.bytes + writer.checkpoint_above() / 4;
}

fn passive(connection: &Connection) {
    let copied = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
    if let Err(error) = copied.map_err(failure) {
        tracing::warn!(%error, "the write-ahead log could not be copied into the file");
    }
}

#[cfg(test)]
mod tests {
    use super::{super::open::Opening, *};
    use crate::store::SqliteOptions;

    /// fB10
    #[test]
    fn the_log_is_copied_when_it_is_long_emptied_when_nobody_writes_and_left_at_the_end() {
        let (log, mut emptied_at) = (Log::default(), 0);
        log.lock().commits = 5;
        log.lock().bytes = 9;
        log.lock().checkpoint_above = 8;
        assert_eq!(wait(&log, &mut emptied_at, Duration::ZERO), Todo::Copy);
        log.lock().checkpoint_above = 9;
        assert_eq!(wait(&log, &mut emptied_at, Duration::ZERO), Todo::Empty);
        assert_eq!(emptied_at, 5, "once emptied it sleeps until something is written");
        log.lock().closed = true;
        assert_eq!(wait(&log, &mut emptied_at, Duration::ZERO), Todo::End);
    }

    /// fB10
    #[test]
    fn a_copied_log_is_written_over_and_an_emptied_one_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let (_lock, opening) = Opening::lock(&folder.path().join("app.db"), &SqliteOptions::default()).unwrap();
        let connection = opening.first().unwrap();
        let writer = Writer::new(opening.clone(), connection, 1 << 20).unwrap();
        let beside = opening.writing().unwrap();
        let write =
            || writer.transaction(|connection| connection.execute("UPDATE drystone_store SET value = value + 1", []));
        write().unwrap();
        let length = opening.log_bytes();
        copy(&writer, &beside);
        write().unwrap();
        assert_eq!(opening.log_bytes(), length, "the second began where the first had");
        opening.empty_log(&beside);
        assert_eq!(opening.log_bytes(), 0);
    }

    /// fB10
    #[test]
    fn the_length_of_the_log_is_asked_for_once_in_a_megabyte_and_not_at_every_commit() {
        let folder = tempfile::tempdir().unwrap();
        let (_lock, opening) = Opening::lock(&folder.path().join("app.db"), &SqliteOptions::default()).unwrap();
        let connection = opening.first().unwrap();
        let writer = Writer::new(opening.clone(), connection, 8 << 20).unwrap();
        let write = |connection: &Connection| connection.execute("UPDATE drystone_store SET value = value + 1", []);
        let write_about = |bytes| assert_ne!(writer.transaction_of(bytes, write).unwrap(), 0);
        write_about(1);
        let seen = writer.log.lock().bytes;
        assert_eq!(seen, opening.log_bytes(), "the first is looked at: nobody knows what was there before");
        write_about((1 << 20) - 1);
        assert_eq!(writer.log.lock().bytes, seen);
        write_about(1);
        assert_eq!(writer.log.lock().bytes, opening.log_bytes(), "as much as that together");
        assert!(opening.log_bytes() > seen);
        write_about(1);
        writer.transaction(write).unwrap();
        assert_eq!(writer.log.lock().bytes, opening.log_bytes(), "nobody knows how much this one wrote");
    }
}
