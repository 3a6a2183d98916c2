//! What `#[primitive(semaphore, ..)]` sets.

use std::time::Duration;

use serde::Serialize;

use crate::literal;

/// The options of `#[primitive(semaphore, ..)]`.
#[derive(Clone, Debug, Serialize)]
pub struct Options {
    pub(super) permits: u64,
    lease_ms: Option<u64>,
    window_ms: Option<u64>,
}

/// How long a permit lasts without a sign of life, unless said.
const LEASE_MS: u64 = 30_000;

impl Options {
    /// The defaults: a lease of 30 seconds. How many permits there are must be said.
    pub const NEW: Self = Self { permits: 0, lease_ms: None, window_ms: None };

    /// How much weight may be out at once, of all permits of a key together (S1).
    #[track_caller]
    pub const fn permits(mut self, permits: u64) -> Self {
        self.permits = literal::count(permits);
        self
    }

    /// How long a permit lasts after its holder's last sign of life: `"30s"`, which it is unless said. While it is held in a
    /// live process it is renewed, three times in each lease (S2, S4).
    #[track_caller]
    pub const fn lease(mut self, lease: &str) -> Self {
        self.lease_ms = Some(literal::some_duration(lease).as_millis() as u64);
        self
    }

    /// [`lease`](Self::lease) from a constant.
    #[track_caller]
    pub const fn lease_with(mut self, lease: Duration) -> Self {
        self.lease_ms = Some(literal::millis(lease));
        self
    }

    /// Makes it a rate limit: a permit comes back so long after it was given, `"1s"`, and not before (S3).
    #[track_caller]
    pub const fn window(mut self, window: &str) -> Self {
        self.window_ms = Some(literal::some_duration(window).as_millis() as u64);
        self
    }

    /// [`window`](Self::window) from a constant.
    #[track_caller]
    pub const fn window_with(mut self, window: Duration) -> Self {
        self.window_ms = Some(literal::millis(window));
        self
    }

    /// The options, once all are set: there are permits, and they come back in one way.
    #[track_caller]
    pub const fn checked(self) -> Self {
        assert!(self.permits > 0, "a semaphore needs to know how many: write `permits = 10`");
        assert!(
            self.lease_ms.is_none() || self.window_ms.is_none(),
            "`lease` and `window` exclude each other: permits come back when they are released, or when time has passed"
        );
        self
    }

    /// Whether permits come back with time alone.
    pub(super) fn is_rate(&self) -> bool {
        self.window_ms.is_some()
    }

    /// How long a permit lasts from when it is given, or renewed.
    pub(super) fn span(&self) -> Duration {
        Duration::from_millis(self.window_ms.or(self.lease_ms).unwrap_or(LEASE_MS))
    }
}
