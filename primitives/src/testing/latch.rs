//! A door in the author's code, or in a fake, that the test opens.

use std::sync::Arc;

use tokio::sync::Semaphore;

/// A door: code waits before it until the test opens it. Clones are the same door.
#[derive(Clone, Debug)]
pub struct Latch(Arc<Semaphore>);

impl Default for Latch {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }
}

impl Latch {
    /// Waits until it is let through.
    pub async fn wait(self) {
        if let Ok(permit) = self.0.acquire().await {
            permit.forget();
        }
    }

    /// Lets one through: the first that waits, or the next that comes.
    pub fn let_one_through(&self) {
        self.0.add_permits(1);
    }

    /// Opens it, for good.
    pub fn open(&self) {
        self.0.close();
    }
}
