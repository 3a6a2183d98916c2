//! The options of a queue.

use std::time::Duration;

use serde::Serialize;

use crate::{
    Retry,
    kind::{Attempts, attempts},
    planted::Bug,
    values::literal,
};

/// How many items of one queue may be processed at once. The record names each running item, so a limit
/// keeps it short.
const CONCURRENCY_MAX: u64 = 1_000;

/// The options of `#[primitive(queue, ..)]`.
#[derive(Clone, Debug, Serialize)]
pub struct Options {
    pub(super) concurrency: u64,
    pub(super) attempts: Attempts,
    heartbeat_ms: Option<u64>,
    pub(super) strict_order: bool,
    pub(super) max_depth: u64,
}

impl Options {
    /// The defaults: one item at a time, executed up to 5 times, 1 second to 5 minutes apart; at most a
    /// million items.
    pub const NEW: Self = Self {
        concurrency: 1,
        attempts: Attempts::new(5, Retry::parse("1s..5m")),
        heartbeat_ms: None,
        strict_order: false,
        max_depth: 1_000_000,
    };

    attempts::options!(backoff, backoff_with);

    /// How many items of one key are processed at once; the default is 1, and the maximum 1,000 (Q2).
    #[track_caller]
    pub const fn concurrency(mut self, items: u64) -> Self {
        assert!(items <= CONCURRENCY_MAX, "this is more than 1,000; use several keys");
        self.concurrency = literal::count(items);
        self
    }

    /// How long one execution may go without a sign of life, `"10s"`; then it has failed. There is no limit
    /// by default. Code gives a sign of life by [`Context::heartbeat`](crate::Context::heartbeat).
    #[track_caller]
    pub const fn heartbeat(self, silence: &str) -> Self {
        self.heartbeat_with(literal::some_duration(silence))
    }

    /// [`heartbeat`](Self::heartbeat) from a constant.
    #[track_caller]
    pub const fn heartbeat_with(mut self, silence: Duration) -> Self {
        self.heartbeat_ms = Some(literal::millis(silence));
        self
    }

    /// Makes an item that waits for a retry hold up later items. By default they are processed meanwhile
    /// (Q3).
    pub const fn strict_order(mut self) -> Self {
        self.strict_order = true;
        self
    }

    /// How many items may be stored: waiting, delayed, running and waiting for a retry. Beyond that
    /// `enqueue` answers [`Full`](super::Full). The default is a million (Q5).
    #[track_caller]
    pub const fn max_depth(mut self, items: u64) -> Self {
        self.max_depth = literal::count(items);
        self
    }

    /// Finishes the options: strict order needs one item at a time.
    #[track_caller]
    pub const fn checked(self) -> Self {
        assert!(
            !(self.strict_order && self.concurrency > 1),
            "with `strict_order` one item goes at a time; leave `concurrency` out, or `strict_order`"
        );
        self
    }

    /// Returns how many items may run at once.
    pub(super) fn places(&self) -> usize {
        let one_more = u64::from(Bug::ConcurrencyForgotten.planted());
        usize::try_from(self.concurrency + one_more).unwrap_or(usize::MAX)
    }

    pub(super) fn silence(&self) -> Option<Duration> {
        self.heartbeat_ms.map(Duration::from_millis)
    }
}
