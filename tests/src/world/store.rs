//! The store of a test: the reference store in memory, with counters, and with switches that stall it, break
//! it or kill the calling process.

use std::{
    collections::BTreeMap,
    future::pending,
    sync::{Mutex, MutexGuard, PoisonError},
};

use drystone_runtime::{
    Epoch, Millis, Partition,
    driver::block_on,
    store::{
        Answer, Batch, Claimed, Counting, Cursor, Found, Hints, Memory, Page, Query, Read, Ready, Store, StoreCounts,
        StoreError, StoreErrorKind, Verdict, Want, Woken, Worker,
    },
};

use super::{Executor, Fault, Latch, Moment};

/// A store in memory with switches.
pub struct TestStore {
    inner: Counting<Memory>,
    executor: Executor,
    switches: Mutex<Switches>,
}

#[derive(Default)]
struct Switches {
    stalled: Option<Latch>,
    silent: Option<Latch>,
    reads: Option<Latch>,
    fault: Option<Fault>,
    fatal: Option<(u64, Moment)>,
    late: Option<Late>,
    leases: BTreeMap<Partition, Epoch>,
    worker: Option<Worker>,
}

/// A commit whose answer is lost, and which the store applies later.
enum Late {
    /// The next commit will be delayed.
    Next,
    /// This batch is delayed until the next commit.
    On(Box<Batch>),
}

impl TestStore {
    pub(super) fn new(executor: Executor) -> Self {
        let clock = executor.clone();
        let inner = Counting::new(Memory::new(move || clock.wall(), 1));
        Self { inner, executor, switches: Mutex::default() }
    }

    /// Returns the store itself, without the switches.
    pub fn inner(&self) -> &Memory {
        self.inner.inner()
    }

    /// The counts of all calls so far.
    pub fn counts(&self) -> StoreCounts {
        self.inner.counts()
    }

    /// From now on commits wait.
    pub fn stall(&self) {
        self.switches().stalled = Some(Latch::default());
    }

    /// Lets commits continue.
    pub fn go_on(&self) {
        if let Some(latch) = self.switches().stalled.take() {
            latch.open();
        }
    }

    /// Lets the next commit happen, but holds its answer until the returned latch opens.
    pub fn hold_answer(&self) -> Latch {
        self.switches().silent.insert(Latch::default()).clone()
    }

    /// Loses the answer to the next commit, and applies it only when the commit after it comes.
    pub fn delays_commit(&self) {
        self.switches().late = Some(Late::Next);
    }

    /// From now on reads wait for the returned latch.
    pub fn hold_reads(&self) -> Latch {
        self.switches().reads.insert(Latch::default()).clone()
    }

    /// Sets the fault of the store. `None` mends the store.
    pub fn breaks(&self, fault: Option<Fault>) {
        self.switches().fault = fault;
    }

    /// Kills the process that makes the `n`th call from here, before or after that call.
    pub fn kills_at(&self, n: u64, moment: Moment) {
        self.switches().fatal = Some((n, moment));
    }

    /// Cancels the planned kill. Returns whether it was still to come.
    pub fn spares(&self) -> bool {
        self.switches().fatal.take().is_some()
    }

    /// Ends all leases without notifying their owners, as when a file is opened again or the store's clock
    /// jumps.
    pub fn end_leases(&self) {
        let (worker, held) = {
            let mut switches = self.switches();
            (switches.worker.take(), std::mem::take(&mut switches.leases).into_iter().collect())
        };
        if let Some(worker) = worker {
            let want = Want::Release { held, clean: false, now: Millis(0) };
            // A lease that was released in order has no effect here.
            drop(block_on(self.inner().claim(&worker, want)));
        }
    }

    fn switches(&self) -> MutexGuard<'_, Switches> {
        self.switches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes one call, with the planned kill and the fault applied to it.
    async fn meet<T>(&self, is_write: bool, answer: Answer<'_, T>) -> Result<T, StoreError> {
        if self.executor.current_is_dead() {
            // The code of this process has just killed the process, so the call must never get an answer.
            return pending().await;
        }
        let dies = self.count_down();
        if dies == Some(Moment::Before) {
            return self.die().await;
        }
        let fault = self.switches().fault;
        match fault {
            Some(Fault::Down) => return Err(StoreError::new(StoreErrorKind::Unavailable, "the store is down")),
            Some(Fault::Full) if is_write => return Err(StoreError::new(StoreErrorKind::Full, "the disk is full")),
            _ => {}
        }
        let answered = answer.await;
        if dies == Some(Moment::After) {
            return self.die().await;
        }
        answered
    }

