//! The signs of life of code that runs.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use crate::{Driver, Key, Work, model::Sign};

/// Signs of life of a run, seen by the watchdog.
#[derive(Debug)]
pub(crate) struct Pulse {
    pub(crate) key: Key,
    pub(crate) work: Work,
    /// Its last sign of life, in milliseconds of the monotonic clock.
    pub(super) last: AtomicU64,
    /// Since when it is in one poll, in milliseconds plus one; zero between polls.
    pub(super) polling_since: AtomicU64,
    /// Since when it waits for rows, in milliseconds plus one; zero if it does not.
    reading_since: AtomicU64,
    /// How long it has waited for rows before, in milliseconds.
    read_ms: AtomicU64,
}

impl Pulse {
    pub(super) fn new(key: Key, work: Work, driver: &dyn Driver) -> Self {
        let (last, polling_since, reading_since, read_ms) = Default::default();
        let pulse = Self { key, work, last, polling_since, reading_since, read_ms };
        pulse.beat(driver);
        pulse
    }

    pub(super) fn shows(&self, sign: Sign, driver: &dyn Driver) {
        self.beat(driver);
        let now = driver.monotonic().as_millis() as u64 + 1;
        match sign {
            Sign::Alive => {}
            Sign::Reads => self.reading_since.store(now, Ordering::Relaxed),
            Sign::HasRead => {
                let since = self.reading_since.swap(0, Ordering::Relaxed);
                self.read_ms.fetch_add(now.saturating_sub(since), Ordering::Relaxed);
            }
        }
    }

    /// How long it has waited for rows in all.
    pub(super) fn has_read_for(&self, monotonic: Duration) -> Duration {
        let reading = match self.reading_since.load(Ordering::Relaxed) {
            0 => 0,
            since => (monotonic.as_millis() as u64 + 1).saturating_sub(since),
        };
        Duration::from_millis(self.read_ms.load(Ordering::Relaxed) + reading)
    }

    fn beat(&self, driver: &dyn Driver) {
        self.last.store(driver.monotonic().as_millis() as u64, Ordering::Relaxed);
    }

    /// For how long it has been in one poll.
    pub(crate) fn polled_for(&self, monotonic: Duration) -> Duration {
        match self.polling_since.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            since => monotonic.saturating_sub(Duration::from_millis(since - 1)),
        }
    }
}
