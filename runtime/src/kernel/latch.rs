//! A flag that is set once, and that many can wait for.

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

    /// Sets the flag and wakes everyone who waits for it.
    pub(crate) fn set(&self) {
        self.is_set.store(true, Ordering::SeqCst);
        self.bell.notify_waiters();
    }

    /// Waits until the flag is set.
    pub(crate) async fn wait(&self) {
        // Made before the flag is looked at: it hears of a `set` that comes between the two.
        let set = self.bell.notified();
        if !self.is_set() {
            set.await;
        }
    }
}
