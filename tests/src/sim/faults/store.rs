//! A store that fails: before the call, after it, late, slowly, or by killing the caller. Each process has
//! a faulty store; all of them wrap the one witnessed store.

use std::{future::pending, sync::Arc, sync::Mutex, time::Duration};

use drystone_runtime::{
    Key, Millis, Store,
    store::{
        Answer, Batch, Claimed, Cursor, Found, HintSender, Hints, Outgoing, Page, Query, Read, Ready, StoreError,
        StoreErrorKind, Verdict, Want, Woken, Worker,
        migration::{Migration, MigrationFault},
        sql::{EachRow, Script, Scripted, Sql, SqlFault, SqlValue, Statements},
    },
};
use tokio::sync::{Notify, oneshot};

use crate::sim::{
    drawing::random::Chance,
    recording::log::lock,
    running::{executor::Group, world::World},
};

/// The store of one process.
pub struct FaultyStore {
    world: Arc<World>,
    process: usize,
    group: Group,
    chance: Mutex<Chance>,
    /// Notified whenever this process has read something; late calls wait for that.
    looked: Arc<Notify>,
}

/// The delays and the fault drawn for one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Plan {
    before: Duration,
    after: Duration,
    fault: Option<Fault>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The call returns an error and does nothing.
    Before(StoreErrorKind),
    /// The call takes effect and returns an error.
    After,
    /// The call returns an error and takes effect later.
    Late,
    /// The caller dies; the call does nothing.
    CrashBefore,
    /// The caller dies; the call takes effect later.
    CrashDuring,
    /// The caller dies after the call took effect.
    CrashAfter,
}

impl FaultyStore {
    /// Creates the store of this process.
    pub fn new(world: Arc<World>, process: usize, group: Group) -> Self {
        let chance = Mutex::new(world.chance());
        Self { world, process, group, chance, looked: Arc::default() }
    }

    /// Draws the fault of a call. Only a call that writes can fail with an unknown outcome.
    fn plan(&self, writes: bool) -> Plan {
        if self.world.is_calm() {
            return Plan::default();
        }
        let mut chance = lock(&self.chance);
        let faults = &self.world.swarm.faults;
        let fault = if chance.permille(faults.error_before) {
            Some(Fault::Before(chance.pick(&[StoreErrorKind::Busy, StoreErrorKind::Unavailable])))
        } else if writes && chance.permille(faults.error_after) {
            Some(Fault::After)
        } else if writes && chance.permille(faults.applied_late) {
            Some(Fault::Late)
        } else if chance.permille(faults.crash) && self.world.may_crash() {
            Some(chance.pick(&[Fault::CrashBefore, Fault::CrashDuring, Fault::CrashAfter]))
        } else {
            None
        };
        Plan { before: self.delay(&mut chance), after: self.delay(&mut chance), fault }
    }

    fn delay(&self, chance: &mut Chance) -> Duration {
        let faults = &self.world.swarm.faults;
        if chance.permille(faults.stall) {
            return self.world.swarm.processes.lease + Duration::from_millis(chance.between(0, 2_000));
        }
        match chance.permille(faults.slow) {
            true => Duration::from_micros(chance.between(0, faults.slow_ms * 1_000)),
            false => Duration::ZERO,
        }
    }

    /// Runs a call that only reads.
    async fn reading<T>(&self, call: Answer<'_, T>) -> Result<T, StoreError> {
        let _under_way = self.world.weather.begin();
        self.meet(false).await?;
        let plan = self.plan(false);
        self.wait(plan.before).await;
        match plan.fault {
            Some(Fault::Before(kind)) => return Err(StoreError::new(kind, "drawn")),
            Some(Fault::CrashBefore | Fault::CrashDuring | Fault::CrashAfter) => self.crash().await,
            Some(Fault::After | Fault::Late) | None => {}
        }
        let answer = call.await;
        self.let_lost_calls_land().await;
        self.wait(plan.after).await;
        answer
    }

    /// Lets late calls take effect at the worst moment: right after their caller has read the store.
    async fn let_lost_calls_land(&self) {
        if Arc::strong_count(&self.looked) > 1 {
            self.looked.notify_waiters();
            self.world.executor.sleep(Duration::from_nanos(1)).await;
        }
    }

