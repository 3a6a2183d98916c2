//! What fakes write down, and tests read.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What was said, in order. Clones are the same log.
#[derive(Clone, Debug, Default)]
pub struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    /// Says something.
    pub fn say(&self, line: impl Into<String>) {
        self.lines().push(line.into());
    }

    /// All that was said since this was last asked.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.lines())
    }

    fn lines(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
