//! The kernel's time: the store's clock, carried on by monotonic time. It never goes back (A5).

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crate::{Driver, Millis};

/// Gives the time to turns, alarms and batches.
pub(crate) struct Time {
    driver: Arc<dyn Driver>,
    base: Mutex<Base>,
}

#[derive(Clone, Copy)]
struct Base {
    at: Millis,
    monotonic: Duration,
}

impl Time {
    pub(crate) fn new(driver: Arc<dyn Driver>) -> Self {
        let base = Base { at: Millis(0), monotonic: driver.monotonic() };
        Self { driver, base: Mutex::new(base) }
    }

    pub(crate) fn now(&self) -> Millis {
        self.at(self.driver.monotonic())
    }

    /// Returns the time at a moment of the monotonic clock that was read just now.
    pub(crate) fn at(&self, monotonic: Duration) -> Millis {
        self.base.lock().unwrap_or_else(PoisonError::into_inner).on(monotonic)
    }

    /// Takes in a time from the store: its clock, the highest time that it has seen, or the time of a
    /// record. A later time moves ours forward; an earlier time changes nothing.
    pub(crate) fn told(&self, at: Millis) {
        let monotonic = self.driver.monotonic();
        let mut base = self.base.lock().unwrap_or_else(PoisonError::into_inner);
        if at > base.on(monotonic) {
            *base = Base { at, monotonic };
        }
    }
}

impl Base {
    fn on(self, monotonic: Duration) -> Millis {
        self.at.after(monotonic.saturating_sub(self.monotonic))
    }
}
