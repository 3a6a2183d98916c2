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
    app::{definitions::Definitions, registry},
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

    /// A world on an existing or new SQLite file, which is kept.
    pub fn sqlite_at(path: impl Into<PathBuf>) -> Setup<()> {
        Setup::sqlite_at(path.into())
    }
}

impl<A: Primitives> World<A> {
    pub(super) async fn start(machine: Machine, registry: Registry) -> Result<Self, Error> {
        machine.start(registry.clone()).await?;
        Ok(Self { machine, registry, app: PhantomData })
    }

    /// Returns the typed client. The client and its handles ask the process that runs at that moment, after
    /// a restart the new one. While the process is dead, calls are refused.
    pub fn client(&self) -> A::Client {
        A::client(self.desk())
    }

    fn desk(&self) -> Desk {
        Desk::through(Arc::new(self.machine.relay.clone()), self.machine.opening.is_shared)
    }

    /// Runs code in a transaction on the author's own tables, as
    /// [`Runtime::transaction`](crate::Runtime::transaction) does.
    pub async fn transaction<T: Send + 'static, E: Send + 'static>(
        &self,
        code: impl Fn(&mut Transaction<'_>) -> Result<T, E> + Send + Sync + 'static,
    ) -> Result<T, CallError<E>> {
        let kernel = self.kernel();
        let asked = self.machine.relay.ask(async move { crate::sql::beside(&kernel, code).await });
        asked.await.unwrap_or(Err(CallError::Fault(Error::Closing)))
    }

    /// Lets time pass, from one due time to the next. When it returns, `span` is over and nothing is left to
    /// do. Code that waits for something else than time is not waited for.
    ///
    /// A task outside that gets an answer on the way continues at that time, before time moves on: await
    /// calls beside this one with `tokio::join!`.
    pub async fn advance(&self, span: Duration) {
        self.machine.relay.advance(span).await;
    }

    /// Runs everything that can run while time stands still. Needed after an action that is not awaited,
    /// such as opening a latch.
    pub async fn settle(&self) {
        self.machine.relay.settle().await;
    }

    /// Returns the app's time, which never goes back (A5).
    pub fn now(&self) -> Timestamp {
        self.kernel().now().into()
    }

    /// Returns the wall clock, for fakes that take time.
    pub fn clock(&self) -> Clock {
        Clock::new(self.machine.executor.clone())
    }

    /// Moves the wall clock forward, or back, by this many milliseconds.
    pub async fn jump_clock(&self, by_ms: i64) {
        self.machine.executor.jump(by_ms);
        // Elsewhere the thread `leases` gets the store's time every five seconds; then `scanner` sees how late
        // it is. Here both threads sleep for a day, so they must be woken.
        for thread in ["leases", "scanner"] {
            self.machine.executor.rouse(thread);
            self.settle().await;
        }
    }

    /// Kills the process here and now: everything in its memory is gone, and the store is as it was. Waiting
    /// callers get an error.
    pub async fn crash(&self) {
        self.machine.kill();
        self.settle().await;
    }

    /// Kills the process at the `n`th commit from now that writes entities, before the store gets the commit
    /// or after it is durable. A commit may hold the writes of several entities. See
    /// [`is_dead`](Self::is_dead).
    ///
    /// An action, an `add`, a tick and an object's alarm are one commit each. A flush after `max_wait` is
    /// two commits: the closing of the batch, and the end of its flush. A tick with `#[apply]` is two
    /// commits as well.
    pub fn crash_at_commit(&self, n: u64, moment: Moment) {
        self.machine.gate().kills_at(n, moment);
    }

    /// Whether the process is dead.
    pub fn is_dead(&self) -> bool {
        self.machine.is_dead()
    }

    /// Kills the process if it lives, and starts it again with the same app, services and options. Returns
    /// what the process found (R1). Panics if it cannot be started: see [`try_restart`](Self::try_restart).
    ///
    /// Every restart of a live world is a crash (W2). Work that was running at three crashes in a row is
    /// held back for up to ten minutes: advance the clock by that time, or end the world in order.
    pub async fn restart(&self) -> Report {
        match self.try_restart().await {
            Ok(report) => report,
            Err(error) => panic!("the app could not be started again: {error}"),
        }
    }

    /// Kills the process if it lives, and starts it again. If that fails, the error says why, and the
    /// process stays dead.
    pub async fn try_restart(&self) -> Result<Report, Error> {
        self.machine.start(self.registry.clone()).await?;
        Ok(self.report())
    }

    /// Kills the process if it lives, and starts another app, or another version of the app, with other
    /// services.
    pub async fn restart_as<B: App<D>, D: Send + Sync + 'static>(self, services: D) -> Result<World<B>, Error> {
        let registry = registry::<D, B>(services, self.machine.opening.is_shared)?;
        World::start(self.machine, registry).await
    }

