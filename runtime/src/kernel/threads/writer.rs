//! The writer: one batch at a time goes to the store, and each entity gets the verdict on its part.

use std::collections::BTreeSet;

use crate::{
    Entity, Epoch, Key, MessageId, Millis, Options, Partition, Version,
    kernel::{
        mutants,
        state::{
            core::{Core, Released},
            mail::Settled,
            shared::Shared,
        },
    },
    planted::Bug,
    store::{After, Applied, Batch, Found, Guard, Read, StoreError, Verdict, Write},
};

/// How many verdicts of a large batch are delivered under one lock. With more, the threads that handle the
/// first verdicts would wait for the lock.
const TOLD_AT_ONCE: usize = 32;

/// A batch in flight, and its chains.
pub(crate) struct InFlightBatch {
    pub(crate) batch: Batch,
    /// One per write, in order: the key, and the version that the chain makes, by which the body recognises
    /// its verdict.
    pub(crate) chains: Vec<(Key, Version)>,
    /// For planted bugs alone: each entity before the batch, and whether a bug has changed the batch.
    pub(crate) before: Vec<Option<Entity>>,
    #[cfg_attr(not(feature = "planted"), expect(dead_code, reason = "see above"))]
    pub(crate) is_prepared: bool,
    bytes: usize,
}

impl InFlightBatch {
    /// Creates an empty batch with room for `most` writes.
    pub(crate) fn new(now: Millis, most: usize) -> Self {
        let batch = Batch { now, writes: Vec::with_capacity(most), ..Batch::default() };
        Self { batch, chains: Vec::with_capacity(most), before: Vec::new(), is_prepared: false, bytes: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.chains.is_empty()
    }

    pub(crate) fn has_room(&self, options: &Options) -> bool {
        self.chains.len() < options.batch_writes_max && self.bytes < options.batch_bytes_max
    }

    pub(crate) fn add(&mut self, chain: (Key, Version), epoch: Epoch, write: Write, before: Option<Entity>) {
        let owned = (write.partition, epoch);
        if !self.batch.epochs.contains(&owned) {
            self.batch.epochs.push(owned);
        }
        self.bytes += write.weight();
        self.batch.writes.push(write);
        self.chains.push(chain);
        if cfg!(feature = "planted") {
            self.before.push(before);
        }
    }

    /// Keeps the writes whose entry in `keep` is true. A write without an entry is dropped.
    fn retain(&mut self, keep: &[bool]) {
        let mut kept = keep.iter();
        self.batch.writes.retain(|_| *kept.next().unwrap_or(&false));
        let mut kept = keep.iter();
        self.chains.retain(|_| *kept.next().unwrap_or(&false));
        let mut kept = keep.iter();
        self.before.retain(|_| *kept.next().unwrap_or(&false));
    }
}

/// Writes one batch.
pub(crate) struct Writer<'a> {
    shared: &'a Shared,
    batch: InFlightBatch,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(shared: &'a Shared, batch: InFlightBatch) -> Self {
        Self { shared, batch }
    }

    /// Writes the batch, retries until the store answers (R4), and settles the batch.
    pub(crate) async fn run(mut self) {
        let writing = Whenever(self.shared, Core::written);
        let (mut failures, mut released) = (0, Released::default());
        while !self.batch.is_empty() && !self.shared.is_closed() {
            match self.write().await {
                Ok(verdicts) => {
                    let settled = verdicts
                        .into_iter()
                        .zip(&self.batch.batch.writes)
                        .map(|(verdict, write)| settled(verdict, write));
                    let settled: Vec<_> = settled.collect();
                    released = self.settle_all(settled);
                    break;
                }
                Err(error) => {
                    failures += 1;
                    self.shared.store_trouble(&error);
                    self.shared.set_trouble(Some(error.clone()));
                    self.shared.pause(failures).await;
                    self.take_in(error).await;
                }
            }
        }
        if failures > 0 {
            self.shared.set_trouble(None);
        }
        // The next batch must not wait while values of the author's are dropped.
        drop(writing);
        if released.drops() {
            released.threads += self.shared.lock().threads_wanted(&self.shared.options);
        }
        self.shared.let_go(released);
    }

