//! The interface to the outside world: time, randomness, threads and tasks are passed in (A5, X1).
//!
//! The kernel reads no clock and starts nothing by itself. A real program uses [`TokioDriver`]; the simulator
//! and the test kit use virtual drivers.

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

/// Everything that the kernel needs from the outside world.
pub trait Driver: Send + Sync + 'static {
    /// Starts the author's code, concurrently with everything else. Dropping the handle drops the code at its
    /// next await.
    fn spawn(&self, task: Task) -> Handle;

    /// Starts one of the kernel's own loops on a thread of its own, where it may block. A kernel that shuts
    /// down in order waits until the thread has ended.
    fn thread(&self, name: &str, task: Task) -> Thread;

    /// Runs the last task of a kernel whose last handle was dropped. A driver with real threads returns when
    /// the task has ended, or after a few seconds. On a thread of the kernel it does not wait, because the
    /// task may need that thread.
    fn finish(&self, task: Task) {
        drop(self.thread("end", task));
    }

    /// Returns a future that is ready when [`monotonic`](Self::monotonic) has reached `at`. It works on any
    /// thread.
    fn sleep_until(&self, at: Duration) -> Task;

    /// Returns the time of the wall clock.
    fn now(&self) -> Millis;

    /// Returns the time since some fixed point; it never goes back.
    fn monotonic(&self) -> Duration;

    /// Returns 64 random bits.
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
