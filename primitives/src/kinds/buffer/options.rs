//! The options of a buffer.

use std::time::Duration;

use serde::Serialize;

use crate::{
    Retry,
    kind::{Attempts, attempts},
    values::literal,
};

/// The options of `#[primitive(buffer, ..)]`.
#[derive(Clone, Debug, Serialize)]
pub struct Options {
    pub(super) max_items: u64,
    max_wait_ms: u64,
    pub(super) reset_on_add: bool,
    pub(super) attempts: Attempts,
    pub(super) strict_order: bool,
    pub(super) max_stored: u64,
    pub(super) max_stored_bytes: u64,
}

impl Options {
    /// The defaults: a batch has up to 100 items and waits at most 5 seconds; a flush is executed up to 5
    /// times, 1 second to 1 minute apart; at most 100,000 items and 64 MiB are stored.
    pub const NEW: Self = Self {
        max_items: 100,
        max_wait_ms: 5_000,
        reset_on_add: false,
        attempts: Attempts::new(5, Retry::parse("1s..1m")),
        strict_order: false,
        max_stored: 100_000,
        max_stored_bytes: 64 * 1024 * 1024,
    };

    attempts::options!(backoff, backoff_with);

    /// How many items close a batch; the default is 100 (B1).
    #[track_caller]
    pub const fn max_items(mut self, items: u64) -> Self {
        self.max_items = literal::count(items);
        self
    }

    /// How long the first item of a batch waits at most; the default is `"5s"` (B1).
    #[track_caller]
    pub const fn max_wait(mut self, wait: &str) -> Self {
        self.max_wait_ms = literal::some_duration(wait).as_millis() as u64;
        self
    }

    /// [`max_wait`](Self::max_wait) from a constant.
    #[track_caller]
    pub const fn max_wait_with(mut self, wait: Duration) -> Self {
        self.max_wait_ms = literal::millis(wait);
        self
    }

    /// Counts `max_wait` from the last item instead of the first. Steady traffic then flushes by size alone
    /// (B1).
    pub const fn reset_on_add(mut self) -> Self {
        self.reset_on_add = true;
        self
    }

    /// Makes a batch that waits for a retry hold up later batches. By default they are flushed meanwhile
    /// (B5).
    pub const fn strict_order(mut self) -> Self {
        self.strict_order = true;
        self
    }

    /// How many items may be stored in all batches; beyond that `add` answers [`Full`](super::Full). The
    /// default is 100,000 (B8).
    #[track_caller]
    pub const fn max_stored(mut self, items: u64) -> Self {
        self.max_stored = literal::count(items);
        self
    }

    /// How many bytes of items may be stored in all batches; beyond that `add` answers
    /// [`Full`](super::Full). The default is 64 MiB (B8).
    #[track_caller]
    pub const fn max_stored_bytes(mut self, bytes: u64) -> Self {
        self.max_stored_bytes = literal::count(bytes);
        self
    }

    /// Finishes the options: a whole batch must fit into what may be stored.
    #[track_caller]
    pub const fn checked(self) -> Self {
        assert!(
            self.max_items <= self.max_stored,
            "`max_items` is more than `max_stored`: no batch could ever be full; write a larger `max_stored`"
        );
        self
    }

    pub(super) fn wait(&self) -> Duration {
        Duration::from_millis(self.max_wait_ms)
    }
}
