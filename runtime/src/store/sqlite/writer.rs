//! The only connection for writes, and the recovery after an error.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, Error, ErrorCode};

use super::{
    author_sql::sandbox::Leash,
    failure::{failure, poisons},
    file::{log::Log, open::Opening},
    pool::snapshot,
};
use crate::store::{StoreError, StoreErrorKind};

pub(super) struct Writer {
    opening: Opening,
    /// Locked for the whole of a transaction: SQLite allows one writer at a time.
    connection: Mutex<Held>,
    log: Arc<Log>,
    leash: Leash,
}

/// The end of a transaction that ran code of an author.
pub(super) enum Attempt<T> {
    /// The transaction is committed.
    Kept(T),
    /// The code made the commit impossible, so nothing was kept; the text is the reason.
    Spoilt(T, String),
}

/// The connection; `None` if an error made the connection unreliable.
type Held = Option<Connection>;

impl Writer {
    pub(super) fn new(opening: Opening, mut connection: Connection, log: Arc<Log>) -> Result<Self, StoreError> {
        let leash = Leash::default();
        leash.put_on(&mut connection).map_err(failure)?;
        Ok(Self { opening, connection: Mutex::new(Some(connection)), log, leash })
    }

    pub(super) fn opening(&self) -> &Opening {
        &self.opening
    }

    pub(super) fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// Runs `body` in one transaction, and returns after the sync. The number of bytes written is unknown.
    pub(super) fn transaction<T>(&self, body: impl FnOnce(&Connection) -> Result<T, Error>) -> Result<T, StoreError> {
        self.transaction_of(u64::MAX, body)
    }

    /// Runs `body` in one transaction. `bytes` is an estimate of the bytes written.
    pub(super) fn transaction_of<T>(
        &self,
        bytes: u64,
        body: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<T, StoreError> {
        let mut held = self.lock();
        let connection = self.usable(&mut held)?;
        match execute(connection, "BEGIN IMMEDIATE").and_then(|()| body(connection)) {
            Ok(answer) => {
                self.commit(&mut held, bytes)?;
                Ok(answer)
            }
            Err(error) => Err(roll_back(&mut held, failure(error))),
        }
    }

    /// Runs code of an author in one transaction. The code may have ended the transaction, or made its commit
    /// impossible.
    pub(super) fn attempt<T>(
        &self,
        body: impl FnOnce(&Connection, &Leash) -> Result<T, Error>,
    ) -> Result<Attempt<T>, StoreError> {
        let mut held = self.lock();
        let connection = self.usable(&mut held)?;
        let answer = match execute(connection, "BEGIN IMMEDIATE").and_then(|()| body(connection, &self.leash)) {
            Ok(answer) if connection.is_autocommit() => {
                return Ok(Attempt::Spoilt(answer, "its code ended the transaction".to_owned()));
            }
            Ok(answer) => answer,
            Err(error) => return Err(roll_back(&mut held, failure(error))),
        };
        match execute(connection, "COMMIT") {
            Ok(()) => {
                self.bound_log(&held, u64::MAX);
                Ok(Attempt::Kept(answer))
            }
            // A deferred foreign key was violated. The transaction is still open, and nothing of it was
            // written.
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
                let reason = format!("what it wrote cannot be committed: {error}");
                roll_back(&mut held, failure(error));
                Ok(Attempt::Spoilt(answer, reason))
            }
            Err(error) => Err(self.failed_commit(&mut held, error)),
        }
    }

    /// Runs `body` on one snapshot, if no write is in progress. Returns `None` after any error, because a
    /// reader can try again.
    pub(super) fn snapshot_if_idle<T>(&self, body: impl FnOnce(&Connection) -> Result<T, Error>) -> Option<T> {
        let mut held = self.connection.try_lock().ok()?;
        let connection = held.as_ref().filter(|connection| connection.is_autocommit())?;
        match snapshot(connection, body) {
            Ok(answer) => Some(answer),
            Err(error) => {
                roll_back(&mut held, failure(error));
                None
            }
        }
    }

    /// Prevents all writes until the guard is dropped.
    pub(super) fn pause(&self) -> impl Drop + '_ {
        self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn usable<'a>(&self, held: &'a mut Held) -> Result<&'a Connection, StoreError> {
        if held.as_ref().is_none_or(|connection| !connection.is_autocommit()) {
            *held = None;
            *held = Some(self.reopen()?);
        }
        held.as_ref().ok_or_else(|| StoreError::new(StoreErrorKind::Unavailable, "the file is closed"))
    }

    /// Opens a new connection. It first overwrites what a commit of unknown outcome may have left at the end
    /// of the log, so that reading back shows what will stay (fB3).
    fn reopen(&self) -> Result<Connection, StoreError> {
        // Debug level is enough: the caller gets the error and logs it once a minute, while this may happen
        // at every attempt.
        tracing::debug!("a connection to the store failed; it is opened again");
        let mut connection = self.opening.writing()?;
        self.leash.put_on(&mut connection).map_err(failure)?;
        connection
            .execute("UPDATE drystone_store SET value = value + 1 WHERE name = 'reopened'", [])
            .map_err(failure)?;
        Ok(connection)
    }

    fn commit(&self, held: &mut Held, bytes: u64) -> Result<(), StoreError> {
        let Some(connection) = held else { return Ok(()) };
        if let Err(error) = execute(connection, "COMMIT") {
            return Err(self.failed_commit(held, error));
        }
        self.bound_log(held, bytes);
        Ok(())
    }

    fn failed_commit(&self, held: &mut Held, error: Error) -> StoreError {
        *held = None;
        // Reopen at once, so that reading back has a definite answer. If this fails, the next call tries
        // again.
        *held = self.reopen().ok();
        failure(error).outcome_unknown()
    }

    /// Keeps the log within its bound. Beyond the bound, the writer waits for our readers and the checkpoint
    /// thread, and empties the log before it answers. Only a reader in another process can prevent that, and
    /// then the writer does not wait long (K4).
    fn bound_log(&self, held: &Held, written: u64) {
        if !self.log.wrote(written) {
            return;
        }
        let bytes = self.opening.log_bytes();
        if !self.log.measured(bytes) {
            return;
        }
        let Some(connection) = held else { return };
        let _snapshots = self.log.end_snapshots();
        let _checkpoint = self.log.begin_checkpoint();
        if self.opening.empty_log(connection) {
            return self.log.emptied();
        }
        self.log.held_back();
        let bytes_max = self.log.bytes_max();
        tracing::warn!(
            bytes,
            bytes_max,
            "the write-ahead log is beyond its bound: another program reads the file in a long transaction"
        );
    }
}

fn roll_back(held: &mut Held, error: StoreError) -> StoreError {
    let Some(connection) = held else { return error };
    // A full disk ends the transaction by itself; then there is nothing to roll back.
    let is_over = connection.is_autocommit() || execute(connection, "ROLLBACK").is_ok();
    if poisons(&error) || !is_over {
        *held = None;
    }
    error
}

fn execute(connection: &Connection, sql: &str) -> Result<(), Error> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}
