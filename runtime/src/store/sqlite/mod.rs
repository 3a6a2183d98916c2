//! The store in one SQLite file: the default, no server.
//!
//! The store has one connection for writes, a few for reads, and one for checkpoints. Calls block in the
//! poll, as the contract allows; no task is started.
//!
//! These rules hold:
//! - The lock beside the file is taken before the file is opened in any way, and released after it is closed.
//! - Every write transaction is `BEGIN IMMEDIATE`, so that no transaction has to upgrade its lock and be
//!   refused half-way (fB7).
//! - No write is answered before `COMMIT` has synced the log.
//!
//! A known and harmless race: if `COMMIT` answers with an error, the write may still be found in the log
//! after a power cut. So the answer is [`Applied::Unknown`](super::Applied), and a new connection first
//! overwrites what may have been left there.

mod apply;
mod author_sql;
mod entity;
mod failure;
mod file;
mod lease;
mod list;
mod owners;
mod pool;
mod read;
mod scan;
mod sweep;
mod value;
mod writer;

use std::{
    fmt,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

pub use file::options::SqliteOptions;

use self::{
    apply::Applier,
    failure::failure,
    file::{checkpoint::Checkpointer, lock::Lock, log::Log, open::Opening},
    owners::Owners,
    pool::Pool,
    writer::Writer,
};
use super::{
    Answer, Batch, Claimed, Cursor, Found, HintSender, Hints, Page, Query, Read, Ready, Store, StoreError, Verdict,
    Want, Woken, Worker,
    migration::{Migration, MigrationFault},
    sql::{Script, Scripted, Sql, Statements},
};
use crate::Millis;

/// A store in one SQLite file. While it is open, only this engine may write to the file; other programs may
/// read (K4).
///
/// The order of the fields is the order of their drop. The writer's connection must be the last one to close,
/// because only the writer may empty the log; the lock must be released after that.
pub struct Sqlite {
    pool: Pool,
    _checkpointer: Checkpointer,
    writer: Arc<Writer>,
    /// Locked before the writer, and until its transaction has ended: other threads must not see values that
    /// may be rolled back.
    owners: Mutex<Owners>,
    _lock: Lock,
    clock: file::options::Clock,
    partitions: u32,
    hints: HintSender,
}

impl Sqlite {
    /// Opens the store in the file at `path`; makes the file if it does not exist.
    ///
    /// Returns an error of the kind:
    /// - [`Locked`](super::StoreErrorKind::Locked) if another engine has the file open, in the same or
    ///   another process; the message names the process.
    /// - [`Corrupt`](super::StoreErrorKind::Corrupt) if the file is not a store, or is damaged.
    /// - [`Unsupported`](super::StoreErrorKind::Unsupported) if a newer version of Drystone wrote the file.
    pub fn open(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Self, StoreError> {
        file::schema::check_library(rusqlite::version_number())?;
        let (lock, opening) = Opening::lock(path.as_ref(), &options)?;
        let connection = opening.first()?;
        let partitions = file::schema::partitions(&connection).map_err(failure)?;
        let log = Arc::new(Log::new(options.wal_bytes_max));
        let pool = Pool::open(opening.clone(), log.clone(), options.readers)?;
        let writer = Arc::new(Writer::new(opening, connection, log)?);
        let checkpointer = Checkpointer::start(writer.clone())?;
        let (clock, hints) = (options.clock, HintSender::default());
        let owners = Mutex::new(Owners::unread());
        Ok(Self { pool, _checkpointer: checkpointer, writer, owners, _lock: lock, clock, partitions, hints })
    }

    fn apply(&self, batch: &Batch) -> Result<Vec<Verdict>, StoreError> {
        let mut owners = self.owners();
        let apply = |connection: &_| Applier::begin(connection, batch, self.partitions, &mut owners)?.apply();
        let verdicts = self.writer.transaction_of(log_bytes_about(batch), apply)?;
        owners.told(batch);
        drop(owners);
        self.hints.send_after(batch, &verdicts);
        Ok(verdicts)
    }

    /// Performs the reads. A short read uses the writer's connection if that is idle: its cache has the
    /// latest writes, which a reader would have to read from the log.
    fn read_now(&self, reads: &[Read]) -> Result<Vec<Found>, StoreError> {
        let read = |connection: &_| read::read(connection, self.partitions, reads);
        let by_writer = if read::is_short(reads) { self.writer.snapshot_if_idle(read) } else { None };
        by_writer.map_or_else(|| self.pool.snapshot(read), Ok)
    }

    fn lease(&self, worker: &Worker, want: &Want) -> Result<Claimed, StoreError> {
        let now = (self.clock)();
        let mut owners = self.owners();
        self.writer.transaction(|connection| {
            owners.flush(connection)?;
            lease::claim(connection, now, worker, want)
        })
    }

    fn choose_once(&self, name: &str, value: &str) -> Result<String, StoreError> {
        if let Some(found) = self.pool.snapshot(|connection| file::schema::choice(connection, name))? {
            return Ok(found);
        }
        self.writer.transaction(|connection| {
            file::schema::choose(connection, name, value)?;
            Ok(file::schema::choice(connection, name)?.unwrap_or_else(|| value.to_owned()))
        })
    }

    /// Runs code in a transaction on an empty database in memory, and discards the database. For tests of
    /// such code.
    pub fn rehearse<T>(code: impl FnOnce(&mut dyn Statements) -> T) -> Result<T, StoreError> {
        author_sql::scripts::rehearse(code).map_err(failure)
    }

    fn owners(&self) -> MutexGuard<'_, Owners> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Estimates the bytes that a batch adds to the log: its payloads, and for each write the pages of its rows
/// and their indexes.
fn log_bytes_about(batch: &Batch) -> u64 {
    const PAGE: usize = 4_096;
    let pages = |write: &super::Write| 4 + write.rows.len() + write.sent.len() + write.taken.len();
    batch.writes.iter().map(|write| write.weight() + pages(write) * PAGE).sum::<usize>() as u64
}

impl Store for Sqlite {
    fn claim<'a>(&'a self, worker: &'a Worker, want: Want) -> Answer<'a, Claimed> {
        Box::pin(async move { self.lease(worker, &want) })
    }

    fn read<'a>(&'a self, reads: &'a [Read]) -> Answer<'a, Vec<Found>> {
        Box::pin(async move { self.read_now(reads) })
    }

    fn commit<'a>(&'a self, batch: &'a Batch) -> Answer<'a, Vec<Verdict>> {
        Box::pin(async move { self.apply(batch) })
    }

    fn ready<'a>(&'a self, which: &'a Ready, after: Option<&'a Cursor>, limit: usize) -> Answer<'a, Vec<Woken>> {
        Box::pin(async move { self.pool.snapshot(|connection| scan::ready(connection, which, after, limit)) })
    }

    fn list<'a>(&'a self, query: &'a Query) -> Answer<'a, Page> {
        Box::pin(async move { self.pool.snapshot(|connection| list::list(connection, query)) })
    }

    fn sweep(&self, now: Millis, limit: usize) -> Answer<'_, usize> {
        Box::pin(async move { self.writer.transaction(|connection| sweep::sweep(connection, now, limit)) })
    }

    fn choose<'a>(&'a self, name: &'a str, value: &'a str) -> Answer<'a, String> {
        Box::pin(async move { self.choose_once(name, value) })
    }

    fn hints(&self) -> Hints {
        self.hints.subscribe()
    }

    fn sql(&self) -> Option<&dyn Sql> {
        Some(self)
    }
}

impl Sql for Sqlite {
    fn transact<'a>(&'a self, scripts: &'a [Script]) -> Answer<'a, Vec<Scripted>> {
        Box::pin(async move { author_sql::scripts::run(&self.writer, &mut self.owners(), scripts) })
    }

    fn migrate<'a>(&'a self, list: &'a [Migration]) -> Answer<'a, Result<(), MigrationFault>> {
        Box::pin(async move { author_sql::migrations::migrate(&self.writer, list) })
    }
}

impl fmt::Debug for Sqlite {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Sqlite").field("partitions", &self.partitions).finish_non_exhaustive()
    }
}
