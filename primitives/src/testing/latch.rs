//! A gate in author code, or in a fake, that the test opens.

use std::sync::Arc;

use tokio::sync::Semaphore;

/// A gate: code waits there until the test opens the gate. Clones share one gate.
#[derive(Clone, Debug)]
pub struct Latch(Arc<Semaphore>);

impl Default for Latch {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }
}

impl Latch {
    /// Waits until the test lets this caller through.
    pub async fn wait(self) {
        if let Ok(permit) = self.0.acquire().await {
            permit.forget();
        }
    }

    /// Lets one caller through: the first that waits, or the next that comes.
    pub fn let_one_through(&self) {
        self.0.add_permits(1);
    }

    /// Opens the gate forever.
    pub fn open(&self) {
        self.0.close();
    }
}