    /// Runs a call that writes. The call continues in the store even if its caller dies.
    async fn writing<T: Send + 'static>(&self, plan: Plan, call: Answer<'static, T>) -> Result<T, StoreError> {
        match plan.fault {
            Some(Fault::Before(kind)) => {
                self.wait(plan.before).await;
                return Err(StoreError::new(kind, "drawn"));
            }
            Some(Fault::CrashBefore) => self.crash().await,
            _ => {}
        }
        let answer = self.send(plan, call);
        match plan.fault {
            Some(Fault::Late) => {
                self.wait(plan.after).await;
                return Err(unknown());
            }
            Some(Fault::CrashDuring) => self.crash().await,
            _ => {}
        }
        let answer = answer.await.map_err(|_| unknown())?;
        if plan.fault == Some(Fault::CrashAfter) {
            self.crash().await;
        }
        self.wait(plan.after).await;
        if plan.fault == Some(Fault::After) { Err(unknown()) } else { answer }
    }

    /// Runs the call in a task of the store, which outlives the caller.
    fn send<T: Send + 'static>(
        &self,
        plan: Plan,
        call: Answer<'static, T>,
    ) -> oneshot::Receiver<Result<T, StoreError>> {
        let (answered, answer) = oneshot::channel();
        let (world, caller) = (self.world.clone(), self.group);
        let late = Duration::from_millis(lock(&self.chance).between(1, 700));
        let looked = (plan.fault == Some(Fault::Late)).then(|| self.looked.clone());
        let under_way = self.world.weather.begin();
        let task = async move {
            let _under_way = under_way;
            world.executor.sleep(plan.before).await;
            if let Some(looked) = looked {
                world.executor.within(late, looked.notified()).await;
            }
            let result = call.await;
            note_path(&world, &plan, world.executor.alive(caller));
            let _ = answered.send(result);
        };
        self.world.executor.spawn(self.world.store, "store", Box::pin(task));
        answer
    }

    /// Makes a call wait forever if its process is dead, and fail if the store is full or away.
    async fn meet(&self, writes: bool) -> Result<(), StoreError> {
        if !self.world.executor.alive(self.group) {
            // A process that was killed inside a poll makes no more calls.
            pending::<()>().await;
        }
        self.yield_sometimes().await;
        if self.world.is_calm() {
            return Ok(());
        }
        let met = self.world.weather.meets(writes, self.world.executor.monotonic());
        if let Err(error) = &met {
            let full = error.kind() == StoreErrorKind::Full;
            self.world.chronicle.sometimes(if full { "a store was full" } else { "a store was away" });
        }
        met
    }

    /// The store in memory answers within one poll. A real store lets other tasks run meanwhile, so yield
    /// at random.
    async fn yield_sometimes(&self) {
        let yields = lock(&self.chance).permille(self.world.swarm.faults.yields);
        if yields {
            let now = self.world.executor.monotonic();
            self.world.executor.sleep_until(now + Duration::from_nanos(1)).await;
        }
    }

    /// Sometimes makes the code of a script run twice, as if another script had spoilt the first
    /// transaction. The first run has no effect.
    fn spoil(&self, script: &Script) -> Script {
        let is_spoilt = !self.world.is_calm() && lock(&self.chance).permille(self.world.swarm.faults.spoilt);
        if !is_spoilt {
            return script.clone();
        }
        let (code, world) = (script.code.clone(), self.world.clone());
        let again = move |statements: &mut dyn Statements| {
            world.chronicle.sometimes("code of a transaction was run again");
            drop(code(&mut Spoilt));
            code(statements)
        };
        Script { code: Arc::new(again), ..script.clone() }
    }

    async fn crash(&self) {
        self.world.chronicle.note(|| format!("k{} dies in a call of the store", self.process));
        self.world.chronicle.sometimes("a process was killed");
        self.world.executor.kill(self.group);
        pending::<()>().await;
    }

    async fn wait(&self, span: Duration) {
        if !span.is_zero() {
            self.world.executor.sleep(span).await;
        }
    }
}

/// A transaction whose changes are all dropped.
struct Spoilt;

impl Statements for Spoilt {
    fn execute(&mut self, _: &str, _: &[SqlValue]) -> Result<usize, SqlFault> {
        Ok(1)
    }

    fn query(&mut self, _: &str, _: &[SqlValue], _: &mut EachRow<'_>) -> Result<(), SqlFault> {
        Ok(())
    }

    fn batch(&mut self, _: &str) -> Result<(), SqlFault> {
        Ok(())
    }

    fn put_message(&mut self, _: &Key, _: Millis, _: &Outgoing) -> Result<(), SqlFault> {
        Ok(())
    }
}

fn unknown() -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, "drawn: the answer is lost").outcome_unknown()
}

