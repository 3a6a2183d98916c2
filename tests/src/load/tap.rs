//! A store that notes, of another's commits, when each that was woken became durable.
//!
//! A turn knows when it began, not when it was kept, and the second is what a user waits for. So lateness is
//! taken here: the wall clock when the store has answered, less what the alarm was set for.

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

/// The store, and how late each was woken.
pub(super) struct Tap<S> {
    inner: S,
    lateness: Mutex<Vec<Duration>>,
    expected: usize,
    /// What an entity that was written was woken for.
    due: fn(&Entity) -> Option<Millis>,
    all: Notify,
}

impl<S: Store> Tap<S> {
    /// Listens until so many were woken.
    pub(super) fn new(inner: S, expected: usize, due: fn(&Entity) -> Option<Millis>) -> Self {
        Self { inner, lateness: Mutex::default(), expected, due, all: Notify::new() }
    }

    /// Ready when all have rung.
    pub(super) async fn all_rung(&self) {
        self.all.notified().await;
    }

    pub(super) fn lateness(&self) -> Vec<Duration> {
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
            // `notify_one` leaves a permit, so whoever asks later is not kept waiting.
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
