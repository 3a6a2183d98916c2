//! Points in time as authors see them.

use std::{
    fmt,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use drystone_runtime::Millis;
use serde::{Deserialize, Serialize};

/// A point in time, in milliseconds since 1970, stored as that number and shown as
/// `2026-11-16T08:30:00.000Z`.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The point `millis` milliseconds after 1970.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Returns the milliseconds since 1970.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Returns the point that is `span` later.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Millis(self.0).after(span).into()
    }

    /// Returns the time from `earlier` to this point; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Millis(self.0).since(Millis(earlier.0))
    }
}

impl From<Millis> for Timestamp {
    fn from(millis: Millis) -> Self {
        Self(millis.0)
    }
}

impl From<Timestamp> for Millis {
    fn from(time: Timestamp) -> Self {
        Self(time.0)
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let whole = |span: Duration| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        Self(time.duration_since(UNIX_EPOCH).map_or_else(|before| -whole(before.duration()), whole))
    }
}

impl From<Timestamp> for SystemTime {
    fn from(time: Timestamp) -> Self {
        let span = Duration::from_millis(time.0.unsigned_abs());
        let moved = if time.0 >= 0 { UNIX_EPOCH.checked_add(span) } else { UNIX_EPOCH.checked_sub(span) };
        moved.unwrap_or(UNIX_EPOCH)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        Millis(self.0).fmt(out)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_time_and_back() {
        for millis in [-5_i64, 0, 1_700_000_000_123] {
            assert_eq!(Timestamp::from(SystemTime::from(Timestamp(millis))), Timestamp(millis));
        }
    }
}
