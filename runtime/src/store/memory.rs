//! The store in memory: the reference implementation that other stores are compared with, written to be read.
//!
//! It has one lock, ordered maps, and no clock of its own: the same calls in the same order give the same
//! answers, which simulations rely on. Every future is ready at its first poll.

mod lease;
mod scan;
mod scripts;
mod sweep;
mod tables;

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

pub use scripts::Savepoints;
use tables::Tables;

use super::{
    Answer, Batch, Claimed, Cursor, Found, HintSender, Hints, Page, Query, Read, Ready, Store, Verdict, Want, Woken,
    Worker,
};
use crate::Millis;

/// A store in memory. The content is lost when the store is dropped.
pub struct Memory {
    clock: Box<dyn Fn() -> Millis + Send + Sync>,
    /// One lock for all tables, so that each call sees and leaves a consistent state.
    tables: Mutex<Tables>,
    hints: HintSender,
}

impl Memory {
    /// Makes an empty store. `clock` is the clock for its leases, and the number of partitions never changes.
    pub fn new(clock: impl Fn() -> Millis + Send + Sync + 'static, partitions: u32) -> Self {
        Self {
            clock: Box::new(clock),
            tables: Mutex::new(Tables::new(partitions.max(1))),
            hints: HintSender::default(),
        }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn apply(&self, batch: &Batch) -> Vec<Verdict> {
        let verdicts = self.tables().commit(batch);
        // The lock is released by now: a receiver of a hint finds the messages in the tables.
        self.hints.send_after(batch, &verdicts);
        verdicts
    }
}

impl Store for Memory {
    fn claim<'a>(&'a self, worker: &'a Worker, want: Want) -> Answer<'a, Claimed> {
        Box::pin(async move {
            let now = (self.clock)();
            self.tables().claim(now, worker, &want)
        })
    }

    fn read<'a>(&'a self, reads: &'a [Read]) -> Answer<'a, Vec<Found>> {
        Box::pin(async move {
            let tables = self.tables();
            Ok(reads.iter().map(|read| tables.read(read)).collect())
        })
    }

    fn commit<'a>(&'a self, batch: &'a Batch) -> Answer<'a, Vec<Verdict>> {
        Box::pin(async move { Ok(self.apply(batch)) })
    }

    fn ready<'a>(&'a self, which: &'a Ready, after: Option<&'a Cursor>, limit: usize) -> Answer<'a, Vec<Woken>> {
        Box::pin(async move { Ok(self.tables().ready(which, after, limit)) })
    }

    fn list<'a>(&'a self, query: &'a Query) -> Answer<'a, Page> {
        Box::pin(async move { Ok(self.tables().list(query)) })
    }

    fn sweep(&self, now: Millis, limit: usize) -> Answer<'_, usize> {
        Box::pin(async move { Ok(self.tables().sweep(now, limit)) })
    }

    fn choose<'a>(&'a self, name: &'a str, value: &'a str) -> Answer<'a, String> {
        Box::pin(
            async move { Ok(self.tables().choices.entry(name.to_owned()).or_insert_with(|| value.to_owned()).clone()) },
        )
    }

    fn hints(&self) -> Hints {
        self.hints.subscribe()
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Memory").finish_non_exhaustive()
    }
}
