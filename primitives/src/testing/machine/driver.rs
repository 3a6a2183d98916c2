//! The world as the kernel of one process sees it.

use std::time::Duration;

use drystone_runtime::{
    Driver, Millis,
    driver::{Handle, Task, Thread},
};

use super::{
    executor::{Executor, Process},
    sleep::Sleep,
};

/// The time and tasks of one process.
#[derive(Debug)]
pub struct WorldDriver {
    executor: Executor,
    process: Process,
}

impl WorldDriver {
    pub(in crate::testing) fn new(executor: Executor, process: Process) -> Self {
        Self { executor, process }
    }
}

impl Driver for WorldDriver {
    fn spawn(&self, task: Task) -> Handle {
        self.executor.spawn(self.process, task)
    }

    fn thread(&self, name: &str, task: Task) -> Thread {
        // Forgotten, because dropping the handle would drop the task, and a thread must keep running.
        std::mem::forget(self.executor.spawn_named(self.process, name, task));
        Thread::none()
    }

    fn sleep_until(&self, at: Duration) -> Task {
        Box::pin(Sleep::until(self.executor.clone(), at))
    }

    fn now(&self) -> Millis {
        self.executor.wall()
    }

    fn monotonic(&self) -> Duration {
        self.executor.monotonic()
    }

    fn random(&self) -> u64 {
        spread(self.executor.state().number())
    }
}

/// Spreads a counted number over 64 bits, in place of a random one.
pub(super) fn spread(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
