//! The times of an expression in a time zone, as points in time.
//!
//! A zone is a sequence of spans in which the wall clock runs evenly. At the start of each span the clock
//! was moved. A move forward skipped some times; a move back shows some times again.

use jiff::tz::TimeZone;

use super::{calendar::DAY_SECONDS, expression::Expression};
use crate::Timestamp;

/// How far to search: an expression that has times at all has one within eight years (29 February, around a
/// year like 2100).
const SEARCHED_SECONDS: i64 = 9 * 366 * DAY_SECONDS;

/// A span in which the clock runs evenly. All fields are in seconds.
struct Even {
    /// When the span starts.
    from: i64,
    /// When the next span starts.
    until: i64,
    /// How far the clock is ahead of UTC.
    offset: i64,
    /// How far the clock was ahead of UTC before the span.
    before: i64,
}

pub(super) fn next(expression: &Expression, zone: &TimeZone, base: Timestamp) -> Option<Timestamp> {
    let start = first_second(base);
    let mut from = start;
    while from < start + SEARCHED_SECONDS {
        let even = Even::at(zone, from)?;
        let until = even.until.min(start + SEARCHED_SECONDS);
        if let Some(found) = even.first(expression, from, until) {
            return Some(Timestamp::from_millis(found * 1_000));
        }
        from = until;
    }
    None
}

pub(super) fn count(expression: &Expression, zone: &TimeZone, base: Timestamp, until: Timestamp) -> u64 {
    let (mut from, end) = (first_second(base), first_second(until));
    let mut count = 0;
    while from < end {
        let Some(even) = Even::at(zone, from) else { break };
        let until = even.until.min(end);
        count += even.count(expression, from, until);
        from = until;
    }
    count
}

/// Searches by halves: the later the point, the fewer times come after it.
pub(super) fn last(expression: &Expression, zone: &TimeZone, span: (Timestamp, Timestamp), left: u64) -> Timestamp {
    let (base, until) = span;
    let (mut low, mut high) = (first_second(base) - 1, first_second(until) - 1);
    while low < high {
        let middle = low + (high - low) / 2;
        match count(expression, zone, Timestamp::from_millis(middle * 1_000), until) > left {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    base.max(Timestamp::from_millis(low.saturating_mul(1_000)))
}

/// Returns the first whole second after a point in time.
fn first_second(time: Timestamp) -> i64 {
    time.as_millis().div_euclid(1_000) + 1
}

impl Even {
    /// Returns the span around a second; `None` for a second outside of every calendar.
    fn at(zone: &TimeZone, second: i64) -> Option<Self> {
        let time = jiff::Timestamp::from_second(second).ok()?;
        let offset = i64::from(zone.to_offset(time).seconds());
        let next = jiff::Timestamp::from_second(second + 1).ok()?;
        let change = zone.preceding(next).next().map(|change| change.timestamp().as_second());
        let before = change.and_then(|change| jiff::Timestamp::from_second(change - 1).ok());
        Some(Self {
            from: change.unwrap_or(i64::MIN),
            until: zone.following(time).next().map_or(i64::MAX, |change| change.timestamp().as_second()),
            offset,
            before: before.map_or(offset, |before| i64::from(zone.to_offset(before).seconds())),
        })
    }

    /// Returns the first time within a part of the span.
    fn first(&self, expression: &Expression, from: i64, until: i64) -> Option<i64> {
        if from == self.from && self.makes_up(expression) {
            return Some(from);
        }
        let found = expression.first_in(self.shown(expression, from), until + self.offset)?;
        Some(found - self.offset)
    }

    /// Returns how many times a part of the span has.
    fn count(&self, expression: &Expression, from: i64, until: i64) -> u64 {
        let made_up = from == self.from && self.makes_up(expression);
        // A time at the very moment of the jump and the times that were skipped are one.
        let is_own = || expression.first_in(from + self.offset, from + self.offset + 1).is_some();
        let count = expression.count_in(self.shown(expression, from), until + self.offset);
        count + u64::from(made_up && !is_own())
    }

    /// Returns what the clock shows at a second of this span. Times that the clock had shown before the span
    /// are passed over, unless the expression follows the clock.
    fn shown(&self, expression: &Expression, second: i64) -> i64 {
        let shown = second + self.offset;
        if expression.follows_the_clock() || self.before <= self.offset {
            return shown;
        }
        shown.max(self.from + self.before)
    }

    /// Whether times that the clock skipped come at the start of this span.
    fn makes_up(&self, expression: &Expression) -> bool {
        let is_left_out = self.before < self.offset && !expression.follows_the_clock();
        is_left_out && expression.first_in(self.from + self.before, self.from + self.offset).is_some()
    }
}
