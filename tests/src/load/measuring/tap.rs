//! A store that records when the commit of each woken entity became durable.
//!
//! A turn knows when it began, but not when its commit became durable, and a user waits for the latter. So
//! lateness is measured here: the wall clock when the store has answered, minus the time for which the alarm
//! was set.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use drystone_runtime::{
    Entity, Millis, Store,
    store::{
        After, Answer, Batch, Claimed, Cursor, Found, Hints, Page, Query, Read, Ready, Verdict, Want, Woken, Worker,
        Write,
    },
};
use tokio::sync::Notify;

/// A store that measures how late each entity was woken.
pub(in crate::load) struct Tap<S> {
    inner: S,
    lateness: Mutex<Vec<Duration>>,
    expected: usize,
    /// The alarm by which a written entity was woken, if it was.
    due: fn(&Entity) -> Option<Millis>,
    all: Notify,
}

impl<S: Store> Tap<S> {
    /// Wraps a store, and waits for `expected` wake-ups.
    pub(in crate::load) fn new(inner: S, expected: usize, due: fn(&Entity) -> Option<Millis>) -> Self {
        Self { inner, lateness: Mutex::default(), expected, due, all: Notify::new() }
    }

    /// Resolves when all alarms have rung.
    pub(in crate::load) async fn all_rung(&self) {
        self.all.notified().await;
    }

    pub(in crate::load) fn lateness(&self) -> Vec<Duration> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Duration>> {
        self.lateness.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, batch: &Batch, verdicts: &[Verdict]) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let applied = batch.writes.iter().zip(verdicts).filter(|(_, verdict)| **verdict == Verdict::Applied);
        let rings = applied.filter_map(|(write, _)| self.due(write));
        let mut lateness = self.lock();
        lateness.extend(rings.map(|due| now.saturating_sub(Duration::from_millis(due.0.unsigned_abs()))));
        if lateness.len() >= self.expected {
            // `notify_one` leaves a permit, so a caller that asks later does not wait.
            self.all.notify_one();
        }
    }

    fn due(&self, write: &Write) -> Option<Millis> {
        let After::Entity(entity) = &write.after else { return None };
        (self.due)(entity)
    }
}

impl<S: Store> Store for Tap<S> {
    fn claim<'a>(&'a self, worker: &'a Worker, want: Want) -> Answer<'a, Claimed> {
        self.inner.claim(worker, want)
    }

    fn read<'a>(&'a self, reads: &'a [Read]) -> Answer<'a, Vec<Found>> {
        self.inner.read(reads)
    }

    fn commit<'a>(&'a self, batch: &'a Batch) -> Answer<'a, Vec<Verdict>> {
        Box::pin(async move {
            let verdicts = self.inner.commit(batch).await?;
            self.note(batch, &verdicts);
            Ok(verdicts)
        })
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
}
