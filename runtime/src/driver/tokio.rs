//! The driver of a real program: tokio runs the author's code, and threads of our own run the kernel.

use std::{
    cell::Cell,
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    sync::{
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use tokio::runtime::Handle as Runtime;

use super::{Driver, Handle, Task, Thread, Timer, block_on};
use crate::Millis;

/// How long [`finish`](Driver::finish) waits at most.
const FINISH_MAX: Duration = Duration::from_secs(5);

thread_local! {
    /// Whether this thread runs a loop of the kernel.
    static IS_KERNEL_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// A driver with real time and real threads. The author's code runs on the tokio runtime in which the driver
/// was made.
#[derive(Debug)]
pub struct TokioDriver {
    runtime: Runtime,
    timer: Timer,
    start: Instant,
    seed: RandomState,
    drawn: AtomicU64,
}

impl TokioDriver {
    /// Makes a driver for the current tokio runtime. Panics outside of a runtime, as `tokio::spawn` does.
    #[expect(clippy::disallowed_methods, reason = "this is the driver: where time and chance come in")]
    pub fn new() -> std::io::Result<Self> {
        Ok(Self {
            runtime: Runtime::current(),
            timer: Timer::start()?,
            start: Instant::now(),
            seed: RandomState::new(),
            drawn: AtomicU64::new(0),
        })
    }
}

impl TokioDriver {
    /// Ends the thread that wakes sleepers. To be called when no kernel uses this driver any more.
    pub fn stop(&self) {
        self.timer.stop();
    }
}

impl Driver for TokioDriver {
    fn spawn(&self, task: Task) -> Handle {
        let task = self.runtime.spawn(task).abort_handle();
        Handle::new(move || task.abort())
    }

    fn thread(&self, name: &str, task: Task) -> Thread {
        let runtime = self.runtime.clone();
        let run = move || {
            // Enter the runtime: author's code that is pure or quick is polled on this thread first, and may
            // use the runtime.
            let _entered = runtime.enter();
            IS_KERNEL_THREAD.set(true);
            block_on(task);
        };
        let started = thread::Builder::new().name(format!("drystone-{name}")).spawn(run);
        let failed = |error| {
            tracing::error!(%error, name, "a thread of the kernel could not be started");
            Thread::none()
        };
        started.map_or_else(failed, Thread::from)
    }

    fn finish(&self, task: Task) {
        let (running, over) = mpsc::channel::<()>();
        // The sender is dropped when the task has ended, and also if the thread cannot be started.
        let end = Box::pin(async move {
            task.await;
            drop(running);
        });
        drop(self.thread("end", end));
        if !IS_KERNEL_THREAD.get() {
            let _ = over.recv_timeout(FINISH_MAX);
        }
    }

    fn sleep_until(&self, at: Duration) -> Task {
        Box::pin(self.timer.sleep_until(self.start + at))
    }

    #[expect(clippy::disallowed_methods, reason = "this is the driver: where time comes in")]
    fn now(&self) -> Millis {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }

    fn random(&self) -> u64 {
        // Hashes a counter with the standard library's random keys, which differ per process.
        let mut hasher = self.seed.build_hasher();
        // Relaxed is enough: every call needs a different number, in any order.
        hasher.write_u64(self.drawn.fetch_add(1, Ordering::Relaxed));
        hasher.finish()
    }
}
