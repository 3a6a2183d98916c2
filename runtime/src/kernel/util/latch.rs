//! A flag that is set once, and that many tasks can wait for.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

#[derive(Debug, Default)]
pub(crate) struct Latch {
    is_set: AtomicBool,
    bell: Notify,
}

impl Latch {
    pub(crate) fn is_set(&self) -> bool {
        self.is_set.load(Ordering::SeqCst)
    }

    /// Sets the flag and wakes all waiters.
    pub(crate) fn set(&self) {
        self.is_set.store(true, Ordering::SeqCst);
        self.bell.notify_waiters();
    }

    /// Waits until the flag is set.
    pub(crate) async fn wait(&self) {
        // Created before the flag is read, so that a `set` between the two is not missed.
        let set = self.bell.notified();
        if !self.is_set() {
            set.await;
        }
    }
}
