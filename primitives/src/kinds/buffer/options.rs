//! What `#[primitive(buffer, ..)]` sets.

use std::time::Duration;

use serde::Serialize;

use crate::{
    Retry,
    kind::{Attempts, attempts},
    literal,
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
    /// The defaults: batches of up to 100 items that wait at most 5 seconds; a flush is executed up to 5 times, 1 second to
    /// 1 minute apart; 100,000 items and 64 MiB are stored at most.
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

    /// How many items a batch has at most: reaching it closes the batch; 100 unless said (B1).
    #[track_caller]
    pub const fn max_items(mut self, items: u64) -> Self {
        self.max_items = literal::count(items);
        self
    }

    /// How long the first item of a batch waits at most: `"5s"`, which it is unless said (B1).
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

    /// `max_wait` is counted from the last item and not from the first. Steady traffic then flushes by capacity alone (B1).
    pub const fn reset_on_add(mut self) -> Self {
        self.reset_on_add = true;
        self
    }

    /// A batch that waits to be tried again holds up those behind it; else they go on (B5).
    pub const fn strict_order(mut self) -> Self {
        self.strict_order = true;
        self
    }

    /// How many items may be stored, in all batches; beyond it `add` answers [`Full`](super::Full). 100,000 unless said
    /// (B8).
    #[track_caller]
    pub const fn max_stored(mut self, items: u64) -> Self {
        self.max_stored = literal::count(items);
        self
    }

    /// How many bytes of items may be stored, in all batches; beyond it `add` answers [`Full`](super::Full). 64 MiB unless
    /// said (B8).
    #[track_caller]
    pub const fn max_stored_bytes(mut self, bytes: u64) -> Self {
        self.max_stored_bytes = literal::count(bytes);
        self
    }

    /// The options, once all are set: a whole batch must fit into what may be stored.
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
