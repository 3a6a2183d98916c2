//! How often a hook is executed: what kinds have in common.

use std::time::Duration;

use serde::Serialize;

use crate::{Retry, literal};

/// How often a failing hook is executed, how long to wait in between, and how long one execution may take.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Attempts {
    max: u32,
    pauses: Retry,
    timeout_ms: Option<u64>,
}

impl Attempts {
    /// So many executions in all, with these pauses, each for as long as it takes.
    pub const fn new(max: u32, pauses: Retry) -> Self {
        Self { max, pauses, timeout_ms: None }
    }

    /// With so many executions in all, the first included.
    #[track_caller]
    #[must_use]
    pub const fn max(mut self, max: u64) -> Self {
        self.max = literal::count_u32(max);
        self
    }

    /// With other pauses.
    #[must_use]
    pub const fn pauses(mut self, pauses: Retry) -> Self {
        self.pauses = pauses;
        self
    }

    /// With a limit for one execution; one that takes longer has failed.
    #[track_caller]
    #[must_use]
    pub const fn timeout(mut self, limit: Duration) -> Self {
        self.timeout_ms = Some(literal::millis(limit));
        self
    }

    /// How long one execution may take.
    pub fn time_limit(&self) -> Option<Duration> {
        self.timeout_ms.map(Duration::from_millis)
    }

    /// How long to wait after the execution with this number (from 1) has failed; `None` if it was the last. `seed` stands
    /// for chance.
    pub fn pause_after(&self, attempt: u32, seed: u64) -> Option<Duration> {
        self.pauses.pause_after(attempt, seed).filter(|_| attempt < self.max)
    }
}

/// The options that set the field `attempts` of a kind's `Options`; the pause has the name that the kind gives it.
macro_rules! options {
    ($pause:ident, $pause_with:ident) => {
        /// How often a failing hook is executed in all, the first time included.
        #[track_caller]
        pub const fn max_attempts(mut self, attempts: u64) -> Self {
            self.attempts = self.attempts.max(attempts);
            self
        }

        /// How long to wait between those executions: `"1m"`, or `"1s..1m"` for a pause that doubles.
        #[track_caller]
        pub const fn $pause(self, pause: &str) -> Self {
            self.$pause_with($crate::Retry::parse(pause))
        }

        /// The same from a constant: pauses of any form. A plan's own number of attempts holds beside `max_attempts`.
        pub const fn $pause_with(mut self, plan: $crate::Retry) -> Self {
            self.attempts = self.attempts.pauses(plan);
            self
        }

        /// How long one execution may take, `"30s"`; then it has failed. No limit unless said.
        #[track_caller]
        pub const fn timeout(self, limit: &str) -> Self {
            self.timeout_with($crate::literal::some_duration(limit))
        }

        /// The same from a constant.
        #[track_caller]
        pub const fn timeout_with(mut self, limit: ::std::time::Duration) -> Self {
            self.attempts = self.attempts.timeout(limit);
            self
        }
    };
}

pub(crate) use options;
