//! The store of a world, with switches that break it or kill the process that uses it.

use std::{
    collections::BTreeMap,
    fmt,
    future::pending,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use drystone_runtime::{
    Epoch, Millis, Partition,
    driver::block_on,
    store::{
        Answer, Batch, Claimed, Cursor, Found, Hints, Page, Query, Read, Ready, Store, StoreError, StoreErrorKind,
        Verdict, Want, Woken, Worker,
        migration::{Migration, MigrationFault},
        sql::{Script, Scripted, Sql},
    },
};

use super::{machine::executor::Executor, trial::Trial};

/// A fault of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The store answers everything with errors.
    Down,
    /// The store cannot be written.
    Full,
    /// The next commit is applied, but its answer is lost: it is an error with an unknown outcome.
    LostAnswer,
    /// The next commit is not applied, and its answer is an error with an unknown outcome.
    LostCommit,
}

/// The moment of a commit at which a process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before the store has got the commit: nothing of it is kept.
    Before,
    /// After the store has applied the commit: it is durable, but nobody was notified.
    After,
}

/// Passes every call on to the store of the living process, unless a switch says otherwise.
pub(super) struct Gate {
    executor: Executor,
    store: Mutex<Option<Arc<dyn Store>>>,
    switches: Mutex<Switches>,
    trial: Option<Arc<Trial>>,
}

#[derive(Default)]
struct Switches {
    fault: Option<Fault>,
    fatal: Option<(u64, Moment)>,
    worker: Option<Worker>,
    leases: BTreeMap<Partition, Epoch>,
}

impl Gate {
    pub(super) fn new(executor: Executor, trial: Option<Arc<Trial>>) -> Self {
        Self { executor, store: Mutex::default(), switches: Mutex::default(), trial }
    }

    /// Sets the store of a new process.
    pub(super) fn open(&self, store: Arc<dyn Store>) {
        *self.behind() = Some(store);
    }

    /// Ends the leases of a dead process, as a closed file does, and drops the store.
    pub(super) fn close(&self) {
        let (worker, held) = {
            let mut switches = self.switches();
            switches.fatal = None;
            (switches.worker.take(), std::mem::take(&mut switches.leases).into_iter().collect())
        };
        let store = self.behind().take();
        if let (Some(worker), Some(store)) = (worker, store) {
            let want = Want::Release { held, clean: false, now: Millis(0) };
            // The answer does not matter: a lease that was given back in order is not ended again.
            drop(block_on(store.claim(&worker, want)));
        }
    }

    /// Breaks the store in this way from now on; `None` repairs it.
    pub(super) fn breaks(&self, fault: Option<Fault>) {
        self.switches().fault = fault;
    }

    /// Kills the process that makes the `n`th commit from now.
    pub(super) fn kills_at(&self, n: u64, moment: Moment) {
        self.switches().fatal = (n > 0).then_some((n, moment));
    }

    fn switches(&self) -> MutexGuard<'_, Switches> {
        self.switches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn behind(&self) -> MutexGuard<'_, Option<Arc<dyn Store>>> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the store, if the caller may use it.
    async fn store(&self, is_write: bool) -> Result<Arc<dyn Store>, StoreError> {
        let store = self.behind().clone();
        let (Some(store), false) = (store, self.executor.current_is_dead()) else {
            // The process is dead, so its call never ends.
            return pending().await;
        };
        match self.switches().fault {
            Some(Fault::Down) => Err(StoreError::new(StoreErrorKind::Unavailable, "the store is down")),
            Some(Fault::Full) if is_write => Err(StoreError::new(StoreErrorKind::Full, "the disk is full")),
            _ => Ok(store),
        }
    }

    fn count_down(&self, is_anybodys: bool) -> Option<Moment> {
        let mut switches = self.switches();
        let (left, moment) = switches.fatal.filter(|_| is_anybodys)?;
        switches.fatal = (left > 1).then_some((left - 1, moment));
        (left == 1).then_some(moment)
    }

    async fn die<T>(&self, tried: Option<Moment>) -> T {
        self.executor.kill_current();
        if let (Some(trial), Some(_)) = (&self.trial, tried) {
            trial.dies();
        }
        pending().await
    }

    fn lost(&self) -> Option<Fault> {
        let mut switches = self.switches();
        switches.fault.take_if(|fault| matches!(fault, Fault::LostAnswer | Fault::LostCommit))
    }

