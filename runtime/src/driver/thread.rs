//! A thread of the kernel that can be joined.

use std::thread::JoinHandle;

/// A thread that a [`Driver`](super::Driver) started. Dropping it leaves the thread running.
#[derive(Debug, Default)]
pub struct Thread(Option<JoinHandle<()>>);

impl Thread {
    /// Returns a handle without a thread: the loop is a task of a virtual driver, or could not be started.
    pub fn none() -> Self {
        Self::default()
    }

    /// Waits until the thread has ended.
    pub(crate) fn join(self) {
        // A panic of the thread was logged by the panic hook and ended one loop, so it is not an error here.
        self.0.into_iter().for_each(|thread| drop(thread.join()));
    }
}

impl From<JoinHandle<()>> for Thread {
    fn from(thread: JoinHandle<()>) -> Self {
        Self(Some(thread))
    }
}
