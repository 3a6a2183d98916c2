//! The world as one simulated process sees it.

use std::{cell::RefCell, time::Duration};

use drystone_runtime::{
    Driver, Millis,
    driver::{Handle, Task, Thread},
};

use super::executor::{Executor, Group};

/// Virtual time, virtual threads, chance from the seed. One per process.
pub struct VirtualDriver {
    executor: Executor,
    group: Group,
    /// Monotonic time counts from the process's own start, as it does on a real machine.
    start: Duration,
}

impl VirtualDriver {
    /// The driver of this process, which starts now.
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

/// The name as one of few that last: a kernel has a handful of threads, however often it is started.
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
