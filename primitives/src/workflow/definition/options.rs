//! The options of a workflow.

use std::time::Duration;

use serde::Serialize;

use crate::values::literal;

/// The options of `#[workflow(..)]`.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Options {
    retention_ms: u64,
    #[cfg(feature = "cron")]
    #[serde(flatten)]
    pub(in crate::workflow) wall: super::cron::Wall,
}

impl Options {
    /// The defaults: a run is kept for 7 days after its end.
    pub const NEW: Self = Self {
        retention_ms: 7 * 24 * 60 * 60 * 1_000,
        #[cfg(feature = "cron")]
        wall: super::cron::Wall::NEW,
    };

    /// How long a run is kept after its end, with its history and its result: `"30d"`. Then the run is
    /// removed, and its key may be used again (L9).
    #[track_caller]
    #[must_use]
    pub const fn retention(self, span: &str) -> Self {
        self.retention_with(literal::some_duration(span))
    }

    /// [`retention`](Self::retention) from a constant.
    #[track_caller]
    #[must_use]
    pub const fn retention_with(mut self, span: Duration) -> Self {
        self.retention_ms = literal::millis(span);
        self
    }

    pub(in crate::workflow) fn keeps_for(&self) -> Duration {
        Duration::from_millis(self.retention_ms)
    }
}
