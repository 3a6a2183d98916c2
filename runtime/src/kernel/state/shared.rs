//! The state that all loops of one kernel share: the seams to the outside, the memory, and the notifiers.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::sync::{Notify, Semaphore, broadcast};

use super::{
    clock::Time,
    core::{Core, Released},
    crash_window::CrashWindow,
    effects::Event,
    mail::Mail,
    pace::Pace,
    store_slot::{InUse, StoreSlot},
};
use crate::{
    Driver, Key, Mark, Name, Now, Registry, Store, Work,
    driver::Handle,
    kernel::{
        Options, WeakKernel,
        api::call::KernelPort,
        resident::{turn::guarded, work::Watched},
        threads::{start::Loops, transactions::Line, watchdog::Watch},
        util::{backoff::backoff, latch::Latch, pulse::Pulse, race::race},
    },
    stable_hash,
    store::{StoreError, Worker},
};

/// It has more than fifteen fields: the seams to the outside, and the notifiers of the loops. Each field
/// guards itself, and no rule connects two of them.
pub(crate) struct Shared {
    store: StoreSlot,
    pub(crate) registry: Registry,
    pub(crate) driver: Arc<dyn Driver>,
    pub(crate) options: Options,
    pub(crate) worker: Worker,
    /// The mark of this opening. Everything that is recorded for the first time gets it (E14.1).
    mark: Mark,
    pub(crate) time: Time,
    pub(crate) window: CrashWindow,
    core: Mutex<Core>,
    /// Idle threads wait here for a job. A semaphore counts: two calls wake two threads, even if neither
    /// waits yet.
    pub(crate) idle_threads: Semaphore,
    /// The timer waits here for an earlier alarm.
    pub(crate) timer: Notify,
    /// The scanner waits here for something to look for.
    pub(crate) scanner: Notify,
    /// Set when the kernel has ended.
    closed: Latch,
    loops: Arc<Loops>,
    /// Held by the shutdown in progress, so that a second one waits for the first.
    pub(crate) shutdown: tokio::sync::Mutex<()>,
    pub(crate) events: broadcast::Sender<Option<Event>>,
    pub(crate) places: Arc<AtomicUsize>,
    pub(crate) watch: Watch,
    /// How quickly the work of each definition ended lately.
    paces: BTreeMap<Name, Arc<Pace>>,
    /// Scripts that wait for the thread of the transactions.
    pub(crate) transactions: Line,
    numbers: AtomicU64,
    partitions: AtomicU64,
    unseen: AtomicU64,
    is_closing: AtomicBool,
    /// The time limit for ending work has passed, so work is dropped.
    pub(crate) is_dropping_work: AtomicBool,
    /// How running work makes its calls.
    port: Arc<dyn KernelPort>,
    itself: Weak<Self>,
}

impl Shared {
    /// Returns the time, with the mark for everything that is recorded from now on.
    pub(crate) fn now(&self) -> Now {
        Now { at: self.time.now(), mark: self.mark }
    }

