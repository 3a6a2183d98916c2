//! Points in time as authors see them.

use std::{
    fmt,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use drystone_runtime::Millis;
use serde::{Deserialize, Serialize};

/// A point in time, in milliseconds since 1970; stored as that number and shown as `2026-11-16T08:30:00.000Z`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The point so many milliseconds after 1970.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// This point moved on by `span`.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Millis(self.0).after(span).into()
    }

    /// How long from `earlier` to here; nothing if that is later.
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
        let (days, millis) = (self.0.div_euclid(86_400_000), self.0.rem_euclid(86_400_000));
        let (year, month, day) = date(days);
        let (seconds, millis) = (millis / 1_000, millis % 1_000);
        let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        write!(out, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
    }
}

/// The date of a day counted from 1970. Years are counted from March, so that the leap day is the last; 146,097 days
/// are 400 years.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days.saturating_add(719_468);
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * march + 2) / 5 + 1, if march < 10 { march + 3 } else { march - 9 });
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_as_people_write_them() {
        for (millis, shown) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_700_000_000_123, "2023-11-14T22:13:20.123Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(Timestamp::from_millis(millis).to_string(), shown);
        }
    }

    #[test]
    fn system_time_and_back() {
        for millis in [-5_i64, 0, 1_700_000_000_123] {
            assert_eq!(Timestamp::from(SystemTime::from(Timestamp(millis))), Timestamp(millis));
        }
    }
}
