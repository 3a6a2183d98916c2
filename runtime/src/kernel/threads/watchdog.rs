//! The watchdog: names code that blocks a thread, and replaces the thread if it is the kernel's (E6).

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use super::turns::TurnThread;
use crate::{
    Key, Name,
    kernel::{
        state::shared::Shared,
        util::{pulse::Pulse, race::race},
    },
};

/// How often trouble with the store is logged at most.
const LOG_EVERY: Duration = Duration::from_secs(60);

/// The state of a kernel thread: since when it makes one visit, and whose code it runs.
#[derive(Debug, Default)]
pub(crate) struct ThreadSlot {
    /// The start of the visit, in milliseconds plus one; zero between visits.
    since: AtomicU64,
    doing: Mutex<Option<(Key, Name)>>,
    is_replaced: AtomicBool,
    /// This visit was reported already.
    was_named: AtomicBool,
}

impl ThreadSlot {
    pub(crate) fn begin(&self, monotonic: Duration, key: &Key) {
        self.doing(key, Name::new("mail"));
        self.was_named.store(false, Ordering::Relaxed);
        self.since.store(monotonic.as_millis() as u64 + 1, Ordering::Relaxed);
    }

    pub(crate) fn doing(&self, key: &Key, what: Name) {
        *self.doing.lock().unwrap_or_else(PoisonError::into_inner) = Some((key.clone(), what));
    }

    pub(crate) fn end(&self) {
        self.since.store(0, Ordering::Relaxed);
    }

    pub(crate) fn is_replaced(&self) -> bool {
        self.is_replaced.load(Ordering::Relaxed)
    }

    fn busy_for(&self, monotonic: Duration) -> Duration {
        match self.since.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            since => monotonic.saturating_sub(Duration::from_millis(since - 1)),
        }
    }
}

/// Everything that the watchdog checks.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    threads: Mutex<Vec<Arc<ThreadSlot>>>,
    runs: Mutex<BTreeMap<u64, Weak<Pulse>>>,
    /// Runs that were reported already.
    named: Mutex<BTreeMap<u64, Weak<Pulse>>>,
    last_log_millis: AtomicU64,
}

impl Watch {
    /// Adds the slot of a new thread.
    pub(crate) fn thread_started(&self) -> Arc<ThreadSlot> {
        let slot = Arc::new(ThreadSlot::default());
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(slot.clone());
        slot
    }

    pub(crate) fn run_started(&self, run: u64, pulse: &Arc<Pulse>) {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).insert(run, Arc::downgrade(pulse));
    }

    /// Whether enough time has passed to log again that the store is in trouble.
    pub(crate) fn may_log(&self, monotonic: Duration) -> bool {
        // Ahead by one interval, so that the first trouble is logged, even right after the start of the clock.
        let now = monotonic.as_millis() as u64 + LOG_EVERY.as_millis() as u64;
        let last = self.last_log_millis.load(Ordering::Relaxed);
        now - last >= LOG_EVERY.as_millis() as u64
            && self.last_log_millis.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Returns the kernel threads that have made one visit for longer than `limit`, each once per visit.
    fn blocked_threads(&self, monotonic: Duration, limit: Duration) -> Vec<Arc<ThreadSlot>> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let is_blocked =
            |slot: &Arc<ThreadSlot>| slot.busy_for(monotonic) > limit && !slot.was_named.swap(true, Ordering::Relaxed);
        let blocked: Vec<_> = threads.iter().filter(|slot| is_blocked(slot)).cloned().collect();
        // A replaced thread ends when its visit is over, so it is not watched any more.
        threads.retain(|slot| !slot.is_replaced() || slot.since.load(Ordering::Relaxed) != 0);
        blocked
    }

    fn blocked_runs(&self, monotonic: Duration, limit: Duration) -> Vec<Arc<Pulse>> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        runs.retain(|_, pulse| pulse.strong_count() > 0);
        named.retain(|_, pulse| pulse.strong_count() > 0);
        let mut blocked = Vec::new();
        for (run, pulse) in runs.iter() {
            let Some(alive) = pulse.upgrade() else { continue };
            if alive.polled_for(monotonic) > limit && named.insert(*run, pulse.clone()).is_none() {
                blocked.push(alive);
            }
        }
        blocked
    }
}

/// The loop of the watchdog.
pub(crate) struct Watchdog {
    shared: Arc<Shared>,
    /// How many more threads may be replaced.
    replacements_left: usize,
}

impl Watchdog {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let replacements_left = shared.options.replacement_threads_max;
        Self { shared, replacements_left }
    }

    /// Watches until the kernel has ended.
    pub(crate) async fn run(&mut self) {
        while !self.shared.is_closed() {
            let soon = self.shared.driver.monotonic() + self.shared.options.blocked_after / 2;
            race(self.shared.closed(), self.shared.driver.sleep_until(soon)).await;
            let now = self.shared.driver.monotonic();
            for run in self.shared.watch.blocked_runs(now, self.shared.options.blocked_after) {
                tracing::error!(key = %run.key, work = %run.work, "the code blocks its thread; await instead");
            }
            for slot in self.shared.watch.blocked_threads(now, self.shared.options.blocked_after) {
                self.replace(&slot);
            }
        }
    }

    /// Logs the code that blocks a kernel thread, and starts another thread if one is left.
    fn replace(&mut self, slot: &ThreadSlot) {
        let doing = slot.doing.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (key, method) = doing.map_or((None, None), |(key, method)| (Some(key), Some(method)));
        tracing::error!(
            ?key,
            ?method,
            left = self.replacements_left,
            "the code blocks a thread of the kernel; it is replaced"
        );
        self.shared.lock().counts.blocked += 1;
        if let Some(left) = self.replacements_left.checked_sub(1) {
            self.replacements_left = left;
            slot.is_replaced.store(true, Ordering::Relaxed);
            TurnThread::start(&self.shared, "replacement");
        }
    }
}
