//! The one connection that writes, and what happens to it when something fails.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, Error, ErrorCode};

use super::{
    failure::{failure, poisons},
    leash::Leash,
    open::Opening,
    pool::snapshot,
};
use crate::store::{StoreError, StoreErrorKind};

/// So much may be written before somebody asks how long the log is: to ask takes time, and a lone caller waits for it.
const LOOK_BYTES: u64 = 1 << 20;

pub(super) struct Writer {
    opening: Opening,
    connection: Mutex<Held>,
    log_bytes_max: u64,
    pub(super) log: Arc<Log>,
    leash: Leash,
}

/// A transaction with code in it that is not ours.
pub(super) enum Attempt<T> {
    /// It is committed.
    Kept(T),
    /// It could not be, by what the code did, and nothing of it is there; why.
    Spoilt(T, String),
}

/// The connection, unless it met an error that it cannot be trusted after.
struct Held {
    connection: Option<Connection>,
    /// From this length of the log on the writer stops to empty it.
    empty_above: u64,
    /// About how much was written since its length was last asked for.
    unseen: u64,
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
    pub(super) fn new(opening: Opening, mut connection: Connection, log_bytes_max: u64) -> Result<Self, StoreError> {
        let leash = Leash::default();
        leash.put_on(&mut connection).map_err(failure)?;
        let state = LogState { checkpoint_above: log_bytes_max / 4, ..LogState::default() };
        Ok(Self {
            opening,
            connection: Mutex::new(Held {
                connection: Some(connection),
                empty_above: log_bytes_max,
                unseen: LOOK_BYTES,
            }),
            log_bytes_max,
            log: Arc::new(Log { state: Mutex::new(state), changed: Condvar::new() }),
            leash,
        })
    }

    pub(super) fn opening(&self) -> &Opening {
        &self.opening
    }

    /// From this length of the log on the checkpoint thread works.
    pub(super) fn checkpoint_above(&self) -> u64 {
        self.log_bytes_max / 4
    }

    /// Runs `body` in one transaction; when this answers, the transaction is synced. It may have written much: the log is looked at.
    pub(super) fn transaction<T>(&self, body: impl FnOnce(&Connection) -> Result<T, Error>) -> Result<T, StoreError> {
        self.transaction_of(LOOK_BYTES, body)
    }

    /// The same for one that writes about so many bytes: after a few such the log need not be looked at.
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

    /// The same for code that is not ours, which may have ended the transaction, or left it so that it cannot be committed.
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
                self.watch_log(&mut held, LOOK_BYTES);
                Ok(Attempt::Kept(answer))
            }
            // A deferred foreign key; the transaction goes on, and nothing of it was written.
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
                let reason = format!("what it wrote cannot be committed: {error}");
                roll_back(&mut held, failure(error));
                Ok(Attempt::Spoilt(answer, reason))
            }
            Err(error) => Err(self.failed_commit(&mut held, error)),
        }
    }

    /// Runs `body` on one snapshot, if nobody writes now. Whatever goes wrong here, others can try.
    pub(super) fn snapshot_if_idle<T>(&self, body: impl FnOnce(&Connection) -> Result<T, Error>) -> Option<T> {
        let mut held = self.connection.try_lock().ok()?;
        let connection = held.connection.as_ref().filter(|connection| connection.is_autocommit())?;
        match snapshot(connection, body) {
            Ok(answer) => Some(answer),
            Err(error) => {
                roll_back(&mut held, failure(error));
                None
            }
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
        let mut connection = self.opening.writing()?;
        self.leash.put_on(&mut connection).map_err(failure)?;
        connection
            .execute("UPDATE drystone_store SET value = value + 1 WHERE name = 'reopened'", [])
            .map_err(failure)?;
        Ok(connection)
    }

    fn commit(&self, held: &mut Held, bytes: u64) -> Result<(), StoreError> {
        let Some(connection) = &held.connection else { return Ok(()) };
        if let Err(error) = execute(connection, "COMMIT") {
            return Err(self.failed_commit(held, error));
        }
        self.watch_log(held, bytes);
        Ok(())
    }

    fn failed_commit(&self, held: &mut Held, error: Error) -> StoreError {
        held.connection = None;
        // Tried at once, so that reading back is settled; if it fails, the next call tries again.
        held.connection = self.reopen().ok();
        failure(error).outcome_unknown()
    }

    /// About so much was written: a log that has grown is copied, or emptied. Its length is asked for when that can have changed much.
    fn watch_log(&self, held: &mut Held, written: u64) {
        held.unseen = held.unseen.saturating_add(written);
        if held.unseen < LOOK_BYTES {
            return self.log.wrote();
        }
        held.unseen = 0;
        let bytes = self.opening.log_bytes();
        if bytes <= self.log_bytes_max {
            held.empty_above = self.log_bytes_max;
        }
        self.log.has_grown(bytes, self.checkpoint_above());
        self.log.wrote();
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

    fn has_grown(&self, bytes: u64, checkpoint_above: u64) {
        let mut state = self.lock();
        state.bytes = bytes;
        if bytes <= checkpoint_above {
            state.checkpoint_above = checkpoint_above;
        }
    }

    fn wrote(&self) {
        let mut state = self.lock();
        state.commits += 1;
        if state.asleep || state.bytes > state.checkpoint_above {
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
