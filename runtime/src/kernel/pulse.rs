//! The signs of life of running code.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::{
    Driver, Key, WorkId,
    model::{Sign, SignsOfLife},
};

/// The signs of life of a run, for its time limits and the watchdog.
pub(crate) struct Pulse {
    pub(crate) key: Key,
    pub(crate) work: WorkId,
    driver: Arc<dyn Driver>,
    /// The last sign of life, in milliseconds of the monotonic clock.
    pub(super) last: AtomicU64,
    /// The start of the current poll, in milliseconds plus one; zero between polls.
    pub(super) polling_since: AtomicU64,
    /// The start of the current wait for rows, in milliseconds plus one; zero without a wait.
    reading_since: AtomicU64,
    /// The time spent in earlier waits for rows, in milliseconds.
    read_ms: AtomicU64,
}

impl Pulse {
    pub(super) fn new(key: Key, work: WorkId, driver: Arc<dyn Driver>, monotonic: Duration) -> Self {
        let (polling_since, reading_since, read_ms) = Default::default();
        Self { key, work, driver, last: AtomicU64::new(millis(monotonic)), polling_since, reading_since, read_ms }
    }

    /// Returns the time that the run has spent waiting for rows.
    pub(super) fn has_read_for(&self, monotonic: Duration) -> Duration {
        let reading = match self.reading_since.load(Ordering::Relaxed) {
            0 => 0,
            since => (monotonic.as_millis() as u64 + 1).saturating_sub(since),
        };
        Duration::from_millis(self.read_ms.load(Ordering::Relaxed) + reading)
    }

    /// Returns the time that the run has spent in its current poll.
    pub(crate) fn polled_for(&self, monotonic: Duration) -> Duration {
        match self.polling_since.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            since => monotonic.saturating_sub(Duration::from_millis(since - 1)),
        }
    }
}

impl SignsOfLife for Pulse {
    fn shows(&self, sign: Sign) {
        let now = millis(self.driver.monotonic());
        self.last.store(now, Ordering::Relaxed);
        match sign {
            Sign::Alive => {}
            Sign::Reads => self.reading_since.store(now + 1, Ordering::Relaxed),
            Sign::HasRead => {
                let since = self.reading_since.swap(0, Ordering::Relaxed);
                self.read_ms.fetch_add((now + 1).saturating_sub(since), Ordering::Relaxed);
            }
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