    /// Shuts the process down in order (R2): running code gets `limit` to end, and time passes for as long
    /// as that takes.
    pub async fn shutdown(&self, limit: Duration) -> Result<(), Error> {
        let (kernel, relay) = (self.kernel(), &self.machine.relay);
        let ending = relay.ask(async move { kernel.shutdown(limit).await });
        // A shutdown gives ended work one second more to become durable.
        let passing = relay.advance(limit + Duration::from_secs(2));
        let ended = both(ending, passing).await.unwrap_or(Err(Error::Closing));
        self.machine.kill();
        ended
    }

    /// Breaks the store in this way from now on.
    pub fn store_fails(&self, fault: Fault) {
        self.machine.gate().breaks(Some(fault));
    }

    /// Repairs the store.
    pub fn store_works(&self) {
        self.machine.gate().breaks(None);
    }

    /// Explains what a key of the named primitive waits for: see
    /// [`Runtime::explain`](crate::Runtime::explain).
    pub async fn explain(&self, primitive: &str, key: impl AsRef<[u8]>) -> Result<Explain, Error> {
        self.address(primitive, key.as_ref()).await?.explain().await
    }

    /// Returns everything stored under a key of the named primitive: see
    /// [`Runtime::view`](crate::Runtime::view).
    pub async fn view(&self, primitive: &str, key: impl AsRef<[u8]>) -> Result<Option<View>, Error> {
        self.address(primitive, key.as_ref()).await?.view().await
    }

    /// Resumes a parked entity. Returns `false` if the entity was not parked. See
    /// [`Runtime::unpark`](crate::Runtime::unpark).
    pub async fn unpark(&self, primitive: &str, key: impl AsRef<[u8]>) -> Result<bool, Error> {
        self.address(primitive, key.as_ref()).await?.unpark().await
    }

    async fn address(&self, primitive: &str, key: &[u8]) -> Result<Address, Error> {
        Definitions::of(&self.registry).address(&self.desk(), primitive, key).await
    }

    /// Lists entities, one page at a time.
    pub fn entities(&self) -> Entities<A> {
        Entities::new(self.desk(), Definitions::of(&self.registry))
    }

    /// Returns the dead letters.
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

    /// Takes the lifecycle events since the last call (E15), also those before a crash.
    pub fn events(&self) -> Vec<Event> {
        self.machine.take_events()
    }

    /// Returns how often each operation of the store was asked for since the world began.
    /// [`since`](StoreCounts::since) gives the cost of a part of the test.
    pub fn counts(&self) -> StoreCounts {
        self.machine.counts()
    }

    /// Returns what the process found when it was started (R1).
    pub fn report(&self) -> Report {
        self.life().report
    }

    /// Returns the kernel below the app. The kernel answers direct questions only while the test awaits
    /// something of the world.
    pub fn kernel(&self) -> Kernel {
        self.life().kernel
    }

    fn life(&self) -> Life {
        self.machine.alive().expect("a world is made with a process that started")
    }
}

/// Returns the result of the first future, with the second awaited beside it.
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