    async fn write(&mut self) -> Result<Vec<Verdict>, StoreError> {
        mutants::before_the_batch(self.shared, &mut self.batch).await?;
        // Each try has a new number, so that the store refuses an earlier try that is still on its way.
        self.batch.batch.number = self.shared.next_number();
        self.shared.store()?.commit(&self.batch.batch).await
    }

    /// Handles an error: chains that are known to be durable are settled, chains that never will be are
    /// given up, and the rest stays to be written again.
    async fn take_in(&mut self, error: StoreError) {
        if error.applied() == Applied::Unknown {
            return self.look_what_happened().await;
        }
        if !error.is_retryable() {
            let settled = self.batch.chains.iter().map(|_| Some(Ruling::Settle(Settled::Failed(error.clone()))));
            let settled = settled.collect();
            self.shared.let_go(self.settle_all(settled));
            self.batch.retain(&[]);
        }
    }

    /// Reads back every entity of a batch with an unknown outcome, before anything else is done (fB13).
    async fn look_what_happened(&mut self) {
        if Bug::UnknownRetriedBlindly.planted() {
            let blind = self.batch.chains.iter().map(|_| Some(Ruling::Settle(Settled::Stale))).collect();
            self.shared.let_go(self.settle_all(blind));
            return self.batch.retain(&[]);
        }
        let reads: Vec<Read> = self.batch.batch.writes.iter().map(trace_of).collect();
        let mut failures = 0;
        let found = loop {
            if self.shared.is_closed() {
                return;
            }
            match self.read(&reads).await {
                Ok(found) => break found,
                Err(error) => {
                    failures += 1;
                    self.shared.store_trouble(&error);
                    self.shared.pause(failures).await;
                }
            }
        };
        let rulings: Vec<_> =
            self.batch.batch.writes.iter().zip(&found).map(|(write, found)| happened(write, found)).collect();
        let keep: Vec<bool> = rulings.iter().map(Option::is_none).collect();
        self.shared.let_go(self.settle_all(rulings.clone()));
        mutants::doubled_delivery(self.shared, &self.batch, &rulings);
        self.batch.retain(&keep);
    }

    async fn read(&self, reads: &[Read]) -> Result<Vec<Found>, StoreError> {
        self.shared.store()?.read(reads).await
    }

    /// Gives each entity the verdict on its part; returns the effects that follow. A small batch is settled
    /// here and now: a lone caller is answered at once, and this thread continues with what follows. In a
    /// large batch each entity takes its verdict when it is visited: all threads share the work, and an
    /// entity comes into the cache of its thread once and not twice.
    fn settle_all(&self, rulings: Vec<Option<Ruling>>) -> Released {
        self.shared.lock().written_one_batch(rulings.len());
        let mut lost = BTreeSet::new();
        let mut told = Vec::with_capacity(rulings.len());
        for ((chain, write), ruling) in self.batch.chains.iter().zip(&self.batch.batch.writes).zip(rulings) {
            match ruling {
                Some(Ruling::Settle(verdict)) => told.push((chain, verdict)),
                Some(Ruling::Lose) => drop(lost.insert(write.partition)),
                None => {}
            }
        }
        let mut released = Released::default();
        if told.len() <= self.shared.options.settled_here_max {
            let mut core = self.shared.lock();
            told.into_iter().for_each(|(chain, verdict)| core.settle(chain, verdict, self.shared, &mut released));
        } else {
            self.tell_later(told);
        }
        if !lost.is_empty() {
            self.lose_all(lost, &mut released);
        }
        released
    }

    /// Delivers verdicts a few at a time: other threads begin with the first while the last still wait.
    fn tell_later(&self, told: Vec<(&(Key, Version), Settled)>) {
        let mut told = told.into_iter().peekable();
        while told.peek().is_some() {
            self.shared.with(|core, _| {
                told.by_ref().take(TOLD_AT_ONCE).for_each(|(chain, verdict)| core.post_verdict(chain, verdict));
            });
        }
    }

