//! Schedules: when repeated work is due next.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::literal;
use crate::Timestamp;

/// A schedule of runs: at a fixed rate, with a fixed delay between runs, or by the wall clock.
///
/// Times are counted from a base. With a fixed rate the base is the last grid point that was used. With a
/// fixed delay it is the end of the last run. Before the first run it is the start.
///
/// ```
/// use drystone::{Schedule, Timestamp, d};
///
/// const HOURLY: Schedule = Schedule::every(d!("1h"));
/// let start = Timestamp::from_millis(0);
/// assert_eq!(HOURLY.next(start), start.after(d!("1h")));
/// // A run that ended after three and a half hours used the first three grid points; the fourth is next.
/// assert_eq!(HOURLY.ended(start, start.after(d!("3h 30m"))), (start.after(d!("3h")), 3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Schedule(Form);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Form {
    EveryMs(u64),
    AfterMs(u64),
    #[cfg(feature = "cron")]
    Cron(crate::Cron),
}

impl Schedule {
    /// At a fixed rate: the next run is at the first grid point after now. The interval is at least a
    /// millisecond.
    #[track_caller]
    pub const fn every(interval: Duration) -> Self {
        Self(Form::EveryMs(millis(interval)))
    }

    /// With a fixed delay from the end of one run to the next. The delay is at least a millisecond.
    #[track_caller]
    pub const fn after(delay: Duration) -> Self {
        Self(Form::AfterMs(millis(delay)))
    }

    /// [`every`](Self::every) with a literal: `"59m"`.
    #[track_caller]
    pub const fn parse_every(text: &str) -> Self {
        Self::every(literal::some_duration(text))
    }

    /// [`after`](Self::after) with a literal: `"5m"`.
    #[track_caller]
    pub const fn parse_after(text: &str) -> Self {
        Self::after(literal::some_duration(text))
    }

    /// By the wall clock.
    #[cfg(feature = "cron")]
    pub const fn cron(cron: crate::Cron) -> Self {
        Self(Form::Cron(cron))
    }

    #[cfg(feature = "cron")]
    pub(crate) const fn as_cron(&self) -> Option<&crate::Cron> {
        match &self.0 {
            Form::Cron(cron) => Some(cron),
            Form::EveryMs(_) | Form::AfterMs(_) => None,
        }
    }

    /// Returns when the run after `base` is due.
    pub fn next(&self, base: Timestamp) -> Timestamp {
        match &self.0 {
            Form::EveryMs(millis) | Form::AfterMs(millis) => base.after(Duration::from_millis(*millis)),
            #[cfg(feature = "cron")]
            Form::Cron(cron) => cron.next(base).unwrap_or(Timestamp::from_millis(i64::MAX)),
        }
    }

    /// Returns the first `count` runs after `time`, on the grid through `base`. With a fixed delay they are
    /// unknown, because the next run depends on how long the one before takes; the list is then empty.
    pub fn upcoming(&self, base: Timestamp, time: Timestamp, count: usize) -> Vec<Timestamp> {
        if matches!(self.0, Form::AfterMs(_)) {
            return Vec::new();
        }
        let first = self.next(self.ended(base, time).0);
        std::iter::successors(Some(first), |time| Some(self.next(*time))).take(count).collect()
    }

    /// Ends a run now. Returns the new base, and how many grid points lie between the old base and now.
    pub fn ended(&self, base: Timestamp, now: Timestamp) -> (Timestamp, u64) {
        match &self.0 {
            Form::EveryMs(millis) => {
                let points = now.since(base).as_millis() as u64 / *millis;
                (base.after(Duration::from_millis(points * *millis)), points)
            }
            Form::AfterMs(_) => (now, 0),
            #[cfg(feature = "cron")]
            Form::Cron(cron) => (base.max(now), cron.count(base, now)),
        }
    }
}

#[track_caller]
const fn millis(span: Duration) -> u64 {
    let millis = span.as_millis();
    assert!(millis > 0, "this must be longer than nothing; write for example \"5s\"");
    if millis > i64::MAX as u128 { i64::MAX as u64 } else { millis as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C1
    #[test]
    fn the_grid_does_not_move_and_points_that_passed_are_counted() {
        let grid = Schedule::every(Duration::from_millis(10));
        let at = Timestamp::from_millis;
        assert_eq!(grid.ended(at(100), at(109)), (at(100), 0));
        assert_eq!(grid.ended(at(100), at(110)), (at(110), 1));
        assert_eq!(grid.ended(at(100), at(139)), (at(130), 3));
        assert_eq!(grid.next(at(130)), at(140));
        // A base in the future, after the clock was corrected: no grid point has passed.
        assert_eq!(grid.ended(at(100), at(50)), (at(100), 0));
    }

    #[test]
    fn far_away_is_the_end_of_time() {
        let far = Schedule::after(Duration::MAX);
        assert_eq!(far.next(Timestamp::from_millis(5)), Timestamp::from_millis(i64::MAX));
    }

    /// C4
    #[test]
    fn what_comes_next_is_on_the_grid_and_unknown_with_a_fixed_delay() {
        let (at, ten) = (Timestamp::from_millis, Duration::from_millis(10));
        assert_eq!(Schedule::every(ten).upcoming(at(103), at(125), 3), [at(133), at(143), at(153)]);
        assert_eq!(Schedule::every(ten).upcoming(at(103), at(90), 1), [at(113)]);
        assert_eq!(Schedule::after(ten).upcoming(at(103), at(125), 3), []);
    }

    /// C1
    #[cfg(feature = "cron")]
    #[test]
    fn times_on_the_clock_on_the_wall_do_not_depend_on_the_base() {
        let minutes = Schedule::cron(crate::Cron::new("*/5 * * * *"));
        let at = |minutes: i64| Timestamp::from_millis(minutes * 60_000);
        assert_eq!((minutes.next(at(3)), minutes.ended(at(3), at(16))), (at(5), (at(16), 3)));
        assert_eq!(minutes.upcoming(at(3), at(16), 2), [at(20), at(25)]);
        assert_eq!(crate::decode::<Schedule>(&crate::encode(&minutes).unwrap()).unwrap(), minutes);
    }

    #[test]
    fn a_schedule_is_stored_and_read_back() {
        for schedule in [Schedule::parse_every("59m"), Schedule::parse_after("5m")] {
            assert_eq!(crate::decode::<Schedule>(&crate::encode(&schedule).unwrap()).unwrap(), schedule);
        }
    }
}
