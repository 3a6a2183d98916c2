//! Points in time, as stored: milliseconds since 1970.

use std::{fmt, time::Duration};

/// A point in time: milliseconds since 1970-01-01 UTC. Arithmetic saturates, so no deadline overflows (fD4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub i64);

impl Millis {
    /// The end of time: an alarm set there never rings.
    pub const MAX: Self = Self(i64::MAX);

    /// This point moved on by `span`.
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)))
    }

    /// This point moved back by `span`.
    pub fn before(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)))
    }

    /// How long from `earlier` to here; nothing if that is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}ms", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A5
    #[test]
    fn far_deadlines_saturate() {
        let centuries = Duration::from_secs(300 * 366 * 86_400);
        assert!(Millis(0).after(centuries) > Millis(9_000_000_000_000));
        assert_eq!(Millis(1).after(Duration::MAX), Millis::MAX);
        assert_eq!(Millis::MAX.after(Duration::from_secs(1)), Millis::MAX);
        assert_eq!(Millis(1).since(Millis(2)), Duration::ZERO);
    }
}
