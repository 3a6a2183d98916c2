//! The kernel's driver for one simulated process.

use std::{cell::RefCell, time::Duration};

use drystone_runtime::{
    Driver, Millis,
    driver::{Handle, Task, Thread},
};

use super::executor::{Executor, Group};

/// Provides virtual time, virtual threads and random numbers from the seed. Each process has its own
/// driver.
pub struct VirtualDriver {
    executor: Executor,
    group: Group,
    /// The start of the process. Monotonic time counts from here, as on a real machine.
    start: Duration,
}

impl VirtualDriver {
    /// Creates the driver of a process that starts at this moment.
    pub fn new(executor: Executor, group: Group) -> Self {
        let start = executor.monotonic();
        Self { executor, group, start }
    }
}

impl Driver for VirtualDriver {
    fn spawn(&self, task: Task) -> Handle {
        let id = self.executor.spawn(self.group, "work", task);
        let executor = self.executor.clone();
        Handle::new(move || {
            if let Some(id) = id {
                executor.stop(id);
            }
        })
    }

    fn thread(&self, name: &str, task: Task) -> Thread {
        self.executor.spawn(self.group, interned(name), task);
        Thread::none()
    }

    fn sleep_until(&self, at: Duration) -> Task {
        Box::pin(self.executor.sleep_until(self.start + at))
    }

    fn now(&self) -> Millis {
        self.executor.wall(self.group)
    }

    fn monotonic(&self) -> Duration {
        self.executor.monotonic_of_process() - self.start
    }

    fn random(&self) -> u64 {
        self.executor.random()
    }
}

/// Returns the name with a static lifetime. Names are leaked, but a kernel has only a handful of thread
/// names, which are reused at every start.
fn interned(name: &str) -> &'static str {
    thread_local! {
        static NAMES: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
    }
    NAMES.with_borrow_mut(|names| match names.iter().find(|known| **known == name) {
        Some(known) => known,
        None => {
            names.push(Box::leak(name.to_owned().into_boxed_str()));
            names[names.len() - 1]
        }
    })
}
