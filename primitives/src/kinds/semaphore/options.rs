//! The options of a semaphore.

use std::time::Duration;

use serde::Serialize;

use crate::values::literal;

/// The options of `#[primitive(semaphore, ..)]`.
#[derive(Clone, Debug, Serialize)]
pub struct Options {
    pub(super) permits: u64,
    lease_ms: Option<u64>,
    window_ms: Option<u64>,
}

/// The default lease.
const LEASE_MS: u64 = 30_000;

impl Options {
    /// The defaults: a lease of 30 seconds. The number of permits has no default.
    pub const NEW: Self = Self { permits: 0, lease_ms: None, window_ms: None };

    /// How much all permits of a key that are out at once may weigh (S1).
    #[track_caller]
    pub const fn permits(mut self, permits: u64) -> Self {
        self.permits = literal::count(permits);
        self
    }

    /// How long a permit lasts after its holder's last sign of life; the default is `"30s"`. While a live
    /// process holds the permit, it is renewed three times in each lease (S2, S4).
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

    /// Makes the semaphore a rate limit: a permit comes back when this time, `"1s"`, has passed since the
    /// permit was given, and not before (S3).
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

    /// Finishes the options: there must be permits, and they come back in one way only.
    #[track_caller]
    pub const fn checked(self) -> Self {
        assert!(self.permits > 0, "a semaphore needs to know how many: write `permits = 10`");
        assert!(
            self.lease_ms.is_none() || self.window_ms.is_none(),
            "`lease` and `window` exclude each other: permits come back when they are released, or when time has passed"
        );
        self
    }

    /// Whether permits come back by time alone, as those of a rate limit.
    pub(super) fn is_rate(&self) -> bool {
        self.window_ms.is_some()
    }

    /// Returns how long a permit lasts after it was given or renewed.
    pub(super) fn span(&self) -> Duration {
        Duration::from_millis(self.window_ms.or(self.lease_ms).unwrap_or(LEASE_MS))
    }
}