    fn lose_all(&self, lost: BTreeSet<Partition>, released: &mut Released) {
        let mut core = self.shared.lock();
        let held = |partition: &Partition| {
            let epoch = core.leases.get(partition).map(|lease| lease.epoch);
            self.batch.batch.epochs.iter().any(|(of, with)| of == partition && Some(*with) == epoch)
        };
        let lost: Vec<Partition> = lost.into_iter().filter(held).collect();
        for partition in lost {
            tracing::warn!(partition = partition.0, "another worker has taken the partition over");
            core.lose(partition, self.shared, released);
        }
    }
}

/// Notifies the core that a job is over, however the job ends. Otherwise the next job of its kind would
/// never begin.
pub(crate) struct Whenever<'a>(pub(crate) &'a Shared, pub(crate) fn(&mut Core));

impl Drop for Whenever<'_> {
    fn drop(&mut self) {
        (self.1)(&mut self.0.lock());
    }
}

/// The meaning of a verdict for an entity.
#[derive(Clone, Debug)]
pub(crate) enum Ruling {
    Settle(Settled),
    /// The partition has another owner.
    Lose,
}

fn settled(verdict: Verdict, write: &Write) -> Option<Ruling> {
    Some(match verdict {
        Verdict::Applied => Ruling::Settle(Settled::Applied),
        // An earlier try of this write seemed lost and has happened: this try has met it (fB13).
        Verdict::Stale(found) if is_as_made(write, found) => Ruling::Settle(Settled::Applied),
        Verdict::Stale(_) => Ruling::Settle(Settled::Stale),
        Verdict::Fenced(_) => Ruling::Lose,
        Verdict::Refused(why) => Ruling::Settle(Settled::Refused(why)),
    })
}

/// Whether the store has the entity as this write leaves it. No version is used twice, and within an epoch
/// no other owner destroys the entity that the guard names.
fn is_as_made(write: &Write, found: Option<Version>) -> bool {
    match (&write.after, found) {
        (After::Entity(entity), Some(found)) => entity.version == found,
        (After::Destroyed, None) => matches!(write.guard, Guard::At { .. }),
        _ => false,
    }
}

/// Returns the read that shows whether a write has happened.
fn trace_of(write: &Write) -> Read {
    let key = write.key.clone();
    match (&write.after, write.taken.first(), write.remember.first()) {
        (After::Unbound, Some(taken), _) => Read::Inbox { key, after: before(*taken), limit: 1 },
        (After::Unbound, None, Some(remember)) => Read::Remembered { key, once: remember.once.clone() },
        _ => Read::Entity(key),
    }
}

/// Returns the id just before `id`, so that a page of the inbox begins with `id`.
fn before(id: MessageId) -> Option<MessageId> {
    match id.index.checked_sub(1) {
        Some(index) => Some(MessageId { index, ..id }),
        None => Some(MessageId { version: Version(id.version.0.saturating_sub(1)), index: u32::MAX }),
    }
}

/// Returns what became of a write; `None` if it has not happened and can be written again.
fn happened(write: &Write, found: &Found) -> Option<Ruling> {
    let applied = Some(Ruling::Settle(Settled::Applied));
    match (found, &write.after) {
        (Found::Inbox(letters), _) => {
            let still_there = letters.first().map(|letter| letter.id) == write.taken.first().copied();
            if still_there { None } else { applied }
        }
        (Found::Remembered(remembered), _) => remembered.as_ref().and(applied),
        (Found::Entity(None), After::Destroyed) => applied,
        (Found::Entity(Some(found)), After::Entity(ours)) if found.version == ours.version => applied,
        (Found::Entity(found), _) => match (found, write.guard) {
            (None, Guard::Absent) => None,
            (Some(found), Guard::At { version, .. }) if found.version == version => None,
            // Another write has come since, and only another owner can have made it.
            _ => Some(Ruling::Lose),
        },
        _ => None,
    }
}
