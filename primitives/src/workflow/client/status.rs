//! The status of a run, as people see it.

use serde::{Deserialize, Serialize};

use crate::{Failure, Timestamp, workflow::FailedUndo};

/// The status of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunStatus {
    /// The phase of the run.
    pub phase: RunPhase,
    /// When the generation began.
    pub started_at: Timestamp,
    /// When the run ended.
    pub ended_at: Option<Timestamp>,
    /// The number of journal entries.
    pub entries: u64,
    /// The operations that the run waits for, in the order in which the body asked for them.
    pub waits_for: Vec<WaitsFor>,
    /// The queued events, by type.
    pub queued: Vec<QueuedEvents>,
    /// Why the run does not continue, if it is diverged or panicked.
    pub stopped: Option<Stopped>,
    /// The error of the `#[cancelled]` body, if the run was cancelled.
    pub cleanup_error: Option<String>,
    /// The number of the generation, from 1. Each `continue_as` and each restart adds one.
    pub generation: u32,
    /// How many results came too late and were dropped: the step was no longer waited for, or its
    /// generation was gone.
    pub late: u64,
    /// When the run was paused, if it is paused.
    pub paused_since: Option<Timestamp>,
    /// How many steps are due to be undone if the run fails or is cancelled, or are left while it is being
    /// undone (W9).
    pub undos_left: u64,
    /// Undos that failed for good: the first 32. The history has all of them.
    pub undos_failed: Vec<FailedUndo>,
}

/// The phase of a run (L1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunPhase {
    /// A step runs, or is about to run.
    Running,
    /// The run waits: for a time, an event, or another attempt.
    Suspended,
    /// The run was cancelled, and is ending.
    Cancelling,
    /// The body panicked. The run is tried again with other code, by `resume`, and by itself: first after a
    /// minute, in the end every hour.
    Panicked,
    /// The body does not fit the journal. Code that fits resumes the run. For when the run is tried again,
    /// see [`Panicked`](Self::Panicked).
    Diverged,
    /// The run ended with a result.
    Succeeded,
    /// The run ended with an error.
    Failed,
    /// The run was cancelled.
    Cancelled,
    /// The run was terminated.
    Terminated,
    /// The run is paused: running steps end, and nothing begins.
    Paused,
    /// The run has failed or was cancelled, and its steps are being undone.
    Undoing,
}

impl RunPhase {
    /// Whether the run has ended. Code of an ended run is not executed any more.
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled | Self::Terminated)
    }

    pub(in crate::workflow) fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Suspended => "suspended",
            Self::Cancelling => "cancelling",
            Self::Panicked => "panicked",
            Self::Diverged => "diverged",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Terminated => "terminated",
            Self::Paused => "paused",
            Self::Undoing => "undoing",
        }
    }
}

/// An operation that a run waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitsFor {
    /// The operation: `charge#1`, `sleep#2`, `wait:Approved#1`.
    pub operation: String,
    /// The end of a sleep, the deadline of a wait, or the next attempt of a step.
    pub until: Option<Timestamp>,
    /// The number of a step's attempt, from 1.
    pub attempt: Option<u32>,
    /// The error of the attempt before.
    pub last_error: Option<Failure>,
}

/// The queue of one event type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedEvents {
    /// The event type.
    pub event: String,
    /// How many events are queued.
    pub count: u64,
    /// How many events were lost because only one is kept.
    pub overwritten: u64,
    /// How many events expired before a wait took them.
    pub expired: u64,
    /// How many unread events were dropped: at the end of the run with `on_terminated = "discard"`, or by a
    /// restart with `drop_events`.
    #[serde(default)]
    pub discarded: u64,
}

/// Why a run does not continue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stopped {
    /// The body panicked.
    Panicked {
        /// The message of the panic.
        message: String,
        /// How many journal entries were delivered to the body before.
        entry: u64,
    },
    /// The body does not fit the journal.
    Diverged(crate::workflow::Divergence),
}
