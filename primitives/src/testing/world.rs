//! A whole app in a test.

use std::{marker::PhantomData, path::PathBuf, sync::Arc, time::Duration};

use drystone_runtime::{
    Kernel, Registry,
    kernel::{Event, Explain, Report},
    store::StoreCounts,
};

use super::{
    clock::Clock,
    machine::{Life, Machine},
    setup::Setup,
    store::{Fault, Moment},
};
use crate::{
    Address, App, CallError, DeadLetters, Desk, Entities, Error, Primitives, Timestamp, Transaction, View,
    app::registry, definitions::Definitions,
};

/// A machine with one process on it, which runs the app `A`: see the [module](super).
#[derive(Debug)]
pub struct World<A = ()> {
    machine: Machine,
    registry: Registry,
    app: PhantomData<fn() -> A>,
}

impl World<()> {
    /// A world whose store is in memory.
    pub fn memory() -> Setup<()> {
        Setup::memory()
    }

    /// A world whose store is a SQLite file of its own, removed when the world is dropped.
    pub fn sqlite() -> Setup<()> {
        Setup::sqlite()
    }

    /// A world whose store is this SQLite file, which stays.
    pub fn sqlite_at(path: impl Into<PathBuf>) -> Setup<()> {
        Setup::sqlite_at(path.into())
    }
}

impl<A: Primitives> World<A> {
    pub(super) async fn start(machine: Machine, registry: Registry) -> Result<Self, Error> {
        machine.start(registry.clone()).await?;
        Ok(Self { machine, registry, app: PhantomData })
    }

    /// The typed client. It and its handles ask the process that runs now: after a restart the new one; while it is dead
    /// calls are refused.
    pub fn client(&self) -> A::Client {
        A::client(self.desk())
    }

    fn desk(&self) -> Desk {
        Desk::through(Arc::new(self.machine.relay.clone()), self.machine.opening.is_shared)
    }

    /// Runs code in a transaction on the author's own tables: as [`Runtime::transaction`](crate::Runtime::transaction) does.
    pub async fn transaction<T: Send + 'static, E: Send + 'static>(
        &self,
        code: impl Fn(&mut Transaction<'_>) -> Result<T, E> + Send + Sync + 'static,
    ) -> Result<T, CallError<E>> {
        let kernel = self.kernel();
        let asked = self.machine.relay.ask(async move { crate::sql::beside(&kernel, code).await });
        asked.await.unwrap_or(Err(CallError::Fault(Error::Closing)))
    }

    /// Lets time pass, from one thing that is due to the next; when it returns, `span` is over and nothing is left to
    /// do. Code that waits for something else than time is not waited for.
    ///
    /// Whoever outside gets an answer on the way goes on at that time, before it passes: await calls beside this with
    /// `tokio::join!`.
    pub async fn advance(&self, span: Duration) {
        self.machine.relay.advance(span).await;
    }

    /// Runs everything that can run; time stands. Needed after something that is not awaited: a latch that was opened.
    pub async fn settle(&self) {
        self.machine.relay.settle().await;
    }

    /// The app's time, which never goes back (A5).
    pub fn now(&self) -> Timestamp {
        self.kernel().now().into()
    }

    /// The wall clock, for fakes that take time.
    pub fn clock(&self) -> Clock {
        Clock::new(self.machine.executor.clone())
    }

    /// The wall clock jumps on, or back, by so many milliseconds.
    pub async fn jump_clock(&self, by_ms: i64) {
        self.machine.executor.jump(by_ms);
        // The keeper is told the time by the store, every five seconds elsewhere; then the scout sees how late it is.
        for thread in ["keeper", "scout"] {
            self.machine.executor.rouse(thread);
            self.settle().await;
        }
    }

    /// The process dies here and now: all that ran in it is gone, the store is as it was. Who waits gets an error.
    pub async fn crash(&self) {
        self.machine.kill();
        self.settle().await;
    }

    /// The process dies at the `n`th commit from now that writes entities, before the store has it or after it is
    /// durable. A commit may hold the writes of several entities. See [`is_dead`](Self::is_dead).
    ///
    /// An action, an `add`, a tick and an object's alarm are one commit each. A flush after `max_wait` is two: the batch is
    /// closed, then its flush has ended. A tick with `#[apply]` is two as well.
    pub fn crash_at_commit(&self, n: u64, moment: Moment) {
        self.machine.gate().kills_at(n, moment);
    }

    /// Whether the process is dead.
    pub fn is_dead(&self) -> bool {
        self.machine.is_dead()
    }

    /// Dies if it lives, and comes back with the same app, services and options. Says what it found (R1). Panics if
    /// it cannot be opened: see [`try_restart`](Self::try_restart).
    ///
    /// Every restart of a live world is a crash (W2). Work that was running at three crashes in a row is held back for up to ten
    /// minutes: advance the clock by that time, or end the world in order.
    pub async fn restart(&self) -> Report {
        match self.try_restart().await {
            Ok(report) => report,
            Err(error) => panic!("the app could not be started again: {error}"),
        }
    }

    /// Dies if it lives, and comes back; or says why it cannot be. Then it is dead.
    pub async fn try_restart(&self) -> Result<Report, Error> {
        self.machine.start(self.registry.clone()).await?;
        Ok(self.report())
    }

    /// Dies if it lives, and comes back as another app, or another version of it, with other services.
    pub async fn restart_as<B: App<D>, D: Send + Sync + 'static>(self, services: D) -> Result<World<B>, Error> {
        let registry = registry::<D, B>(services, self.machine.opening.is_shared)?;
        World::start(self.machine, registry).await
    }

