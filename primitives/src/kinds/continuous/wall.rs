//! The wall clock: the options of `cron`, and the rules for missed times.
//!
//! With a cron schedule a turn comes first. The turn of the alarm, or of the end of the tick before, decides
//! which time the next tick stands for, and its commit stores that time before the tick runs. So missed
//! times are judged once, by the time at which the tick could have run, however often the process dies
//! afterwards. A tick by the wall clock is two commits.

use std::time::Duration;

use serde::Serialize;

use super::{Options, Record, Standing};
use crate::{Cron, Schedule, Timestamp, cron::Zone, kind::Turn, planted::Bug};

/// The options of `#[primitive(continuous, cron = .., ..)]` beside the schedule.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Wall {
    /// The zone, until all options are read; then it is a part of the schedule.
    #[serde(skip)]
    zone: Option<Zone>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missed: Option<Missed>,
}

/// The rule for times at which the entity could not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Missed {
    Skip,
    Once,
    Backfill,
}

/// The most missed times that are made up for. Older ones are skipped.
pub(super) const BACKFILL_MAX: u64 = 1_000;

/// How late a tick may begin at most with `missed = "skip"`.
pub(super) const LATE_MAX: Duration = Duration::from_secs(60);

impl Wall {
    pub(super) const NEW: Self = Self { zone: None, missed: None };
}

impl Options {
    /// Ticks by the wall clock: `"0 3 * * *"` is at three every night. See [`Cron`] (C1).
    #[track_caller]
    pub const fn cron(self, expression: &str) -> Self {
        self.cron_with(Cron::new(expression))
    }

    /// [`cron`](Self::cron) from a constant.
    #[track_caller]
    pub const fn cron_with(self, cron: Cron) -> Self {
        self.scheduled(Schedule::cron(cron))
    }

    /// Sets the time zone: `"Europe/Berlin"`. The default is the zone of the `Cron` constant, or UTC.
    #[track_caller]
    pub const fn zone(mut self, name: &str) -> Self {
        self.wall.zone = Some(Zone::named(name));
        self
    }

    /// Decides about times that passed while nothing ran, or while a tick ran (A4). `"once"` (the default)
    /// makes up for all of them with one tick, which stands for the last time. `"skip"` continues with the
    /// next time, and also skips a tick that would begin more than a minute late. `"backfill"` makes up for
    /// each time, the oldest first, for the last 1,000 at most. Times without a tick of their own are
    /// counted as skipped.
    #[track_caller]
    pub const fn missed(mut self, what: &str) -> Self {
        self.wall.missed = Some(match what.as_bytes() {
            b"skip" => Missed::Skip,
            b"once" => Missed::Once,
            b"backfill" => Missed::Backfill,
            _ => panic!("this is none of: \"skip\", \"once\", \"backfill\""),
        });
        self
    }

    /// Puts the zone into the schedule.
    #[track_caller]
    pub(super) const fn on_the_wall(mut self) -> Self {
        let Wall { zone, missed } = self.wall;
        let cron = match &self.schedule {
            Some(schedule) => schedule.as_cron(),
            None => None,
        };
        match (cron, zone) {
            (Some(cron), Some(zone)) => self.schedule = Some(Schedule::cron(cron.in_zone(zone))),
            (Some(_), None) => {}
            (None, _) => assert!(zone.is_none() && missed.is_none(), "`zone` and `missed` belong to `cron`"),
        }
        self
    }

    fn missed_is(&self, what: Missed) -> bool {
        self.wall.missed.unwrap_or(Missed::Once) == what
    }

    /// Admits a due tick: decides which time the tick stands for, and which times get no tick.
    pub(super) fn admit(&self, turn: &mut Turn<'_, Record>, due: Timestamp) {
        let (schedule, now) = (self.schedule(), turn.now.into());
        let Some(cron) = schedule.as_cron() else { return };
        let record = &mut turn.record;
        if record.stands_for.is_some() || due > now {
            return;
        }
        if record.standing != Standing::Running {
            // The tick was in flight by another schedule when the entity was stopped: it runs to its end
            // (C3).
            record.stands_for = Some(due);
            return;
        }
        let points = cron.count(record.base, now);
        let is_late = points > 1 || now.since(due) > LATE_MAX;
        if self.missed_is(Missed::Skip) && is_late {
            record.skipped += points;
            record.base = now;
            let next = schedule.next(now);
            return turn.set_alarm(Some(next.into()));
        }
        let kept = if self.missed_is(Missed::Backfill) { points.min(BACKFILL_MAX) } else { points.min(1) };
        record.skipped += points - kept;
        let from = if points == kept { record.base } else { cron.last(record.base, now, kept) };
        // The alarm may have been set by another schedule, and this one may have no time here.
        let time = if kept == 0 { due } else { schedule.next(from) };
        record.stands_for = Some(time);
        record.base = match kept {
            0 => record.base,
            _ if self.missed_is(Missed::Backfill) => time,
            _ => now,
        };
    }

    /// Moves the base of the schedule after the end of a tick.
    pub(super) fn moved_on(&self, cron: &Cron, record: &mut Record, now: Timestamp) {
        // Times that passed meanwhile are due at once, and the turn that admits them decides about them.
        if self.missed_is(Missed::Skip) {
            record.skipped += cron.count(record.base, now);
            record.base = now;
        }
        if self.missed_is(Missed::Backfill) && Bug::BackfillForgets.planted() {
            record.base = self.schedule().next(record.base).min(now);
        }
    }

    /// Adapts to changed options. Times of this schedule that passed before it was in the code were not
    /// missed.
    pub(super) fn changed_on_the_wall(&self, turn: &mut Turn<'_, Record>) {
        let now = turn.now;
        let is_waiting = turn.alarm().is_none_or(|alarm| alarm > now);
        let record = &mut turn.record;
        if record.standing == Standing::Running && record.attempts == 0 && is_waiting {
            record.base = now.into();
            let next = self.schedule().next(record.base);
            turn.set_alarm(Some(next.into()));
        }
    }

    /// Returns the time after which scheduled times are still to come.
    pub(super) fn shows_from(&self, record: &Record, now: Timestamp) -> Timestamp {
        let is_backfill = self.missed_is(Missed::Backfill) && self.schedule().as_cron().is_some();
        if is_backfill { record.base } else { now }
    }
}
