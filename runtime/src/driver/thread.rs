//! A thread of the kernel, to be waited for.

use std::thread::JoinHandle;

/// A thread that a [`Driver`](super::Driver) started. Dropping it leaves the thread running.
#[derive(Debug, Default)]
pub struct Thread(Option<JoinHandle<()>>);

impl Thread {
    /// No thread: the loop is a task of a virtual world, or could not be started.
    pub fn none() -> Self {
        Self::default()
    }

    /// Waits until the thread has ended.
    pub(crate) fn join(self) {
        // A panic there was logged by the panic hook, and ended one loop.
        self.0.into_iter().for_each(|thread| drop(thread.join()));
    }
}

impl From<JoinHandle<()>> for Thread {
    fn from(thread: JoinHandle<()>) -> Self {
        Self(Some(thread))
    }
}