    fn count_down(&self) -> Option<Moment> {
        let mut switches = self.switches();
        let (left, moment) = switches.fatal?;
        switches.fatal = (left > 1).then_some((left - 1, moment));
        (left == 1).then_some(moment)
    }

    async fn die<T>(&self) -> T {
        self.executor.kill_current();
        pending().await
    }

    /// Applies the delayed commit, if any. Returns whether this commit is delayed instead.
    async fn is_delayed(&self, batch: &Batch) -> Result<bool, StoreError> {
        let late = self.switches().late.take();
        match late {
            None => Ok(false),
            Some(Late::Next) => {
                self.switches().late = Some(Late::On(Box::new(batch.clone())));
                Ok(true)
            }
            Some(Late::On(before)) => self.inner.commit(&before).await.map(|_| false),
        }
    }

    fn lost(&self) -> Option<Fault> {
        let mut switches = self.switches();
        let lost = switches.fault.filter(|fault| matches!(fault, Fault::LostAnswer | Fault::LostCommit));
        if lost.is_some() {
            switches.fault = None;
        }
        lost
    }
}

impl Store for TestStore {
    fn claim<'a>(&'a self, worker: &'a Worker, want: Want) -> Answer<'a, Claimed> {
        Box::pin(async move {
            let takes = matches!(want, Want::Take { .. });
            let claimed = self.meet(false, self.inner.claim(worker, want)).await?;
            if takes && !claimed.leases.is_empty() {
                let mut switches = self.switches();
                switches.worker = Some(worker.clone());
                switches.leases.extend(claimed.leases.iter().map(|lease| (lease.partition, lease.epoch)));
            }
            Ok(claimed)
        })
    }

    fn read<'a>(&'a self, reads: &'a [Read]) -> Answer<'a, Vec<Found>> {
        Box::pin(async move {
            let held = self.switches().reads.clone();
            if let Some(latch) = held {
                latch.wait().await;
            }
            self.meet(false, self.inner.read(reads)).await
        })
    }

    fn commit<'a>(&'a self, batch: &'a Batch) -> Answer<'a, Vec<Verdict>> {
        Box::pin(async move {
            let stalled = self.switches().stalled.clone();
            // A batch without writes belongs to the opening of a kernel, not to a turn.
            if let Some(latch) = stalled.filter(|_| !batch.writes.is_empty()) {
                latch.wait().await;
            }
            if !batch.writes.is_empty() && self.is_delayed(batch).await? {
                return Err(StoreError::new(StoreErrorKind::Unavailable, "the answer was lost").outcome_unknown());
            }
            let unknown = || Err(StoreError::new(StoreErrorKind::Unavailable, "the answer was lost").outcome_unknown());
            match self.lost() {
                Some(Fault::LostCommit) => return unknown(),
                Some(_) => {
                    self.inner.commit(batch).await?;
                    return unknown();
                }
                None => {}
            }
            let silent = if batch.writes.is_empty() { None } else { self.switches().silent.take() };
            let answer = self.meet(true, self.inner.commit(batch)).await;
            if let Some(latch) = silent {
                latch.wait().await;
            }
            answer
        })
    }

    fn ready<'a>(&'a self, which: &'a Ready, after: Option<&'a Cursor>, limit: usize) -> Answer<'a, Vec<Woken>> {
        Box::pin(self.meet(false, self.inner.ready(which, after, limit)))
    }

    fn list<'a>(&'a self, query: &'a Query) -> Answer<'a, Page> {
        Box::pin(self.meet(false, self.inner.list(query)))
    }

    fn sweep(&self, now: Millis, limit: usize) -> Answer<'_, usize> {
        Box::pin(self.meet(false, self.inner.sweep(now, limit)))
    }

    fn choose<'a>(&'a self, name: &'a str, value: &'a str) -> Answer<'a, String> {
        Box::pin(self.meet(false, self.inner.choose(name, value)))
    }

    fn hints(&self) -> Hints {
        self.inner.hints()
    }
}
