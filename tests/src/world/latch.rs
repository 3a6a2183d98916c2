//! What a test and the code under it share: a door that the test opens, and a log that both write.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;

/// A door: code waits before it until the test opens it.
#[derive(Clone, Debug)]
pub struct Latch(Arc<Semaphore>);

impl Default for Latch {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }
}

impl Latch {
    /// Waits until it is open.
    pub async fn wait(self) {
        if let Ok(permit) = self.0.acquire().await {
            permit.forget();
        }
    }

    /// Lets one through.
    pub fn let_one_through(&self) {
        self.0.add_permits(1);
    }

    /// Opens it, for good.
    pub fn open(&self) {
        self.0.close();
    }
}

/// What was said, in order.
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

    fn lines(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
