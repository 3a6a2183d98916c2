//! The input of a run that a schedule starts.

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// The scheduled time that a run stands for: the input of a body with `#[workflow(cron = ..)]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tick {
    /// The key of the schedule.
    pub schedule: String,
    /// The scheduled time. The run may begin later.
    pub scheduled_for: Timestamp,
}

impl Tick {
    /// The tick of a schedule at a time.
    pub fn new(schedule: impl Into<String>, scheduled_for: Timestamp) -> Self {
        Self { schedule: schedule.into(), scheduled_for }
    }

    /// The key of the run for this tick: `eu@2026-11-16T09:00:00Z`.
    pub fn key(&self) -> String {
        let at = self.scheduled_for.to_string();
        format!("{}@{}", self.schedule, at.replace(".000Z", "Z"))
    }
}

/// How much longer the key of a run is than the key of its schedule.
pub(in crate::workflow) const SUFFIX_BYTES: usize = "@2026-11-16T09:00:00Z".len();

/// The parameter of the body of a workflow with `cron`.
#[diagnostic::on_unimplemented(
    message = "the body of a workflow with `cron` takes a `Tick`, and not `{Self}`",
    label = "not a `Tick`",
    note = "write `async fn run(flow: &Flow<Self>, tick: Tick)`: it says which time of which schedule the run stands for"
)]
pub trait IsTick {}

impl IsTick for Tick {}

/// Checks at compile time that a body takes a tick.
pub const fn takes_tick<T: IsTick>() {}

/// The status of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ScheduleStatus {
    /// When the key was scheduled.
    pub since: Timestamp,
    /// The next scheduled time.
    pub next: Option<Timestamp>,
    /// How many runs were started.
    pub started: u64,
    /// How many times passed without a run of their own: missed, or skipped because the previous run was
    /// still going.
    pub skipped: u64,
    /// The scheduled time of the run that is going. Not known with `overlap = "parallel"`.
    pub going: Option<Timestamp>,
    /// The scheduled times that wait for the end of the run that is going.
    pub queued: Vec<Timestamp>,
}
