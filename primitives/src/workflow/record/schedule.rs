//! The stored form of a schedule and its transitions: pure functions that are given the time.

use std::{collections::VecDeque, time::Duration};

use drystone_runtime::Millis;
use serde::{Deserialize, Serialize};

use crate::{
    Timestamp,
    values::stored::is_default,
    workflow::{
        ScheduleStatus,
        definition::cron::{Missed, Overlap, Wall},
    },
};

/// The most missed times that a backfill makes up for; older times are skipped.
const BACKFILL_MAX: u64 = 1_000;

/// The most runs that a turn starts. The next turn starts the rest, so that a commit stays within its
/// limits (K3).
const STARTS_PER_TURN: u64 = 100;

/// How late a run may begin with `missed = "skip"`; a later one is skipped.
const LATE_MAX: Duration = Duration::from_secs(60);

/// The most times that wait for the end of a run; a further time is skipped.
const QUEUED_MAX: usize = 100;

/// The beginning of a schedule's record. The record of a run begins differently.
const MARK: &[u8] = b"{\"schedule\":";

/// The record of a schedule, as it is stored in place of a run's.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::workflow) struct Planned {
    pub(in crate::workflow) schedule: Plan,
}

/// A schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::workflow) struct Plan {
    since: Timestamp,
    /// All times up to here are decided.
    base: Timestamp,
    #[serde(default, skip_serializing_if = "is_default")]
    started: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    skipped: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    going: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    queued: VecDeque<Timestamp>,
}

/// Whether the record of an entity is that of a schedule.
pub(in crate::workflow) fn is_plan(head: &[u8]) -> bool {
    head.starts_with(MARK)
}

impl Plan {
    pub(in crate::workflow) fn new(now: Timestamp) -> Self {
        Self { since: now, base: now, started: 0, skipped: 0, going: None, queued: VecDeque::new() }
    }

    /// The next scheduled time.
    pub(in crate::workflow) fn next(&self, wall: &Wall) -> Option<Timestamp> {
        wall.cron.as_ref()?.next(self.base)
    }

    /// Decides about the times that have come, and returns those whose runs start now.
    pub(in crate::workflow) fn due(&mut self, wall: &Wall, now: Timestamp) -> Vec<Timestamp> {
        let (Some(cron), Some(first)) = (&wall.cron, self.next(wall)) else { return Vec::new() };
        let points = cron.count(self.base, now);
        let is_late = points > 1 || now.since(first) > LATE_MAX;
        let kept = match wall.missed() {
            Missed::Skip if is_late => 0,
            Missed::Backfill => points.min(BACKFILL_MAX),
            Missed::Skip | Missed::Once => points.min(1),
        };
        self.skipped += points - kept;
        let mut time = if kept == points { self.base } else { cron.last(self.base, now, kept) };
        let mut starts = Vec::new();
        for _ in 0..kept.min(STARTS_PER_TURN) {
            time = cron.next(time).unwrap_or(now);
            starts.extend(self.admit(time, wall.overlap()));
        }
        self.base = if kept > STARTS_PER_TURN { time } else { self.base.max(now) };
        starts
    }

    /// Decides whether the run of a time starts now, waits, or is skipped.
    fn admit(&mut self, time: Timestamp, overlap: Overlap) -> Option<Timestamp> {
        match overlap {
            Overlap::Parallel => {}
            _ if self.going.is_none() => self.going = Some(time),
            Overlap::Queue if self.queued.len() < QUEUED_MAX => {
                self.queued.push_back(time);
                return None;
            }
            Overlap::Queue | Overlap::Skip => {
                self.skipped += 1;
                return None;
            }
        }
        self.started += 1;
        Some(time)
    }

    /// A run has ended: returns the waiting time whose run starts now.
    pub(in crate::workflow) fn ended(&mut self, time: Timestamp, wall: &Wall) -> Option<Timestamp> {
        if self.going != Some(time) {
            return None;
        }
        self.going = None;
        let next = self.queued.pop_front()?;
        self.admit(next, wall.overlap())
    }

    /// The options have changed. Times of the new schedule that passed before it was deployed were not
    /// missed. Returns the waiting times that need not wait any more: their runs start now.
    pub(in crate::workflow) fn changed(&mut self, wall: &Wall, now: Timestamp) -> Vec<Timestamp> {
        if self.next(wall).is_none_or(|next| next > now) {
            self.base = self.base.max(now);
        }
        if wall.overlap() != Overlap::Parallel {
            return Vec::new();
        }
        self.going = None;
        std::mem::take(&mut self.queued).into_iter().filter_map(|time| self.admit(time, Overlap::Parallel)).collect()
    }

    /// Whether runs report their end to the schedule. Parallel runs need not.
    pub(in crate::workflow) fn is_told(wall: &Wall) -> bool {
        wall.overlap() != Overlap::Parallel
    }

    pub(in crate::workflow) fn shown(&self, wall: &Wall) -> ScheduleStatus {
        let Self { since, started, skipped, going, .. } = *self;
        let queued = self.queued.iter().copied().collect();
        ScheduleStatus { since, next: self.next(wall), started, skipped, going, queued }
    }
}

impl From<Plan> for Planned {
    fn from(schedule: Plan) -> Self {
        Self { schedule }
    }
}

/// When the alarm of the schedule rings.
pub(in crate::workflow) fn alarm(plan: &Plan, wall: &Wall) -> Option<Millis> {
    plan.next(wall).map(Millis::from)
}