fn note_path(world: &World, plan: &Plan, caller_lives: bool) {
    match plan.fault {
        Some(Fault::After) => world.chronicle.sometimes("a commit was applied and answered with an error"),
        Some(Fault::Late) => world.chronicle.sometimes("a commit was applied after its error"),
        _ => {}
    }
    if !caller_lives {
        world.chronicle.sometimes("a commit of a dead process was applied");
    }
}

impl Store for FaultyStore {
    fn claim<'a>(&'a self, worker: &'a Worker, want: Want) -> Answer<'a, Claimed> {
        Box::pin(async move {
            let _under_way = self.world.weather.begin();
            self.meet(true).await?;
            let plan = self.plan(true);
            if plan == Plan::default() {
                return self.world.witness.claim(worker, want).await;
            }
            let (witness, worker) = (self.world.witness.clone(), worker.clone());
            self.writing(plan, Box::pin(async move { witness.claim(&worker, want).await })).await
        })
    }

    fn read<'a>(&'a self, reads: &'a [Read]) -> Answer<'a, Vec<Found>> {
        self.world.chronicle.note(|| format!("k{} reads {reads:?}", self.process));
        Box::pin(self.reading(self.world.witness.read(reads)))
    }

    fn commit<'a>(&'a self, batch: &'a Batch) -> Answer<'a, Vec<Verdict>> {
        Box::pin(async move {
            let _under_way = self.world.weather.begin();
            self.meet(true).await?;
            let plan = self.plan(true);
            self.world.chronicle.note(|| format!("k{} commits {} writes, {plan:?}", self.process, batch.writes.len()));
            if plan == Plan::default() {
                return self.world.witness.commit(batch).await;
            }
            let (witness, batch) = (self.world.witness.clone(), batch.clone());
            self.writing(plan, Box::pin(async move { witness.commit(&batch).await })).await
        })
    }

    fn ready<'a>(&'a self, which: &'a Ready, after: Option<&'a Cursor>, limit: usize) -> Answer<'a, Vec<Woken>> {
        Box::pin(self.reading(self.world.witness.ready(which, after, limit)))
    }

    fn list<'a>(&'a self, query: &'a Query) -> Answer<'a, Page> {
        Box::pin(self.reading(self.world.witness.list(query)))
    }

    fn sweep(&self, now: Millis, limit: usize) -> Answer<'_, usize> {
        Box::pin(self.reading(self.world.witness.sweep(now, limit)))
    }

    fn choose<'a>(&'a self, name: &'a str, value: &'a str) -> Answer<'a, String> {
        Box::pin(self.reading(self.world.witness.choose(name, value)))
    }

    fn sql(&self) -> Option<&dyn Sql> {
        Some(self)
    }

    /// Passes hints through a task that loses, doubles and delays them.
    fn hints(&self) -> Hints {
        let mut inner = self.world.witness.hints();
        let sender = HintSender::default();
        let hints = sender.subscribe();
        let (world, mut chance) = (self.world.clone(), lock(&self.chance).fork());
        let task = async move {
            while let Some(partition) = inner.next().await {
                let faults = &world.swarm.faults;
                if !world.is_calm() && chance.permille(faults.hint_lost) {
                    world.chronicle.sometimes("a hint was lost");
                    continue;
                }
                if chance.permille(faults.hint_late) {
                    world.executor.sleep(Duration::from_millis(chance.between(1, 800))).await;
                }
                if chance.permille(faults.hint_doubled) {
                    sender.send(partition);
                }
                sender.send(partition);
            }
        };
        self.world.executor.spawn(self.group, "hints", Box::pin(task));
        hints
    }
}

impl Sql for FaultyStore {
    fn migrate<'a>(&'a self, _: &'a [Migration]) -> Answer<'a, Result<(), MigrationFault>> {
        Box::pin(async { Ok(Ok(())) })
    }

    fn transact<'a>(&'a self, scripts: &'a [Script]) -> Answer<'a, Vec<Scripted>> {
        Box::pin(async move {
            let _under_way = self.world.weather.begin();
            self.meet(true).await?;
            let plan = self.plan(true);
            let scripts: Vec<_> = scripts.iter().map(|script| self.spoil(script)).collect();
            self.world.chronicle.note(|| format!("k{} brings {} scripts, {plan:?}", self.process, scripts.len()));
            if plan == Plan::default() {
                return self.world.witness.transact(&scripts).await;
            }
            let witness = self.world.witness.clone();
            self.writing(plan, Box::pin(async move { witness.transact(&scripts).await })).await
        })
    }
}
