//! The record of a history: its violations, its trace, and the rare paths it took.

use std::{
    fmt,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use super::sometimes::Sometimes;
use crate::sim::running::executor::Executor;

/// The sort of a violation, in the user's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Something accepted is nowhere.
    Lost,
    /// Something happened twice.
    Doubled,
    /// Something never ends.
    Stuck,
    /// Any other law broken.
    Broken,
}

impl fmt::Display for Class {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Lost => "lost",
            Self::Doubled => "doubled",
            Self::Stuck => "stuck",
            Self::Broken => "broken",
        })
    }
}

/// A law that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The sort of violation.
    pub class: Class,
    /// The law's id.
    pub law: &'static str,
    /// A description of the event and of the entity involved.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ({}): {}", self.class, self.law, self.message)
    }
}

/// The record of one history, shared by all observers.
pub struct Chronicle {
    executor: Executor,
    failed: AtomicBool,
    events: AtomicU64,
    violations: Mutex<Vec<Violation>>,
    lines: Option<Mutex<Vec<String>>>,
    sometimes: Mutex<Sometimes>,
}

impl Chronicle {
    /// Creates an empty record, with a trace if `tracing`.
    pub fn new(executor: Executor, tracing: bool) -> Self {
        Self {
            executor,
            failed: AtomicBool::new(false),
            events: AtomicU64::new(0),
            violations: Mutex::default(),
            lines: tracing.then(Mutex::default),
            sometimes: Mutex::default(),
        }
    }

    /// Reports a broken law, which ends the history.
    pub fn violation(&self, class: Class, law: &'static str, message: impl Into<String>) {
        let violation = Violation { class, law, message: message.into() };
        self.note(|| format!("VIOLATION {violation}"));
        lock(&self.violations).push(violation);
        self.failed.store(true, Ordering::Relaxed);
    }

    /// Reports a violation unless `holds`. The message is built only for a violation.
    pub fn check(&self, holds: bool, class: Class, law: &'static str, message: impl FnOnce() -> String) {
        if !holds {
            self.violation(class, law, message());
        }
    }

    /// Whether a law was broken.
    pub fn failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// The violations so far.
    pub fn violations(&self) -> Vec<Violation> {
        lock(&self.violations).clone()
    }

    /// Returns the next number in the order of all observed events.
    pub fn moment(&self) -> u64 {
        self.events.fetch_add(1, Ordering::Relaxed)
    }

    /// Adds a line to the trace. The line is built only if a trace is kept.
    pub fn note(&self, line: impl FnOnce() -> String) {
        if let Some(lines) = &self.lines {
            let at = self.executor.monotonic().as_micros();
            let line = format!("{:>6}.{:03} {}", at / 1000, at % 1000, line());
            lock(lines).push(line);
        }
    }

    /// The trace so far.
    pub fn lines(&self) -> Vec<String> {
        self.lines.as_ref().map(|lines| lock(lines).clone()).unwrap_or_default()
    }

    /// Counts a rare path that was taken. A path that is not listed is a mistake in the simulator. It is
    /// reported as a violation, because a panic would look like a panic of the code under test.
    pub fn sometimes(&self, path: &'static str) {
        let is_listed = lock(&self.sometimes).hit(path);
        self.check(is_listed, Class::Broken, "sim", || format!("`{path}` is not a path that is listed"));
    }

    /// The rare paths taken.
    pub fn paths(&self) -> Sometimes {
        lock(&self.sometimes).clone()
    }
}

/// Locks the mutex and ignores poisoning: a history runs on one thread, so no other thread can have
/// panicked here.
pub(in crate::sim) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
