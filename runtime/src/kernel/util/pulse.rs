//! The signs of life of running code.

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::{
    Driver, Key, WorkId,
    kernel::api::cx::{Sign, SignsOfLife},
};

/// The signs of life of a run, for its time limits and the watchdog.
pub(crate) struct Pulse {
    pub(crate) key: Key,
    pub(crate) work: WorkId,
    driver: Arc<dyn Driver>,
    /// The last sign of life, in milliseconds of the monotonic clock.
    pub(in crate::kernel) last: AtomicU64,
    /// The start of the current poll, in milliseconds plus one; zero between polls.
    pub(in crate::kernel) polling_since: AtomicU64,
    reads: Mutex<Reads>,
}

/// The time that a run spends waiting for rows. Reads that overlap count once.
#[derive(Default)]
struct Reads {
    /// The reads in flight.
    count: u32,
    /// The start of the oldest of them, on the monotonic clock.
    since: Duration,
    /// The time spent before that.
    before: Duration,
}

impl Reads {
    fn begin(&mut self, now: Duration) {
        if self.count == 0 {
            self.since = now;
        }
        self.count += 1;
    }

    fn end(&mut self, now: Duration) {
        self.count -= 1;
        if self.count == 0 {
            self.before += now.saturating_sub(self.since);
        }
    }

    fn total(&self, now: Duration) -> Duration {
        let current = if self.count == 0 { Duration::ZERO } else { now.saturating_sub(self.since) };
        self.before + current
    }
}

impl Pulse {
    pub(in crate::kernel) fn new(key: Key, work: WorkId, driver: Arc<dyn Driver>, monotonic: Duration) -> Self {
        let (polling_since, reads) = Default::default();
        Self { key, work, driver, last: AtomicU64::new(millis(monotonic)), polling_since, reads }
    }

    /// Returns the time that the run has spent waiting for rows.
    pub(in crate::kernel) fn has_read_for(&self, monotonic: Duration) -> Duration {
        self.reads().total(monotonic)
    }

    /// Returns the time that the run has spent in its current poll.
    pub(crate) fn polled_for(&self, monotonic: Duration) -> Duration {
        match self.polling_since.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            since => monotonic.saturating_sub(Duration::from_millis(since - 1)),
        }
    }

    fn reads(&self) -> MutexGuard<'_, Reads> {
        self.reads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SignsOfLife for Pulse {
    fn shows(&self, sign: Sign) {
        let now = self.driver.monotonic();
        self.last.store(millis(now), Ordering::Relaxed);
        match sign {
            Sign::Alive => {}
            Sign::Reads => self.reads().begin(now),
            Sign::HasRead => self.reads().end(now),
        }
    }
}

impl fmt::Debug for Pulse {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Pulse").field("key", &self.key).field("work", &self.work).finish_non_exhaustive()
    }
}

fn millis(monotonic: Duration) -> u64 {
    monotonic.as_millis() as u64
}
