//! The connections for reading. There are a few, and each is lent to one call at a time.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use rusqlite::{Connection, Error};

use super::{
    failure::{failure, poisons},
    file::{log::Log, open::Opening},
};
use crate::store::StoreError;

pub(super) struct Pool {
    opening: Opening,
    log: Arc<Log>,
    /// The idle connections. `None` marks a failed connection: the next call opens a new one.
    free: Mutex<Vec<Option<Connection>>>,
    returned: Condvar,
}

impl Pool {
    pub(super) fn open(opening: Opening, log: Arc<Log>, readers: usize) -> Result<Self, StoreError> {
        let free: Result<Vec<_>, _> = (0..readers.max(1)).map(|_| opening.reading().map(Some)).collect();
        Ok(Self { opening, log, free: Mutex::new(free?), returned: Condvar::new() })
    }

    /// Runs `body` on one snapshot, on a connection of the pool.
    pub(super) fn snapshot<T>(&self, body: impl FnOnce(&Connection) -> Result<T, Error>) -> Result<T, StoreError> {
        let mut place = self.borrow();
        let _snapshot = self.log.begin_snapshot();
        let answer = self.usable(&mut place).and_then(|connection| snapshot(connection, body).map_err(failure));
        if answer.as_ref().is_err_and(poisons) {
            place = None;
        }
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(place);
        self.returned.notify_one();
        answer
    }

    fn borrow(&self) -> Option<Connection> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(place) = free.pop() {
                return place;
            }
            free = self.returned.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn usable<'a>(&self, place: &'a mut Option<Connection>) -> Result<&'a Connection, StoreError> {
        match place {
            Some(connection) => Ok(connection),
            None => Ok(place.insert(self.opening.reading()?)),
        }
    }
}

/// Runs `body` on a snapshot of the current content.
pub(super) fn snapshot<T>(
    connection: &Connection,
    body: impl FnOnce(&Connection) -> Result<T, Error>,
) -> Result<T, Error> {
    connection.prepare_cached("BEGIN")?.execute([])?;
    let answer = body(connection);
    // End the snapshot in any case: while it is open, the log cannot be emptied.
    let ended = connection.prepare_cached("ROLLBACK")?.execute([]);
    let answer = answer?;
    ended?;
    Ok(answer)
}
