//! Points in time, as they are stored: milliseconds since 1970.

use std::{fmt, time::Duration};

/// A point in time: milliseconds since 1970-01-01 UTC, displayed as `2026-11-16T08:30:00.000Z`.
///
/// Arithmetic saturates, so no deadline overflows (fD4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub i64);

impl Millis {
    /// The end of time: an alarm set to this point never rings.
    pub const MAX: Self = Self(i64::MAX);

    /// Returns the point that is later by `span`.
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Returns the point that is earlier by `span`.
    pub fn before(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Returns the time from `earlier` to this point, or zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, millis) = (self.0.div_euclid(86_400_000), self.0.rem_euclid(86_400_000));
        let (year, month, day) = date(days);
        let (seconds, millis) = (millis / 1_000, millis % 1_000);
        let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        write!(out, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
    }
}

/// Returns year, month and day of a day counted from 1970.
///
/// Years are counted from March, so that the leap day is the last day of a year. 400 years have 146,097 days.
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
            assert_eq!(Millis(millis).to_string(), shown);
        }
    }

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
