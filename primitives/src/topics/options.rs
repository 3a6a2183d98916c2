//! How events of a type are published: what `#[event(topic, ..)]` says.

use serde::{Deserialize, Serialize};

/// How a topic delivers and keeps its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TopicOptions {
    pub(crate) deliver: Deliver,
    pub(crate) from: From,
    pub(crate) keep_for_ms: u64,
    pub(crate) max_pending: u64,
}

/// To whom an event goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Deliver {
    /// To all who wait: a log (T2).
    All,
    /// To the one who waits longest: a work queue (T3).
    One,
}

/// Where a wait begins to read a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum From {
    /// With what is published after it.
    Wait,
    /// With what was published after its run began.
    Created,
    /// With the oldest that is kept.
    Start,
}

impl TopicOptions {
    /// The defaults: to all who wait, from when they wait; kept for 7 days, 10,000 at most.
    pub(crate) const NEW: Self =
        Self { deliver: Deliver::All, from: From::Wait, keep_for_ms: 7 * 24 * 60 * 60 * 1_000, max_pending: 10_000 };

    /// When an event of this time is kept no longer.
    pub(crate) fn kept_until(&self, at: i64) -> i64 {
        at.saturating_add(i64::try_from(self.keep_for_ms).unwrap_or(i64::MAX))
    }
}
