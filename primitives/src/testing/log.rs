//! A log that fakes write and tests read.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Lines of text, in order. Clones share one log.
#[derive(Clone, Debug, Default)]
pub struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    /// Adds a line.
    pub fn say(&self, line: impl Into<String>) {
        self.lines().push(line.into());
    }

    /// Takes all lines since the last call.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.lines())
    }

    fn lines(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
