//! A store that counts the calls to it, for tests that assert the cost of an operation.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{
    After, Answer, Batch, Claimed, Cursor, Found, Hints, Page, Query, Read, Ready, Store, StoreError, StoreErrorKind,
    Verdict, Want, Woken, Worker,
    migration::{Migration, MigrationFault},
    sql::{Script, Scripted, Sql},
};
use crate::Millis;

/// A wrapper around a store: counts all calls, and forwards each to the inner store.
#[derive(Debug)]
pub struct Counting<S> {
    inner: S,
    counters: Counters,
}

/// The counts so far. Subtract an earlier value with [`since`](Self::since) to get the counts in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreCounts {
    /// Calls of [`Store::claim`].
    pub claims: u64,
    /// Calls of [`Store::commit`].
    pub commits: u64,
    /// Calls of [`Store::read`].
    pub read_calls: u64,
    /// Single [`Read`]s in those calls.
    pub reads: u64,
    /// Calls of [`Store::ready`].
    pub scans: u64,
    /// Calls of [`Store::list`].
    pub lists: u64,
    /// Calls of [`Store::sweep`].
    pub sweeps: u64,
    /// Writes in the batches, whatever their verdict.
    pub writes: u64,
    /// Writes that were applied.
    pub applied: u64,
    /// Entity records that applied writes changed, made or destroyed.
    pub entities: u64,
    /// Rows that applied writes put or removed.
    pub rows: u64,
    /// Messages that applied writes sent.
    pub messages: u64,
    /// Calls of [`Sql::transact`]: one transaction per call, unless a script spoils the transaction.
    pub transactions: u64,
    /// Scripts in those calls.
    pub scripts: u64,
}

#[derive(Debug, Default)]
struct Counters {
    claims: AtomicU64,
    commits: AtomicU64,
    read_calls: AtomicU64,
    reads: AtomicU64,
    scans: AtomicU64,
    lists: AtomicU64,
    sweeps: AtomicU64,
    writes: AtomicU64,
    applied: AtomicU64,
    entities: AtomicU64,
    rows: AtomicU64,
    messages: AtomicU64,
    transactions: AtomicU64,
    scripts: AtomicU64,
}

impl<S: Store> Counting<S> {
    /// Wraps `inner`; all counts begin at zero.
    pub fn new(inner: S) -> Self {
        Self { inner, counters: Counters::default() }
    }

    /// Returns the wrapped store.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> StoreCounts {
        self.counters.snapshot()
    }
}

impl StoreCounts {
    /// Returns the counts since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            claims: self.claims - earlier.claims,
            commits: self.commits - earlier.commits,
            read_calls: self.read_calls - earlier.read_calls,
            reads: self.reads - earlier.reads,
            scans: self.scans - earlier.scans,
            lists: self.lists - earlier.lists,
            sweeps: self.sweeps - earlier.sweeps,
            writes: self.writes - earlier.writes,
            applied: self.applied - earlier.applied,
            entities: self.entities - earlier.entities,
            rows: self.rows - earlier.rows,
            messages: self.messages - earlier.messages,
            transactions: self.transactions - earlier.transactions,
            scripts: self.scripts - earlier.scripts,
        }
    }
}

impl Counters {
    fn snapshot(&self) -> StoreCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        StoreCounts {
            claims: read(&self.claims),
            commits: read(&self.commits),
            read_calls: read(&self.read_calls),
            reads: read(&self.reads),
            scans: read(&self.scans),
            lists: read(&self.lists),
            sweeps: read(&self.sweeps),
            writes: read(&self.writes),
            applied: read(&self.applied),
            entities: read(&self.entities),
            rows: read(&self.rows),
            messages: read(&self.messages),
            transactions: read(&self.transactions),
            scripts: read(&self.scripts),
        }
    }

    fn applied(&self, batch: &Batch, verdicts: &[Verdict]) {
        for (write, verdict) in batch.writes.iter().zip(verdicts) {
            if *verdict == Verdict::Applied {
                add(&self.applied, 1);
                add(&self.entities, usize::from(write.after != After::Unbound));
                add(&self.rows, write.rows.len());
                add(&self.messages, write.sent.len());
            }
        }
    }
}

fn add(counter: &AtomicU64, count: usize) {
    counter.fetch_add(count as u64, Ordering::Relaxed);
}

impl<S: Store> Store for Counting<S> {
    fn claim<'a>(&'a self, worker: &'a Worker, want: Want) -> Answer<'a, Claimed> {
        add(&self.counters.claims, 1);
        self.inner.claim(worker, want)
    }

    fn read<'a>(&'a self, reads: &'a [Read]) -> Answer<'a, Vec<Found>> {
        add(&self.counters.read_calls, 1);
        add(&self.counters.reads, reads.len());
        self.inner.read(reads)
    }

    fn commit<'a>(&'a self, batch: &'a Batch) -> Answer<'a, Vec<Verdict>> {
        add(&self.counters.commits, 1);
        add(&self.counters.writes, batch.writes.len());
        Box::pin(async move {
            let verdicts = self.inner.commit(batch).await?;
            self.counters.applied(batch, &verdicts);
            Ok(verdicts)
        })
    }

    fn ready<'a>(&'a self, which: &'a Ready, after: Option<&'a Cursor>, limit: usize) -> Answer<'a, Vec<Woken>> {
        add(&self.counters.scans, 1);
        self.inner.ready(which, after, limit)
    }

    fn list<'a>(&'a self, query: &'a Query) -> Answer<'a, Page> {
        add(&self.counters.lists, 1);
        self.inner.list(query)
    }

    fn sweep(&self, now: Millis, limit: usize) -> Answer<'_, usize> {
        add(&self.counters.sweeps, 1);
        self.inner.sweep(now, limit)
    }

    fn choose<'a>(&'a self, name: &'a str, value: &'a str) -> Answer<'a, String> {
        self.inner.choose(name, value)
    }

    fn hints(&self) -> Hints {
        self.inner.hints()
    }

    fn sql(&self) -> Option<&dyn Sql> {
        self.inner.sql().is_some().then_some(self)
    }
}

impl<S: Store> Sql for Counting<S> {
    fn transact<'a>(&'a self, scripts: &'a [Script]) -> Answer<'a, Vec<Scripted>> {
        add(&self.counters.transactions, 1);
        add(&self.counters.scripts, scripts.len());
        Box::pin(async move {
            match self.inner.sql() {
                Some(sql) => sql.transact(scripts).await,
                None => Err(StoreError::new(StoreErrorKind::Unsupported, "the store has no SQL")),
            }
        })
    }

    fn migrate<'a>(&'a self, list: &'a [Migration]) -> Answer<'a, Result<(), MigrationFault>> {
        Box::pin(async move {
            match self.inner.sql() {
                Some(sql) => sql.migrate(list).await,
                None => Err(StoreError::new(StoreErrorKind::Unsupported, "the store has no SQL")),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{driver::block_on, store::Memory};

    #[test]
    fn calls_are_counted_and_a_span_is_the_difference() {
        let store = Counting::new(Memory::new(|| Millis(0), 1));
        block_on(store.commit(&Batch::default())).unwrap();
        let before = store.counts();
        block_on(store.read(&[])).unwrap();
        block_on(store.sweep(Millis(0), 1)).unwrap();
        block_on(store.list(&Query::default())).unwrap();
        assert_eq!((before.commits, before.read_calls), (1, 0));
        let expected = StoreCounts { read_calls: 1, sweeps: 1, lists: 1, ..StoreCounts::default() };
        assert_eq!(store.counts().since(before), expected);
    }
}
