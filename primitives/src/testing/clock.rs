//! The world's time, for fakes.

use std::time::Duration;

use super::{executor::Executor, sleep::Sleep};
use crate::Timestamp;

/// The time of a world, for a fake that takes some: see [`Setup::clock`](super::Setup::clock). Clones are the same.
#[derive(Clone, Debug)]
pub struct Clock(Executor);

impl Clock {
    pub(super) fn new(executor: Executor) -> Self {
        Self(executor)
    }

    /// The wall clock of the world.
    pub fn now(&self) -> Timestamp {
        self.0.wall().into()
    }

    /// Waits until the test has let so much time pass.
    pub async fn sleep(&self, span: Duration) {
        let until = self.0.monotonic() + span;
        Sleep::until(self.0.clone(), until).await;
    }
}
