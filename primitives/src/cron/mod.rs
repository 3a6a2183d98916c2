//! Times by the wall clock: a cron expression in a time zone.
//!
//! Everything about time zones comes from jiff and the database that it brings along, so that every machine
//! knows the same zones. A stored schedule follows the database of the binary that runs it.
//!
//! # Why expressions are read by hand
//! croner reads the same expressions, and the tests compare the times of both. It is not used here for three
//! reasons:
//! - **Compile errors.** A `Cron` is a constant. `const fn`s read its expression, so that a mistake is a compile
//!   error wherever the constant stands, in an attribute or beside it. croner reads expressions at run time,
//!   with memory from the heap.
//! - **Counts.** Times that passed while nothing ran are counted and skipped in a few steps, from the masks of
//!   the fields. croner walks through them one by one: a year of `* * * * * *` is 31 million steps in a turn.
//! - **Changed clocks.** On the day of a jump croner repeats a time of the day that came before the jump. Here
//!   a time of the day comes once a day (C1).
//!
//! The masks also give the stored form of an expression, by which two are compared.

mod calendar;
mod expression;
mod names;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;
mod times;
mod words;
mod written;

use std::fmt;

use serde::{Deserialize, Serialize};

use self::{expression::Expression, words::Words, written::Written};
use crate::Timestamp;

/// A cron expression in a time zone: `minute hour day month weekday`, or six fields with the second first.
///
/// ```
/// use drystone::{Cron, Timestamp};
///
/// const NIGHTLY: Cron = Cron::new("0 3 * * *").zone("Europe/Berlin");
/// let midsummer = Timestamp::from_millis(1_782_000_000_000);
/// assert_eq!(midsummer.to_string(), "2026-06-21T00:00:00.000Z");
/// assert_eq!(NIGHTLY.next(midsummer).unwrap().to_string(), "2026-06-21T01:00:00.000Z");
/// assert_eq!(NIGHTLY.to_string(), "0 3 * * * in Europe/Berlin");
/// ```
///
/// A field is `*`, a value, a range `1-5`, a step `*/15` or `10-50/20`, or a list of these. Months and
/// weekdays have names, `JAN`, `MON`; Sunday is 0 and 7; `L` is the last day of the month. `@hourly`,
/// `@daily`, `@weekly`, `@monthly` and `@yearly` mean what they say. If both the day and the weekday name
/// some of their values, a match of either is enough, as in every cron. A text that is not an expression, an
/// expression whose time never comes, and a zone that is not in the database are compile errors.
///
/// When the clocks are changed, an expression that leaves the minute or the hour open (`*`) follows the wall
/// clock: a time that the clock shows twice comes twice, and a time that the clock skips does not come. So
/// there is a time in every minute or hour that really passes. Any other expression names times of the day,
/// and each comes once a day. A time that the clock shows twice comes the first time. Times that the clock
/// skips come together, once, at the moment of the jump.
///
/// An expression is stored and compared by its meaning: `*/30 * * * *` and `0,30 * * * *` are equal.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Cron {
    expression: Expression,
    zone: Zone,
}

/// A time zone, by its index in the list of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Zone(u16);

impl Cron {
    /// The times of an expression in UTC.
    #[track_caller]
    pub const fn new(expression: &str) -> Self {
        match Expression::parse(expression) {
            Ok(expression) => Self { expression, zone: Zone::UTC },
            Err(wrong) => panic!("{}", wrong.as_str()),
        }
    }

    /// Returns the same times of the day in another time zone: `"Europe/Berlin"`.
    #[track_caller]
    #[must_use]
    pub const fn zone(self, name: &str) -> Self {
        self.in_zone(Zone::named(name))
    }

    pub(crate) const fn in_zone(self, zone: Zone) -> Self {
        Self { zone, ..self }
    }

    /// Returns the first time after `base`; `None` if it is after the year 9999.
    pub fn next(&self, base: Timestamp) -> Option<Timestamp> {
        times::next(&self.expression, &self.zone.get(), base)
    }

    /// Returns how many times there are after `base`, up to and including `until`.
    pub fn count(&self, base: Timestamp, until: Timestamp) -> u64 {
        times::count(&self.expression, &self.zone.get(), base, until)
    }

    /// Returns the first point, not before `base`, after which at most `left` times come up to and including
    /// `until`.
    pub(crate) fn last(&self, base: Timestamp, until: Timestamp, left: u64) -> Timestamp {
        times::last(&self.expression, &self.zone.get(), (base, until), left)
    }
}

impl Zone {
    pub(crate) const UTC: Self = Self::named("UTC");

    #[track_caller]
    pub(crate) const fn named(name: &str) -> Self {
        match Self::find(name) {
            Some(zone) => zone,
            None => panic!("{}", unknown(name).as_str()),
        }
    }

    /// Finds a zone by binary search, because the names are sorted.
    const fn find(name: &str) -> Option<Self> {
        let (mut low, mut high) = (0, names::NAMES.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            match order(names::NAMES[middle].as_bytes(), name.as_bytes()) {
                0 => return Some(Self(middle as u16)),
                1 => high = middle,
                _ => low = middle + 1,
            }
        }
        None
    }

    fn name(self) -> &'static str {
        names::NAMES[usize::from(self.0)]
    }

    fn get(self) -> jiff::tz::TimeZone {
        // The database of the binary, never that of the machine, because all workers must agree.
        static DATABASE: std::sync::LazyLock<jiff::tz::TimeZoneDatabase> =
            std::sync::LazyLock::new(jiff::tz::TimeZoneDatabase::bundled);
        DATABASE.get(self.name()).expect("the list of names is made from this database")
    }
}

const fn unknown(name: &str) -> Words {
    let words = Words::new().text("there is no time zone ").quoted(name.as_bytes());
    match meant(name.as_bytes()) {
        Some(zone) => words.text("; did you mean \"").text(zone).text("\"?"),
        None => words.text("; write for example \"Europe/Berlin\" or \"UTC\""),
    }
}

/// Returns the zone that the author may have meant. People write the city alone, or lower case.
const fn meant(name: &[u8]) -> Option<&'static str> {
    let mut at = 0;
    while at < names::NAMES.len() {
        let zone = names::NAMES[at].as_bytes();
        if zone.eq_ignore_ascii_case(name) || city(zone).eq_ignore_ascii_case(name) {
            return Some(names::NAMES[at]);
        }
        at += 1;
    }
    None
}

const fn city(zone: &[u8]) -> &[u8] {
    let mut at = zone.len();
    while at > 0 && zone[at - 1] != b'/' {
        at -= 1;
    }
    zone.split_at(at).1
}

/// Compares two texts: 0 if they are equal, 1 if the first comes later, and -1 if it comes earlier.
const fn order(one: &[u8], other: &[u8]) -> i8 {
    let mut at = 0;
    while at < one.len() && at < other.len() {
        if one[at] != other[at] {
            return if one[at] > other[at] { 1 } else { -1 };
        }
        at += 1;
    }
    (one.len() > other.len()) as i8 - (one.len() < other.len()) as i8
}

impl fmt::Display for Cron {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Written { expression, zone } = (*self).into();
        write!(out, "{expression} in {zone}")
    }
}

impl fmt::Debug for Cron {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}