    pub(crate) fn new(
        store: Arc<dyn Store>,
        registry: Registry,
        driver: Arc<dyn Driver>,
        options: Options,
    ) -> Arc<Self> {
        let chance = driver.random();
        let id = match options.worker.as_str() {
            "" => format!("worker-{chance:016x}"),
            named => format!("{named}-{chance:016x}"),
        };
        let mark = Mark::new(stable_hash(&[b"mark", &chance.to_be_bytes()]));
        let worker = Worker { id: id.into(), address: options.address.clone() };
        Arc::new_cyclic(|itself| Self {
            core: Mutex::new(Core::new(&options, driver.random())),
            time: Time::new(driver.clone()),
            window: CrashWindow::default(),
            idle_threads: Semaphore::new(0),
            timer: Notify::new(),
            scanner: Notify::new(),
            closed: Latch::default(),
            loops: Arc::default(),
            shutdown: tokio::sync::Mutex::default(),
            // A listener that falls behind by more events than this loses the oldest (E15).
            events: broadcast::channel(1024).0,
            places: Arc::new(AtomicUsize::new(0)),
            watch: Watch::default(),
            paces: registry.iter().map(|definition| (definition.name.clone(), Arc::default())).collect(),
            transactions: Line::default(),
            numbers: AtomicU64::new(0),
            partitions: AtomicU64::new(u64::MAX),
            unseen: AtomicU64::new(0),
            is_closing: AtomicBool::new(false),
            is_dropping_work: AtomicBool::new(false),
            port: Arc::new(WeakKernel::new(itself.clone())),
            itself: itself.clone(),
            store: StoreSlot::new(store),
            registry,
            driver,
            options,
            worker,
            mark,
        })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Core> {
        // A panic under the lock would be a bug of ours. The memory stays usable, and the other keys
        // continue.
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the memory under the lock, then carries out the released effects without it.
    pub(crate) fn with<T>(&self, change: impl FnOnce(&mut Core, &mut Released) -> T) -> T {
        let mut released = Released::default();
        let mut core = self.lock();
        let value = change(&mut core, &mut released);
        released.threads += core.threads_wanted(&self.options);
        drop(core);
        self.let_go(released);
        value
    }

    /// Carries out effects outside the lock, because wakers and drops may run foreign code.
    pub(crate) fn let_go(&self, released: Released) {
        for (pending, reply) in released.answers {
            if let Some((key, ticket)) = pending.answer(reply) {
                self.post(&key, Mail::Unheard(ticket));
            }
        }
        for event in released.events {
            // An error means that no listener exists. A slow listener loses events. Neither slows the
            // kernel (E15).
            let _ = self.events.send(Some(event));
        }
        if released.threads > 0 {
            self.idle_threads.add_permits(released.threads);
        }
        if released.ring {
            self.timer.notify_one();
        }
        // Last, because a drop of the author's values may take long.
        released.trash.into_iter().for_each(drop_guarded);
        released.dropped.into_iter().for_each(drop_guarded);
    }

    pub(crate) fn post(&self, key: &Key, mail: Mail) {
        self.with(|core, _| core.post(key, mail));
    }

    pub(crate) fn post_resident(&self, key: &Key, mail: Mail) {
        self.with(|core, _| core.post_resident(key, mail));
    }

    pub(crate) fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn partitions(&self) -> u32 {
        self.partitions.load(Ordering::Relaxed) as u32
    }

    pub(crate) fn set_partitions(&self, partitions: u32) {
        self.partitions.store(u64::from(partitions), Ordering::Relaxed);
        self.lock().partitions = partitions;
    }

    /// Returns how often messages may have reached inboxes without memory knowing of them. An inbox that
    /// was read before the last time may lack older messages.
    pub(crate) fn unseen(&self) -> u64 {
        self.unseen.load(Ordering::Relaxed)
    }

    /// Notes that inboxes may hold messages that memory does not know of: from an earlier owner of a
    /// partition, or from a transaction whose answer was lost.
    pub(crate) fn expect_unseen(&self) {
        self.unseen.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn has_place(&self) -> bool {
        self.free_places() > 0
    }

    pub(crate) fn free_places(&self) -> usize {
        self.options.work_max.saturating_sub(self.places.load(Ordering::Relaxed))
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Relaxed)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.is_set()
    }

    /// Waits until the kernel has ended.
    pub(crate) async fn closed(&self) {
        self.closed.wait().await;
    }

    /// Returns the store for one call, or an error once the kernel has ended.
    pub(crate) fn store(&self) -> Result<Arc<InUse>, StoreError> {
        self.store.get()
    }

    /// Waits until the kernel has released its store.
    pub(crate) async fn store_closed(&self) {
        self.store.closed().await;
    }

    pub(crate) fn start_loop(&self, name: &str, task: impl Future<Output = ()> + Send + 'static) {
        self.loops.start(&*self.driver, name, Box::pin(task));
    }

    /// Waits until every loop and its thread have ended.
    pub(crate) async fn loops_ended(&self) {
        self.loops.wait().await;
    }

    /// Takes no more calls: the kernel is closing.
    pub(crate) fn refuse_calls(&self) {
        self.is_closing.store(true, Ordering::Relaxed);
    }

    /// Ends every loop at once. Work is not waited for, and leases are not released.
    pub(crate) fn close(&self) {
        self.refuse_calls();
        self.closed.set();
        self.loops.close();
        self.idle_threads.close();
        self.with(|core, released| core.empty(self, released));
        self.transactions.close();
        // Listeners learn of the end now, and not only when the last loop drops its reference.
        let _ = self.events.send(None);
        for bell in [&self.timer, &self.scanner] {
            bell.notify_one();
        }
        self.store.give_up();
    }

    pub(crate) fn watch(&self, run: u64, pulse: &Arc<Pulse>) {
        self.watch.run_started(run, pulse);
    }

    pub(crate) fn pace(&self, definition: &Name) -> Option<Arc<Pace>> {
        self.paces.get(definition).cloned()
    }

    /// Starts a piece of work. Its end arrives as mail, unless the work is dropped first.
    pub(crate) fn spawn_run(&self, run: u64, key: Key, work: Work, code: Watched) -> Handle {
        let itself = self.itself.clone();
        self.driver.spawn(Box::pin(async move {
            let outcome = code.await;
            if let Some(shared) = itself.upgrade() {
                shared.post_resident(&key, Mail::Ended { run, work, outcome });
            }
        }))
    }

    pub(crate) fn weak_kernel(&self) -> WeakKernel {
        WeakKernel::new(self.itself.clone())
    }

    pub(crate) fn port(&self) -> Arc<dyn KernelPort> {
        self.port.clone()
    }

    /// Logs that the store answers with errors, at most once a minute (fB1).
    pub(crate) fn store_trouble(&self, error: &StoreError) {
        if self.watch.may_log(self.driver.monotonic()) {
            tracing::warn!(%error, "the store does not answer; trying again");
        }
    }

    /// Waits before a failed call to the store is tried again, longer with each failure in a row.
    pub(crate) async fn pause(&self, failures: u32) {
        let (first, last) = self.options.store_retry;
        let pause = backoff(first, last, failures, self.driver.random());
        race(self.closed(), self.driver.sleep_until(self.driver.monotonic() + pause)).await;
    }

    /// Waits until so few keys are awake that a scan may wake more.
    pub(crate) async fn wait_for_room(&self) {
        while !self.is_closed()
            && (self.lock().run_queue() > self.options.pace || self.window.waiting() > self.options.pace)
        {
            // Hints do not end this sleep: they are for the scanner itself, when it is back.
            self.driver.sleep_until(self.driver.monotonic() + Duration::from_millis(5)).await;
        }
    }

    /// Records whether batches cannot be written at present, and why. Only the writer sets this. It keeps
    /// trying, and so learns when the trouble is over.
    pub(crate) fn set_trouble(&self, trouble: Option<StoreError>) {
        self.lock().trouble = trouble;
    }

    pub(crate) fn trouble(&self) -> Option<StoreError> {
        self.lock().trouble.clone()
    }
}

/// Drops a value that may hold values of the author's. A panic in such a drop is logged and goes no
/// further.
pub(crate) fn drop_guarded<T>(thrown: T) {
    if let Err(message) = guarded(|| drop(thrown)) {
        tracing::error!(message, "a drop of the author's panicked");
    }
}
