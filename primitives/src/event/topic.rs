//! The options of a topic, which `#[event(topic, ..)]` sets.

use serde::{Deserialize, Serialize};

/// How a topic delivers and keeps its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TopicOptions {
    pub(crate) deliver: Deliver,
    pub(crate) from: From,
    pub(crate) keep_for_ms: u64,
    pub(crate) max_pending: u64,
}

/// The waits that an event goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Deliver {
    /// All waits: a log (T2).
    All,
    /// The longest waiting wait: a work queue (T3).
    One,
}

/// The event with which a wait begins to read a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum From {
    /// The first event that is published after the wait began.
    Wait,
    /// The first event that was published after the run began.
    Created,
    /// The oldest event that is kept.
    Start,
}

impl TopicOptions {
    /// The defaults: events go to all waits, from when the wait began; up to 10,000 events are kept for 7
    /// days.
    pub(crate) const NEW: Self =
        Self { deliver: Deliver::All, from: From::Wait, keep_for_ms: 7 * 24 * 60 * 60 * 1_000, max_pending: 10_000 };

    /// Returns the time until which an event of this time is kept.
    pub(crate) fn kept_until(&self, at: i64) -> i64 {
        at.saturating_add(i64::try_from(self.keep_for_ms).unwrap_or(i64::MAX))
    }
}
