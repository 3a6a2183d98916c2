//! What a run by the clock on the wall is given.

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// The time of a schedule that a run stands for: the input of a body with `#[workflow(cron = ..)]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tick {
    /// The key of the schedule.
    pub schedule: String,
    /// The time that it stands for; when it began may be later.
    pub scheduled_for: Timestamp,
}

impl Tick {
    /// The tick of a schedule at a time.
    pub fn new(schedule: impl Into<String>, scheduled_for: Timestamp) -> Self {
        Self { schedule: schedule.into(), scheduled_for }
    }

    /// The key of the run that stands for it: `eu@2026-11-16T09:00:00Z`.
    pub fn key(&self) -> String {
        let at = self.scheduled_for.to_string();
        format!("{}@{}", self.schedule, at.replace(".000Z", "Z"))
    }
}

/// How many bytes the key of a run has more than that of its schedule.
pub(super) const SUFFIX_BYTES: usize = "@2026-11-16T09:00:00Z".len();

/// What the body of a workflow by cron takes.
#[diagnostic::on_unimplemented(
    message = "the body of a workflow with `cron` takes a `Tick`, and not `{Self}`",
    label = "not a `Tick`",
    note = "write `async fn run(flow: &Flow<Self>, tick: Tick)`: it says which time of which schedule the run stands for"
)]
pub trait IsTick {}

impl IsTick for Tick {}

/// Whether a body takes a tick.
pub const fn takes_tick<T: IsTick>() {}

/// Where a schedule stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ScheduleStatus {
    /// When it was scheduled.
    pub since: Timestamp,
    /// The next time.
    pub next: Option<Timestamp>,
    /// How many runs were started.
    pub started: u64,
    /// How many times passed without a run of their own: missed, or left out because the run before still went.
    pub skipped: u64,
    /// The run that goes; not known with `overlap = "parallel"`.
    pub going: Option<Timestamp>,
    /// Those that wait for its end.
    pub queued: Vec<Timestamp>,
}
