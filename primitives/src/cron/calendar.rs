//! The days and times of the day of an expression, on a calendar without time zones. Times are seconds since
//! 1970 as the wall clock shows them.

use super::expression::{Expression, LAST_DAY};

pub(super) const DAY_SECONDS: i64 = 86_400;

const SECOND: usize = 0;
const MINUTE: usize = 1;
const HOUR: usize = 2;
pub(super) const DAY: usize = 3;
const MONTH: usize = 4;
const WEEKDAY: usize = 5;

impl Expression {
    /// Whether the expression leaves the minute or the hour open, so that it follows the clock instead of
    /// naming times of the day.
    pub(super) fn follows_the_clock(&self) -> bool {
        self.is_open(MINUTE) || self.is_open(HOUR)
    }

    /// Returns the first time within a span.
    pub(super) fn first_in(&self, from: i64, until: i64) -> Option<i64> {
        let mut day = from.div_euclid(DAY_SECONDS);
        let mut second = from.rem_euclid(DAY_SECONDS);
        while day * DAY_SECONDS + second < until {
            if self.has_day(day)
                && let Some(found) = self.first_of_day(second)
            {
                return Some(day * DAY_SECONDS + found).filter(|found| *found < until);
            }
            (day, second) = (day + 1, 0);
        }
        None
    }

    /// Returns how many times a span has.
    pub(super) fn count_in(&self, from: i64, until: i64) -> u64 {
        if from >= until {
            return 0;
        }
        let (first, last) = (from.div_euclid(DAY_SECONDS), until.div_euclid(DAY_SECONDS));
        let whole = self.count_of_day(DAY_SECONDS);
        let days = (first..last).filter(|day| self.has_day(*day)).count() as u64 * whole;
        let until_then =
            |day, time: i64| if self.has_day(day) { self.count_of_day(time.rem_euclid(DAY_SECONDS)) } else { 0 };
        days + until_then(last, until) - until_then(first, from)
    }

    fn has_day(&self, day: i64) -> bool {
        let (month, date, is_last) = date_of(day);
        let weekday = (day + 4).rem_euclid(7);
        let days = self.masks[DAY];
        let has_date = days >> date & 1 == 1 || (days & LAST_DAY != 0 && is_last);
        let has_weekday = self.masks[WEEKDAY] >> weekday & 1 == 1;
        let is_either = !self.is_open(DAY) && !self.is_open(WEEKDAY);
        let is_day = if is_either { has_date || has_weekday } else { has_date && has_weekday };
        self.masks[MONTH] >> month & 1 == 1 && is_day
    }

    /// Returns the first matching second of a day, from `from` on.
    fn first_of_day(&self, from: i64) -> Option<i64> {
        let (hour, minute, second) = (from / 3_600, from / 60 % 60, from % 60);
        let [seconds, minutes, hours] = [SECOND, MINUTE, HOUR].map(|field| self.masks[field]);
        let in_minute = bit_from(seconds, second).filter(|_| has(minutes, minute) && has(hours, hour));
        if let Some(second) = in_minute {
            return Some(hour * 3_600 + minute * 60 + second);
        }
        if let Some(minute) = bit_from(minutes, minute + 1).filter(|_| has(hours, hour)) {
            return Some(hour * 3_600 + minute * 60 + bit_from(seconds, 0)?);
        }
        Some(bit_from(hours, hour + 1)? * 3_600 + bit_from(minutes, 0)? * 60 + bit_from(seconds, 0)?)
    }

    /// Returns how many of a day's times are before the second `until`.
    fn count_of_day(&self, until: i64) -> u64 {
        let (hour, minute, second) = (until / 3_600, until / 60 % 60, until % 60);
        let [seconds, minutes, hours] = [SECOND, MINUTE, HOUR].map(|field| self.masks[field]);
        let of_minute = if has(minutes, minute) { bits_below(seconds, second) } else { 0 };
        let of_hour = bits_below(minutes, minute) * bits(seconds) + of_minute;
        bits_below(hours, hour) * bits(minutes) * bits(seconds) + if has(hours, hour) { of_hour } else { 0 }
    }
}

fn has(mask: u64, bit: i64) -> bool {
    mask >> bit & 1 == 1
}

fn bits(mask: u64) -> u64 {
    u64::from(mask.count_ones())
}

fn bits_below(mask: u64, bit: i64) -> u64 {
    bits(mask & ((1 << bit) - 1))
}

/// Returns the first bit that is set, from `bit` on.
fn bit_from(mask: u64, bit: i64) -> Option<i64> {
    let rest = mask >> bit;
    (rest != 0).then(|| bit + i64::from(rest.trailing_zeros()))
}

/// Returns the month and date of a day, counted from 1970, and whether it is the last day of its month.
fn date_of(day: i64) -> (i64, i64, bool) {
    // Years are counted from March on, so that a leap day is the last day of its year.
    let since = day + 719_468;
    let (era, of_era) = (since.div_euclid(146_097), since.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let date = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let calendar_year = era * 400 + year + i64::from(month <= 2);
    (month, date, date == month_length(calendar_year, month))
}

fn month_length(year: i64, month: i64) -> i64 {
    let is_leap = year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0);
    match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
