//! The seam to the world: time, chance, threads and tasks are handed in (A5, X1).
//!
//! The kernel reads no clock and starts nothing by itself. [`TokioDriver`] serves a real program; the
//! simulator and the test kit bring a virtual one.

mod block_on;
mod thread;
mod timer;
#[cfg(feature = "tokio")]
mod tokio;

use std::{pin::Pin, time::Duration};

pub use block_on::block_on;
pub use thread::Thread;
pub use timer::Timer;

#[cfg(feature = "tokio")]
pub use self::tokio::TokioDriver;
use crate::Millis;

/// A boxed future that may move between threads.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What the kernel needs of the world.
pub trait Driver: Send + Sync + 'static {
    /// Starts the author's code, beside everything else. Dropping the handle drops the code at its next await.
    fn spawn(&self, task: Task) -> Handle;

    /// Starts one of the kernel's own loops, on a thread of its own: it may block there. A kernel that ends in order waits for
    /// the end of the thread.
    fn thread(&self, name: &str, task: Task) -> Thread;

    /// Runs the last task of a kernel whose last handle was dropped. A driver with real threads returns when the task is over,
    /// or after a few seconds; on a thread of the kernel it does not wait, for the task may need that thread.
    fn finish(&self, task: Task) {
        drop(self.thread("end", task));
    }

    /// Ready when [`monotonic`](Self::monotonic) has reached `at`; works on any thread.
    fn sleep_until(&self, at: Duration) -> Task;

    /// The wall clock.
    fn now(&self) -> Millis;

    /// Time that only moves on, since some start.
    fn monotonic(&self) -> Duration;

    /// Sixty-four bits of chance.
    fn random(&self) -> u64;
}

/// A running task; dropping it stops the task.
pub struct Handle(Option<Box<dyn FnOnce() + Send>>);

impl Handle {
    /// A handle that calls `stop` when it is dropped.
    pub fn new(stop: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(stop)))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if let Some(stop) = self.0.take() {
            stop();
        }
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Handle")
    }
}
