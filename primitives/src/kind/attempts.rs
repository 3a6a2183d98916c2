//! How often a hook is executed: the common part of the kinds.

use std::time::Duration;

use serde::Serialize;

use crate::{Retry, values::literal};

/// How often a failing hook is executed, how long the pauses are, and how long one execution may take.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Attempts {
    max: u32,
    pauses: Retry,
    timeout_ms: Option<u64>,
}

impl Attempts {
    /// At most `max` executions in all, with these pauses, and without a time limit.
    pub const fn new(max: u32, pauses: Retry) -> Self {
        Self { max, pauses, timeout_ms: None }
    }

    /// Sets the number of executions in all, the first included.
    #[track_caller]
    #[must_use]
    pub const fn max(mut self, max: u64) -> Self {
        self.max = literal::count_u32(max);
        self
    }

    /// Sets the pauses.
    #[must_use]
    pub const fn pauses(mut self, pauses: Retry) -> Self {
        self.pauses = pauses;
        self
    }

    /// Limits the time of one execution. An execution that takes longer has failed.
    #[track_caller]
    #[must_use]
    pub const fn timeout(mut self, limit: Duration) -> Self {
        self.timeout_ms = Some(literal::millis(limit));
        self
    }

    /// Returns how long one execution may take.
    pub fn time_limit(&self) -> Option<Duration> {
        self.timeout_ms.map(Duration::from_millis)
    }

    /// Returns how long to wait after the execution with this number (from 1) has failed; `None` if it was
    /// the last. `seed` stands in for randomness.
    pub fn pause_after(&self, attempt: u32, seed: u64) -> Option<Duration> {
        self.pauses.pause_after(attempt, seed).filter(|_| attempt < self.max)
    }
}

/// The options that set the field `attempts` of a kind's `Options`. The kind chooses the name of the pause.
macro_rules! options {
    ($pause:ident, $pause_with:ident) => {
        /// How often a failing hook is executed in all, the first time included.
        #[track_caller]
        pub const fn max_attempts(mut self, attempts: u64) -> Self {
            self.attempts = self.attempts.max(attempts);
            self
        }

        /// How long to wait between executions: `"1m"`, or `"1s..1m"` for a pause that doubles.
        #[track_caller]
        pub const fn $pause(self, pause: &str) -> Self {
            self.$pause_with($crate::Retry::parse(pause))
        }

        /// Sets the pauses by a constant plan of any form. If the plan limits the attempts, too, the lower
        /// limit counts.
        pub const fn $pause_with(mut self, plan: $crate::Retry) -> Self {
            self.attempts = self.attempts.pauses(plan);
            self
        }

        /// Limits the time of one execution, `"30s"`; a longer execution has failed. There is no limit by
        /// default.
        #[track_caller]
        pub const fn timeout(self, limit: &str) -> Self {
            self.timeout_with($crate::values::literal::some_duration(limit))
        }

        /// Sets the time limit by a constant.
        #[track_caller]
        pub const fn timeout_with(mut self, limit: ::std::time::Duration) -> Self {
            self.attempts = self.attempts.timeout(limit);
            self
        }
    };
}

pub(crate) use options;
