//! A store that can hold up the transactions of authors' code, or run one and lose its answer.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use drystone::testing::Latch;
use drystone_runtime::{
    Millis,
    store::{
        Answer, Batch, Claimed, Cursor, Found, Hints, Page, Query, Read, Ready, Sqlite, Store, StoreError,
        StoreErrorKind, Verdict, Want, Woken, Worker,
        migration::{Migration, MigrationFault},
        sql::{Script, Scripted, Sql},
    },
};

/// Passes every call on to SQLite.
#[derive(Debug)]
pub struct Held {
    inner: Sqlite,
    doors: Mutex<Option<(Latch, Latch)>>,
    loses_answer: AtomicBool,
    asked: AtomicU64,
}

impl Held {
    /// Wraps this store.
    pub fn new(inner: Sqlite) -> Self {
        Self { inner, doors: Mutex::default(), loses_answer: AtomicBool::new(false), asked: AtomicU64::new(0) }
    }

    /// Holds up the next transaction. The first latch opens when the transaction has come; the second one
    /// lets it begin.
    pub fn hold(&self) -> (Latch, Latch) {
        let doors = (Latch::default(), Latch::default());
        *self.doors.lock().unwrap_or_else(PoisonError::into_inner) = Some(doors.clone());
        doors
    }

    /// Lets the next transaction happen, and answers it with an error.
    pub fn lose_answer(&self) {
        self.loses_answer.store(true, Ordering::Relaxed);
    }

    /// The number of transactions so far.
    pub fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }
}

impl Store for Held {
    fn claim<'a>(&'a self, worker: &'a Worker, want: Want) -> Answer<'a, Claimed> {
        self.inner.claim(worker, want)
    }

    fn read<'a>(&'a self, reads: &'a [Read]) -> Answer<'a, Vec<Found>> {
        self.inner.read(reads)
    }

    fn commit<'a>(&'a self, batch: &'a Batch) -> Answer<'a, Vec<Verdict>> {
        self.inner.commit(batch)
    }

    fn ready<'a>(&'a self, which: &'a Ready, after: Option<&'a Cursor>, limit: usize) -> Answer<'a, Vec<Woken>> {
        self.inner.ready(which, after, limit)
    }

    fn list<'a>(&'a self, query: &'a Query) -> Answer<'a, Page> {
        self.inner.list(query)
    }

    fn sweep(&self, now: Millis, limit: usize) -> Answer<'_, usize> {
        self.inner.sweep(now, limit)
    }

    fn choose<'a>(&'a self, name: &'a str, value: &'a str) -> Answer<'a, String> {
        self.inner.choose(name, value)
    }

    fn hints(&self) -> Hints {
        self.inner.hints()
    }

    fn sql(&self) -> Option<&dyn Sql> {
        Some(self)
    }
}

impl Sql for Held {
    fn transact<'a>(&'a self, scripts: &'a [Script]) -> Answer<'a, Vec<Scripted>> {
        Box::pin(async move {
            self.asked.fetch_add(1, Ordering::Relaxed);
            let doors = self.doors.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some((come, go)) = doors {
                come.open();
                go.wait().await;
            }
            let done = self.inner.transact(scripts).await?;
            if self.loses_answer.swap(false, Ordering::Relaxed) {
                return Err(StoreError::new(StoreErrorKind::Unavailable, "the answer was lost").outcome_unknown());
            }
            Ok(done)
        })
    }

    fn migrate<'a>(&'a self, list: &'a [Migration]) -> Answer<'a, Result<(), MigrationFault>> {
        self.inner.migrate(list)
    }
}
