//! What is kept of a continuous entity, and what is shown of it.

use drystone_runtime::Mark;
use serde::{Deserialize, Serialize};

use crate::{
    Failure, Timestamp,
    kinds::past::{PastError, remember},
};

/// Whether it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Its next tick is scheduled.
    #[default]
    Running,
    /// Somebody stopped it.
    Stopped,
    /// A tick failed in every attempt. `start()` or `resume()` resumes the entity.
    Error,
}

/// Where a continuous entity stands (C4).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Whether it runs.
    pub status: Standing,
    /// When a tick last ended, well or not.
    pub last_run_at: Option<Timestamp>,
    /// When the next execution is due: a tick, or the retry of one. One that has passed is in flight, or about to start.
    pub next_run_at: Option<Timestamp>,
    /// That one, and the times on the schedule that follow: five in all. With a fixed delay only the first is known.
    #[serde(default)]
    pub next_runs: Vec<Timestamp>,
    /// Ticks that succeeded.
    pub run_count: u64,
    /// Points of a fixed rate, and times of a cron schedule, that had no tick of their own, because one was still running or
    /// nothing ran.
    pub skipped: u64,
    /// Executions that failed since the last that succeeded.
    pub consecutive_failures: u32,
    /// The last errors since it was started, at most five, the newest last.
    pub errors: Vec<PastError>,
}

/// What is kept of a continuous entity beside its state and its alarm.
///
/// The alarm is the next execution; while it stands and is due that execution is in flight or about to start, in every
/// standing. So a crash runs it again under the same number, and nothing is written when it starts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub(super) standing: Standing,
    /// Where the schedule counts from.
    pub(super) base: Timestamp,
    /// The time that the tick in hand stands for, if that is not the alarm: it was asked for, or it has failed, or it was
    /// admitted by the clock on the wall.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stands_for: Option<Timestamp>,
    /// Ticks that ended: succeeded, given up or abandoned. The next has the number after it.
    pub(super) ticks: u64,
    /// Executions of the next tick that have failed.
    #[serde(default)]
    pub(super) attempts: u32,
    /// One more is to follow the tick in flight.
    #[serde(default)]
    pub(super) again: bool,
    #[serde(default)]
    pub(super) runs: u64,
    #[serde(default)]
    pub(super) skipped: u64,
    #[serde(default)]
    pub(super) failures: u32,
    #[serde(default)]
    pub(super) last_run_at: Option<Timestamp>,
    #[serde(default)]
    pub(super) errors: Vec<PastError>,
    /// The mark of the next tick.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::stored::mark")]
    pub(super) mark: Option<Mark>,
}

impl Record {
    /// This tick has no further execution; the next has another number, so that no (tick, attempt) comes twice.
    pub(super) fn end_tick(&mut self, mark: Mark) {
        self.ticks += 1;
        self.mark = Some(mark);
        self.attempts = 0;
        self.stands_for = None;
    }

    pub(super) fn failed(&mut self, error: &Failure, at: Timestamp) {
        self.failures = self.failures.saturating_add(1);
        remember(&mut self.errors, error, at);
    }
}