    /// Ends the process in order (R2): code that runs gets `limit` to end, and time passes for as long as that takes.
    pub async fn shutdown(&self, limit: Duration) -> Result<(), Error> {
        let (kernel, relay) = (self.kernel(), &self.machine.relay);
        let ending = relay.ask(async move { kernel.shutdown(limit).await });
        // It gives what has ended in time a second more to become durable.
        let passing = relay.advance(limit + Duration::from_secs(2));
        let ended = both(ending, passing).await.unwrap_or(Err(Error::Closing));
        self.machine.kill();
        ended
    }

    /// From now on, this is wrong with the store.
    pub fn store_fails(&self, fault: Fault) {
        self.machine.gate().breaks(Some(fault));
    }

    /// Nothing is wrong with the store any more.
    pub fn store_works(&self) {
        self.machine.gate().breaks(None);
    }

    /// What a key of the primitive with this name waits for: see [`Runtime::explain`](crate::Runtime::explain).
    pub async fn explain(&self, primitive: &str, key: impl AsRef<[u8]>) -> Result<Explain, Error> {
        self.address(primitive, key.as_ref()).await?.explain().await
    }

    /// Everything stored under a key of the primitive with this name: see [`Runtime::view`](crate::Runtime::view).
    pub async fn view(&self, primitive: &str, key: impl AsRef<[u8]>) -> Result<Option<View>, Error> {
        self.address(primitive, key.as_ref()).await?.view().await
    }

    /// Lets a parked entity go on. `false` if it was not parked. See [`Runtime::unpark`](crate::Runtime::unpark).
    pub async fn unpark(&self, primitive: &str, key: impl AsRef<[u8]>) -> Result<bool, Error> {
        self.address(primitive, key.as_ref()).await?.unpark().await
    }

    async fn address(&self, primitive: &str, key: &[u8]) -> Result<Address, Error> {
        Definitions::of(&self.registry).address(&self.desk(), primitive, key).await
    }

    /// Lists entities, a page at a time.
    pub fn entities(&self) -> Entities<A> {
        Entities::new(self.desk(), Definitions::of(&self.registry))
    }

    /// What nobody could take.
    pub fn dead_letters(&self) -> DeadLetters {
        DeadLetters::new(self.desk(), Definitions::of(&self.registry))
    }

    /// Calls an action by its name: see [`Runtime::call`](crate::Runtime::call).
    pub async fn call(
        &self,
        primitive: &str,
        key: impl AsRef<[u8]>,
        action: &str,
        params: serde_json::Value,
    ) -> Result<serde_json::Value, Error> {
        Definitions::of(&self.registry).ask(&self.desk(), primitive, key.as_ref(), action, &params).await
    }

    /// What entities told since this was last asked (E15), also before a crash.
    pub fn events(&self) -> Vec<Event> {
        self.machine.take_events()
    }

    /// What was asked of the store since the world began. [`since`](StoreCounts::since) gives what a step costs.
    pub fn counts(&self) -> StoreCounts {
        self.machine.counts()
    }

    /// What the process found when it was started (R1).
    pub fn report(&self) -> Report {
        self.life().report
    }

    /// The kernel below. What is asked of it directly is not answered before somebody awaits something of the world.
    pub fn kernel(&self) -> Kernel {
        self.life().kernel
    }

    fn life(&self) -> Life {
        self.machine.alive().expect("a world is made with a process that started")
    }
}

/// What comes of the first, with the second awaited beside it.
async fn both<T>(first: impl Future<Output = T>, second: impl Future<Output = ()>) -> T {
    let (mut first, mut second) = (std::pin::pin!(first), std::pin::pin!(second));
    let mut has_passed = false;
    std::future::poll_fn(|context| {
        if let ended @ std::task::Poll::Ready(_) = first.as_mut().poll(context) {
            return ended;
        }
        has_passed = has_passed || second.as_mut().poll(context).is_ready();
        std::task::Poll::Pending
    })
    .await
}
