//! skeleton
mod call;
mod options;
mod view;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;

pub use call::Call;
pub(crate) use call::Door;
pub use options::Options;
pub use view::{Explain, View, Wait};

use crate::{
    Driver, Error, Key, Millis, Registry, Store,
    store::{Page, Query},
};

/// The kernel over one store. Clones share it.
#[derive(Clone)]
pub struct Kernel {}

/// What an opening found (R1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Partitions now owned.
    pub partitions: usize,
    /// Of those, how many their previous owner did not end cleanly.
    pub unclean: usize,
    /// Alarms that were overdue (counted up to one page).
    pub overdue: usize,
    /// Entities that may have been running.
    pub unfinished: usize,
    /// Entities that are parked.
    pub parked: usize,
}

/// Counters of one kernel since it was opened; each only grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Turns taken.
    pub turns: u64,
    /// Batches written.
    pub batches: u64,
    /// Entity writes applied.
    pub writes: u64,
    /// Alarms that rang.
    pub alarms: u64,
    /// Pieces of work started.
    pub started: u64,
    /// Ends of work that matched nothing running: dropped.
    pub late_ends: u64,
    /// Entities found without a wake source (R7): bugs of ours.
    pub stuck: u64,
    /// Messages that became dead letters.
    pub dead_letters: u64,
    /// Hands that the author's code blocked.
    pub blocked: u64,
}

impl Kernel {
    /// Opens the store, takes partitions and resumes everything in them (R1).
    pub async fn open(
        store: Arc<dyn Store>,
        registry: Registry,
        driver: Arc<dyn Driver>,
        options: Options,
    ) -> Result<(Self, Report), Error> {
        todo!()
    }
    /// Makes a call and waits for its answer.
    pub async fn call(&self, call: Call) -> Result<Bytes, Error> {
        todo!()
    }
    /// The `primitive:*` view of a key; `None` if it is unbound.
    pub async fn view(&self, key: &Key) -> Result<Option<View>, Error> {
        todo!()
    }
    /// What a key waits for.
    pub async fn explain(&self, key: &Key) -> Result<Explain, Error> {
        todo!()
    }
    /// Lists entities (R6).
    pub async fn list(&self, query: Query) -> Result<Page, Error> {
        todo!()
    }
    /// Lets a parked entity go on, with its crashes forgotten.
    pub async fn unpark(&self, key: &Key) -> Result<bool, Error> {
        todo!()
    }
    /// What this kernel counted.
    pub fn counts(&self) -> Counts {
        todo!()
    }
    /// Our time: never goes back (A5).
    pub fn now(&self) -> Millis {
        todo!()
    }
    /// Ends in order: no new inputs, work gets `limit`, leases are released (R2).
    pub async fn shutdown(&self, limit: Duration) -> Result<(), Error> {
        todo!()
    }
}