    async fn committed(&self, batch: &Batch) -> Result<Vec<Verdict>, StoreError> {
        let store = self.store(true).await?;
        let tried = self.trial.as_ref().and_then(|trial| trial.commit(batch));
        // A batch without writes of entities, such as that of an opening, does not count as a commit.
        let write = async { store.commit(batch).await };
        let verdicts = self.written(!batch.writes.is_empty(), tried, write).await?;
        if let Some(trial) = &self.trial {
            trial.hint(batch, &verdicts);
        }
        Ok(verdicts)
    }

    async fn transacted(&self, scripts: &[Script]) -> Result<Vec<Scripted>, StoreError> {
        let store = self.store(true).await?;
        let Some(sql) = store.sql() else {
            return Err(StoreError::new(StoreErrorKind::Unsupported, "the store has no SQL"));
        };
        let tried = self.trial.as_ref().and_then(|trial| trial.transaction(scripts));
        self.written(true, tried, async { sql.transact(scripts).await }).await
    }

    /// Makes a write, unless a switch says otherwise.
    async fn written<T>(
        &self,
        is_anybodys: bool,
        tried: Option<Moment>,
        write: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let unknown = || StoreError::new(StoreErrorKind::Unavailable, "the answer was lost").outcome_unknown();
        match self.lost() {
            Some(Fault::LostCommit) => return Err(unknown()),
            Some(_) => return write.await.and(Err(unknown())),
            None => {}
        }
        match self.count_down(is_anybodys).or(tried) {
            Some(Moment::Before) => self.die(tried).await,
            Some(Moment::After) => {
                write.await?;
                self.die(tried).await
            }
            None => write.await,
        }
    }

    fn remember(&self, worker: &Worker, claimed: &Claimed) {
        let mut switches = self.switches();
        switches.worker = Some(worker.clone());
        switches.leases.extend(claimed.leases.iter().map(|lease| (lease.partition, lease.epoch)));
    }
}

impl Store for Gate {
    fn claim<'a>(&'a self, worker: &'a Worker, want: Want) -> Answer<'a, Claimed> {
        Box::pin(async move {
            let takes = matches!(want, Want::Take { .. });
            let claimed = self.store(false).await?.claim(worker, want).await?;
            if takes && !claimed.leases.is_empty() {
                self.remember(worker, &claimed);
            }
            Ok(claimed)
        })
    }

    fn read<'a>(&'a self, reads: &'a [Read]) -> Answer<'a, Vec<Found>> {
        Box::pin(async move { self.store(false).await?.read(reads).await })
    }

    fn commit<'a>(&'a self, batch: &'a Batch) -> Answer<'a, Vec<Verdict>> {
        Box::pin(self.committed(batch))
    }

    fn ready<'a>(&'a self, which: &'a Ready, after: Option<&'a Cursor>, limit: usize) -> Answer<'a, Vec<Woken>> {
        Box::pin(async move { self.store(false).await?.ready(which, after, limit).await })
    }

    fn list<'a>(&'a self, query: &'a Query) -> Answer<'a, Page> {
        Box::pin(async move { self.store(false).await?.list(query).await })
    }

    fn sweep(&self, now: Millis, limit: usize) -> Answer<'_, usize> {
        Box::pin(async move { self.store(false).await?.sweep(now, limit).await })
    }

    fn choose<'a>(&'a self, name: &'a str, value: &'a str) -> Answer<'a, String> {
        Box::pin(async move { self.store(false).await?.choose(name, value).await })
    }

    fn hints(&self) -> Hints {
        if let Some(hints) = self.trial.as_ref().and_then(|trial| trial.hints()) {
            return hints;
        }
        self.behind().as_ref().map_or_else(|| drystone_runtime::store::HintSender::default().subscribe(), |s| s.hints())
    }

    fn sql(&self) -> Option<&dyn Sql> {
        self.behind().as_ref().is_some_and(|store| store.sql().is_some()).then_some(self)
    }
}

impl Sql for Gate {
    fn transact<'a>(&'a self, scripts: &'a [Script]) -> Answer<'a, Vec<Scripted>> {
        Box::pin(self.transacted(scripts))
    }

    fn migrate<'a>(&'a self, list: &'a [Migration]) -> Answer<'a, Result<(), MigrationFault>> {
        Box::pin(async move {
            match self.store(true).await?.sql() {
                Some(sql) => sql.migrate(list).await,
                None => Err(StoreError::new(StoreErrorKind::Unsupported, "the store has no SQL")),
            }
        })
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Gate").field("fault", &self.switches().fault).finish_non_exhaustive()
    }
}
