//! The retry policy of a step: a value, from `#[step(..)]` or made by hand.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Retry, values::literal};

/// How often a step is executed, how long to wait between executions, and how long one execution and all
/// executions together may take (W3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    max_attempts: u32,
    pauses: Retry,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    give_up_after_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    heartbeat_ms: Option<u64>,
}

impl Policy {
    /// The defaults of a `#[step]`: up to 3 executions, 1 second to 1 minute apart, without a time limit.
    pub const NEW: Self = Self {
        max_attempts: 3,
        pauses: Retry::parse("1s..1m"),
        timeout_ms: None,
        give_up_after_ms: None,
        heartbeat_ms: None,
    };

    /// A single execution.
    pub(in crate::workflow) const ONCE: Self = Self { max_attempts: 1, ..Self::NEW };

    /// The number of executions in all, the first included.
    #[track_caller]
    #[must_use]
    pub const fn max_attempts(mut self, attempts: u64) -> Self {
        self.max_attempts = literal::count_u32(attempts);
        self
    }

    /// The pauses between executions: `"1m"`, or `"1s..1m"` for a pause that doubles.
    #[track_caller]
    #[must_use]
    pub const fn backoff(self, pauses: &str) -> Self {
        self.backoff_with(Retry::parse(pauses))
    }

    /// [`backoff`](Self::backoff) from a constant: pauses of any form. A number of attempts in `pauses`
    /// applies in addition to `max_attempts`.
    #[must_use]
    pub const fn backoff_with(mut self, pauses: Retry) -> Self {
        self.pauses = pauses;
        self
    }

    /// The time limit of one execution, from when its code starts: `"30s"`. No limit by default.
    #[track_caller]
    #[must_use]
    pub const fn timeout(self, limit: &str) -> Self {
        self.timeout_with(literal::some_duration(limit))
    }

    /// [`timeout`](Self::timeout) from a constant.
    #[track_caller]
    #[must_use]
    pub const fn timeout_with(mut self, limit: Duration) -> Self {
        self.timeout_ms = Some(literal::millis(limit));
        self
    }

    /// The time limit of all executions together, from when the step was first asked for: `"1h"`. Beyond
    /// this limit no further execution begins. No limit by default.
    #[track_caller]
    #[must_use]
    pub const fn give_up_after(self, limit: &str) -> Self {
        self.give_up_after_with(literal::some_duration(limit))
    }

    /// [`give_up_after`](Self::give_up_after) from a constant.
    #[track_caller]
    #[must_use]
    pub const fn give_up_after_with(mut self, limit: Duration) -> Self {
        self.give_up_after_ms = Some(literal::millis(limit));
        self
    }

    /// The longest silence of one execution with a heartbeat: `"30s"`. No limit by default.
    #[track_caller]
    #[must_use]
    pub const fn heartbeat(self, limit: &str) -> Self {
        self.heartbeat_with(literal::some_duration(limit))
    }

    /// [`heartbeat`](Self::heartbeat) from a constant.
    #[track_caller]
    #[must_use]
    pub const fn heartbeat_with(mut self, limit: Duration) -> Self {
        self.heartbeat_ms = Some(literal::millis(limit));
        self
    }

    pub(in crate::workflow) fn silence(&self) -> Option<Duration> {
        self.heartbeat_ms.map(Duration::from_millis)
    }

    /// Checks the policy of a transactional step. Its timeout is at most ten seconds, because nobody else
    /// writes while its transaction runs.
    #[track_caller]
    #[must_use]
    pub const fn in_transaction(self) -> Self {
        if let Some(limit) = self.timeout_ms {
            assert!(
                limit <= 10_000,
                "nobody else writes while a transactional step runs: its `timeout` is \"10s\" at most"
            );
        }
        self
    }

    pub(in crate::workflow) fn time_limit(&self) -> Option<Duration> {
        self.timeout_ms.map(Duration::from_millis)
    }

    /// The pause after execution number `attempt` (from 1) has failed; `None` if that was the last. `spent`
    /// is the time since the step was first asked for. `seed` determines the jitter.
    pub(in crate::workflow) fn pause_after(&self, attempt: u32, spent: Duration, seed: u64) -> Option<Duration> {
        let pause = self.pauses.pause_after(attempt, seed).filter(|_| attempt < self.max_attempts)?;
        let limit = self.give_up_after_ms.map_or(Duration::MAX, Duration::from_millis);
        (spent.saturating_add(pause) < limit).then_some(pause)
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::NEW
    }
}
