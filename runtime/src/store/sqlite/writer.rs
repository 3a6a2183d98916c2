//! The one connection that writes, and what happens to it when something fails.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, Error};

use super::{
    failure::{failure, poisons},
    open::Opening,
};
use crate::store::{StoreError, StoreErrorKind};

pub(super) struct Writer {
    opening: Opening,
    connection: Mutex<Held>,
    log_bytes_max: u64,
    pub(super) log: Arc<Log>,
}

/// The connection, unless it met an error that it cannot be trusted after.
struct Held {
    connection: Option<Connection>,
    /// From this length of the log on the writer stops to empty it.
    empty_above: u64,
}

/// What the checkpoint thread is told.
#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) state: Mutex<LogState>,
    pub(super) changed: Condvar,
}

#[derive(Debug, Default)]
pub(super) struct LogState {
    pub(super) bytes: u64,
    /// Counts commits; the thread sees by it whether anything happened.
    pub(super) commits: u64,
    /// From this length on the thread checkpoints.
    pub(super) checkpoint_above: u64,
    /// Whether the thread sleeps until something is written.
    pub(super) asleep: bool,
    pub(super) closed: bool,
}

impl Writer {
    pub(super) fn new(opening: Opening, connection: Connection, log_bytes_max: u64) -> Self {
        let state = LogState { checkpoint_above: log_bytes_max / 4, ..LogState::default() };
        Self {
            opening,
            connection: Mutex::new(Held { connection: Some(connection), empty_above: log_bytes_max }),
            log_bytes_max,
            log: Arc::new(Log { state: Mutex::new(state), changed: Condvar::new() }),
        }
    }

    pub(super) fn opening(&self) -> &Opening {
        &self.opening
    }

    /// From this length of the log on the checkpoint thread works.
    pub(super) fn checkpoint_above(&self) -> u64 {
        self.log_bytes_max / 4
    }

    /// Runs `body` in one transaction; when this answers, the transaction is synced.
    pub(super) fn transaction<T>(&self, body: impl FnOnce(&Connection) -> Result<T, Error>) -> Result<T, StoreError> {
        let mut held = self.lock();
        let connection = self.usable(&mut held)?;
        match execute(connection, "BEGIN IMMEDIATE").and_then(|()| body(connection)) {
            Ok(answer) => {
                self.commit(&mut held)?;
                Ok(answer)
            }
            Err(error) => Err(roll_back(&mut held, failure(error))),
        }
    }

    /// Keeps everyone from writing meanwhile.
    pub(super) fn pause(&self) -> impl Drop + '_ {
        self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn usable<'a>(&self, held: &'a mut Held) -> Result<&'a Connection, StoreError> {
        if held.connection.as_ref().is_none_or(|connection| !connection.is_autocommit()) {
            held.connection = None;
            held.connection = Some(self.reopen()?);
        }
        held.connection.as_ref().ok_or_else(|| StoreError::new(StoreErrorKind::Unavailable, "the file is closed"))
    }

    /// A new connection. It first writes over what a commit of unknown outcome may have left at the end of the
    /// log, so that whoever reads back reads what will stay (fB3).
    fn reopen(&self) -> Result<Connection, StoreError> {
        // Whoever asked gets the error and logs it, once a minute; this may come with every try.
        tracing::debug!("a connection to the store failed; it is opened again");
        let connection = self.opening.writing()?;
        connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'reopened'", []).map_err(failure)?;
        Ok(connection)
    }

    fn commit(&self, held: &mut Held) -> Result<(), StoreError> {
        let Some(connection) = &held.connection else { return Ok(()) };
        if let Err(error) = execute(connection, "COMMIT") {
            held.connection = None;
            // Tried at once, so that reading back is settled; if it fails, the next call tries again.
            held.connection = self.reopen().ok();
            return Err(failure(error).outcome_unknown());
        }
        self.watch_log(held);
        Ok(())
    }

    fn watch_log(&self, held: &mut Held) {
        let bytes = self.opening.log_bytes();
        if bytes <= self.log_bytes_max {
            held.empty_above = self.log_bytes_max;
        }
        self.log.wrote(bytes, self.checkpoint_above());
        if bytes > held.empty_above {
            // If a reader is in the way, not again at every commit.
            held.empty_above = bytes + self.checkpoint_above();
            if let Some(connection) = &held.connection {
                self.opening.empty_log(connection);
            }
        }
    }
}

impl Log {
    pub(super) fn lock(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wrote(&self, bytes: u64, checkpoint_above: u64) {
        let mut state = self.lock();
        state.bytes = bytes;
        state.commits += 1;
        if bytes <= checkpoint_above {
            state.checkpoint_above = checkpoint_above;
        }
        if state.asleep || bytes > state.checkpoint_above {
            self.changed.notify_one();
        }
    }
}

fn roll_back(held: &mut Held, error: StoreError) -> StoreError {
    let Some(connection) = &held.connection else { return error };
    // A full disk ends the transaction by itself; then there is nothing to roll back.
    let is_over = connection.is_autocommit() || execute(connection, "ROLLBACK").is_ok();
    if poisons(&error) || !is_over {
        held.connection = None;
    }
    error
}

fn execute(connection: &Connection, sql: &str) -> Result<(), Error> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}
