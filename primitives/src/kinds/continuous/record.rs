//! The stored record of a continuous entity, and its status.

use drystone_runtime::Mark;
use serde::{Deserialize, Serialize};

use crate::{
    Failure, Timestamp,
    kinds::past::{PastError, remember},
};

/// Whether a continuous entity runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The next tick is scheduled.
    #[default]
    Running,
    /// A caller stopped the entity.
    Stopped,
    /// A tick failed in every attempt. `start()` or `resume()` resumes the entity.
    Error,
}

/// The status of a continuous entity (C4).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Whether the entity runs.
    pub status: Standing,
    /// When a tick last ended, with or without success.
    pub last_run_at: Option<Timestamp>,
    /// When the next execution is due: a tick, or the retry of a tick. If this time has passed, the
    /// execution is in flight or about to start.
    pub next_run_at: Option<Timestamp>,
    /// The time of the next execution and the times on the schedule that follow it, five in all. With a
    /// fixed delay only the first is known.
    #[serde(default)]
    pub next_runs: Vec<Timestamp>,
    /// Ticks that succeeded.
    pub run_count: u64,
    /// Grid points of a fixed rate, and times of a cron schedule, that had no tick of their own, because
    /// another tick was still running or because nothing ran.
    pub skipped: u64,
    /// Executions that failed since the last success.
    pub consecutive_failures: u32,
    /// The last errors since the entity was started, at most five, the newest last.
    pub errors: Vec<PastError>,
}

/// The stored record of a continuous entity, beside its state and its alarm.
///
/// The alarm is the time of the next execution. While the alarm is set and due, that execution is in flight
/// or about to start, in every standing. So after a crash the execution runs again under the same number,
/// and nothing is written when it starts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub(super) standing: Standing,
    /// The time from which the schedule counts.
    pub(super) base: Timestamp,
    /// The time that the present tick stands for, if it is not the alarm: the tick was triggered, or it has
    /// failed, or it was admitted by a cron schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stands_for: Option<Timestamp>,
    /// How many ticks have ended: succeeded, given up or abandoned. The next tick has the number after this.
    pub(super) ticks: u64,
    /// How many executions of the next tick have failed.
    #[serde(default)]
    pub(super) attempts: u32,
    /// Whether one more tick is to follow the tick in flight.
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
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::values::stored::mark")]
    pub(super) mark: Option<Mark>,
}

impl Record {
    /// Ends the present tick. The next tick has another number, so that no pair of tick and attempt comes
    /// twice.
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
