//! A small world for the law tests: one thread, one store in memory, and time that moves only when a test
//! says so.
//!
//! Nothing here is random: tasks run in the order in which they were woken, and [`World::advance`] returns
//! when nothing is left to do. This world is for the written laws; the simulator looks for cases that nobody
//! thought of.

mod store;
pub mod toys;

use std::{
    cell::RefCell,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use drystone_runtime::{
    Call, Entity, Error, Kernel, Key, Millis, Options, Registry,
    driver::{Handle, Task},
    kernel::{Explain, Report, Wait},
    store::{Found, Read, Store},
};

pub use drystone::testing::{Executor, Fault, Latch, Log, Moment, Process};
pub use store::TestStore;

/// One machine: a store that survives crashes, and the current process.
pub struct World {
    /// Moves time and runs tasks.
    pub executor: Executor,
    /// The store, with its switches.
    pub store: Arc<TestStore>,
    running: RefCell<Option<Running>>,
}

/// A process: a kernel and everything that runs in it.
pub struct Running {
    executor: Executor,
    process: Process,
    /// The kernel of this process.
    pub kernel: Kernel,
    /// The report of the opening.
    pub report: Report,
    registry: Registry,
    options: Options,
}

/// A request, with the answer once it has come.
pub struct Asked<T> {
    answer: Arc<Mutex<Option<T>>>,
    executor: Executor,
    _task: Handle,
}

impl World {
    /// Makes a world with these definitions, and opens it.
    pub fn of(registry: Registry) -> Self {
        Self::with(registry, |_| {})
    }

    /// Makes a world with changed options, and opens it.
    pub fn with(registry: Registry, change: impl FnOnce(&mut Options)) -> Self {
        let executor = Executor::default();
        let store = Arc::new(TestStore::new(executor.clone()));
        let world = Self { executor, store, running: RefCell::new(None) };
        world.open(registry, change);
        world
    }

    /// Opens a kernel. The process before it is killed.
    pub fn open(&self, registry: Registry, change: impl FnOnce(&mut Options)) -> Report {
        self.crash();
        let running = self.second(registry, change);
        let report = running.report.clone();
        *self.running.borrow_mut() = Some(running);
        self.settle();
        report
    }

    /// Starts another process over the same store.
    pub fn second(&self, registry: Registry, change: impl FnOnce(&mut Options)) -> Running {
        let mut options = Options::default();
        change(&mut options);
        Running::start(self.executor.clone(), self.store.clone(), registry, options)
    }

    /// Kills the process. All its tasks are gone, and the store keeps its data. Its leases end, as they do
    /// when a file is opened again.
    pub fn crash(&self) {
        if let Some(running) = self.running.borrow_mut().take() {
            running.kill();
        }
        self.store.end_leases();
    }

    /// Kills the process, and starts another one with the same definitions and options.
    pub fn restart(&self) -> Report {
        let (registry, options) = self.with_running(|running| (running.registry.clone(), running.options.clone()));
        self.open(registry, |fresh| *fresh = options)
    }

    /// Whether the process has been killed.
    pub fn is_dead(&self) -> bool {
        self.with_running(|running| !running.executor.is_alive(running.process))
    }

    /// Shuts the kernel down.
    pub fn shut_down(&self, limit: Duration) {
        let kernel = self.kernel();
        let ended = self.with_running(|running| running.ask(async move { kernel.shutdown(limit).await }));
        self.advance(limit + Duration::from_secs(2));
        ended.take().expect("a shutdown ends within its limit").expect("the store is well");
    }

    /// Returns the kernel.
    pub fn kernel(&self) -> Kernel {
        self.with_running(|running| running.kernel.clone())
    }

    /// Runs everything that can run, without letting time pass.
    pub fn settle(&self) {
        self.executor.settle();
    }

    /// Lets time pass. Returns when nothing is left to do.
    pub fn advance(&self, span: Duration) {
        self.executor.advance(span);
    }

    /// Makes a call without waiting for its answer.
    pub fn ask(&self, call: Call) -> Asked<Result<Bytes, Error>> {
        let asked = self.with_running(|running| running.ask_call(call));
        self.settle();
        asked
    }

    /// Makes a call that must be answered without time passing.
    pub fn call(&self, call: Call) -> Result<String, Error> {
        self.ask(call).text()
    }

    /// Awaits a future that must be ready without time passing.
    pub fn now<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> T {
        let asked = self.with_running(|running| running.ask(future));
        asked.take().expect("it is answered at once")
    }

    /// Starts a future without waiting for its output.
    pub fn ask_future<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> Asked<T> {
        self.with_running(|running| running.ask(future))
    }

    /// Stops polling the process, or polls it again, like a machine in standby.
    pub fn freeze(&self, frozen: bool) {
        self.with_running(|running| running.freeze(frozen));
    }

    /// Reads the entity under a key of the toys' space from the store.
    pub fn entity(&self, key: &str) -> Option<Entity> {
        match self.stored(Read::Entity(toys::key(key))) {
            Found::Entity(entity) => entity.map(|entity| *entity),
            _ => None,
        }
    }

    /// The state of an entity as text. Empty without an entity.
    pub fn state(&self, key: &str) -> String {
        self.entity(key).map_or_else(String::new, |entity| toys::text(&entity.state))
    }

    /// The waits of a key.
    pub fn waits(&self, key: &str) -> Vec<Wait> {
        self.explain(key).waits
    }

    /// The waits and the status of a key.
    pub fn explain(&self, key: &str) -> Explain {
        let (kernel, key) = (self.kernel(), toys::key(key));
        self.now(async move { kernel.explain(&key).await }).expect("its partition is held")
    }

    /// The number of messages in the inbox of a key.
    pub fn inbox(&self, key: &str) -> usize {
        match self.stored(Read::Inbox { key: toys::key(key), after: None, limit: 1_000 }) {
            Found::Inbox(letters) => letters.len(),
            _ => 0,
        }
    }

    /// Unparks an entity. Returns whether it was parked.
    pub fn unpark(&self, key: &str) -> bool {
        let (kernel, key) = (self.kernel(), toys::key(key));
        self.now(async move { kernel.unpark(&key).await }).expect("the store is well")
    }

    /// The kernel's time.
    pub fn time(&self) -> Millis {
        self.kernel().now()
    }

    fn stored(&self, read: Read) -> Found {
        let found = drystone_runtime::driver::block_on(self.store.inner().read(&[read])).expect("memory does not fail");
        found.into_iter().next().expect("one was asked for")
    }

    fn with_running<T>(&self, use_it: impl FnOnce(&Running) -> T) -> T {
        use_it(self.running.borrow().as_ref().expect("the world is opened"))
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.crash();
        self.executor.clear();
    }
}

impl Running {
    fn start(executor: Executor, store: Arc<TestStore>, registry: Registry, options: Options) -> Self {
        let process = executor.process();
        let driver = Arc::new(executor.driver(process));
        let opening = Kernel::open(store, registry.clone(), driver, options.clone());
        let opened = ask(&executor, process, opening);
        executor.settle();
        let (kernel, report) = opened.take().expect("memory answers at once").expect("memory does not fail");
        Self { executor, process, kernel, report, registry, options }
    }

    /// Makes a call in this process.
    pub fn ask_call(&self, call: Call) -> Asked<Result<Bytes, Error>> {
        let kernel = self.kernel.clone();
        self.ask(async move { kernel.call(call).await })
    }

    /// Awaits a future in this process.
    pub fn ask<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> Asked<T> {
        ask(&self.executor, self.process, future)
    }

    /// Kills this process with all tasks.
    pub fn kill(self) {
        self.executor.kill(self.process);
        self.kernel.abandon();
    }

    /// Stops polling this process until it is thawed, like a machine in standby.
    pub fn freeze(&self, frozen: bool) {
        self.executor.freeze(self.process, frozen);
    }
}

fn ask<T: Send + 'static>(
    executor: &Executor,
    process: Process,
    future: impl Future<Output = T> + Send + 'static,
) -> Asked<T> {
    let answer = Arc::new(Mutex::new(None));
    let into = answer.clone();
    let task: Task = Box::pin(async move {
        let value = future.await;
        *into.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    });
    Asked { answer, executor: executor.clone(), _task: executor.spawn(process, task) }
}

impl<T> Asked<T> {
    /// Takes the answer, if it has come. The answer is given only once.
    pub fn take(&self) -> Option<T> {
        self.executor.settle();
        self.answer.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether the answer is still missing.
    pub fn waits(&self) -> bool {
        self.executor.settle();
        self.answer.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }
}

impl Asked<Result<Bytes, Error>> {
    /// Takes the answer as text. Panics if the answer is still missing.
    pub fn text(&self) -> Result<String, Error> {
        self.take().expect("it is answered by now").map(|bytes| toys::text(&bytes))
    }
}

/// The key of a toy that others send to.
pub fn key(key: &str) -> Key {
    toys::key(key)
}
