//! The time of a world, for fakes.

use std::time::Duration;

use super::machine::{executor::Executor, sleep::Sleep};
use crate::Timestamp;

/// The clock of a world, for a fake that takes time: see [`Setup::clock`](super::Setup::clock). Clones share
/// one clock.
#[derive(Clone, Debug)]
pub struct Clock(Executor);

impl Clock {
    pub(super) fn new(executor: Executor) -> Self {
        Self(executor)
    }

    /// Returns the time on the world's wall clock.
    pub fn now(&self) -> Timestamp {
        self.0.wall().into()
    }

    /// Waits until the test has let `span` pass.
    pub async fn sleep(&self, span: Duration) {
        let until = self.0.monotonic() + span;
        Sleep::until(self.0.clone(), until).await;
    }
}
