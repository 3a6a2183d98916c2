//! By the clock on the wall: the options of `cron`, and what becomes of times that passed.
//!
//! With a cron schedule a turn comes first: that of the alarm, or of the end of the tick before, decides which time the next
//! tick stands for, and that is stored before the tick runs. So what was missed is judged once, by the time at which it
//! could have run, however often the process dies afterwards; a tick by the clock on the wall is two commits.

use std::time::Duration;

use serde::Serialize;

use super::{Options, Record, Standing};
use crate::{Cron, Schedule, Timestamp, cron::Zone, kind::Turn, planted::Bug};

/// What `#[primitive(continuous, cron = .., ..)]` sets beside the schedule.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Wall {
    /// Until all is read; then it is a part of the schedule.
    #[serde(skip)]
    zone: Option<Zone>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missed: Option<Missed>,
}

/// What becomes of times at which it could not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Missed {
    Skip,
    Once,
    Backfill,
}

/// The most times that are made up for; older ones are skipped.
pub(super) const BACKFILL_MAX: u64 = 1_000;

/// How late a tick may begin that is otherwise skipped.
pub(super) const LATE_MAX: Duration = Duration::from_secs(60);

impl Wall {
    pub(super) const NEW: Self = Self { zone: None, missed: None };
}

impl Options {
    /// By the clock on the wall: `"0 3 * * *"` is at three every night. See [`Cron`] (C1).
    #[track_caller]
    pub const fn cron(self, expression: &str) -> Self {
        self.cron_with(Cron::new(expression))
    }

    /// [`cron`](Self::cron) from a constant.
    #[track_caller]
    pub const fn cron_with(self, cron: Cron) -> Self {
        self.scheduled(Schedule::cron(cron))
    }

    /// Whose clock: `"Europe/Berlin"`. That of the constant, or UTC, unless said.
    #[track_caller]
    pub const fn zone(mut self, name: &str) -> Self {
        self.wall.zone = Some(Zone::named(name));
        self
    }

    /// What becomes of times that passed while nothing ran, or while a tick did (A4): `"once"` (unless said) makes up for all
    /// of them with one tick, which stands for the last; `"skip"` goes on with the next time, and a tick that would begin
    /// more than a minute late is skipped, too; `"backfill"` makes up for each, the oldest first, for the last 1,000 at
    /// most. Times without a tick of their own are counted as skipped.
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

    /// The zone goes into the schedule.
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

    /// A tick is due: which time it stands for, and which have none.
    pub(super) fn admit(&self, turn: &mut Turn<'_, Record>, due: Timestamp) {
        let (schedule, now) = (self.schedule(), turn.now.into());
        let Some(cron) = schedule.as_cron() else { return };
        let record = &mut turn.record;
        if record.stands_for.is_some() || due > now {
            return;
        }
        if record.standing != Standing::Running {
            // It was in flight by another schedule when it was stopped: it ends (C3).
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
        // Another schedule than the one that set the alarm may have no time here.
        let time = if kept == 0 { due } else { schedule.next(from) };
        record.stands_for = Some(time);
        record.base = match kept {
            0 => record.base,
            _ if self.missed_is(Missed::Backfill) => time,
            _ => now,
        };
    }

    /// A tick has ended: where the next is counted from.
    pub(super) fn moved_on(&self, cron: &Cron, record: &mut Record, now: Timestamp) {
        // What passed meanwhile is due at once, and what becomes of it is decided then.
        if self.missed_is(Missed::Skip) {
            record.skipped += cron.count(record.base, now);
            record.base = now;
        }
        if self.missed_is(Missed::Backfill) && Bug::BackfillForgets.planted() {
            record.base = self.schedule().next(record.base).min(now);
        }
    }

    /// Other options: times of this schedule that passed before it was there were not missed.
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

    /// From when on times are still to come.
    pub(super) fn shows_from(&self, record: &Record, now: Timestamp) -> Timestamp {
        let is_backfill = self.missed_is(Missed::Backfill) && self.schedule().as_cron().is_some();
        if is_backfill { record.base } else { now }
    }
}
