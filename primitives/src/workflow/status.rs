//! Where a run stands, as a person sees it.

use serde::{Deserialize, Serialize};

use super::FailedUndo;
use crate::{Failure, Timestamp};

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunStatus {
    /// In a word.
    pub phase: RunPhase,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// How many entries its journal has.
    pub entries: u64,
    /// What it waits for, in the order in which it asked.
    pub waits_for: Vec<WaitsFor>,
    /// How many events are queued, by type.
    pub queued: Vec<QueuedEvents>,
    /// Why it does not go on, if it is diverged or panicked.
    pub stopped: Option<Stopped>,
    /// What went wrong with its `#[cancelled]` body, if it was cancelled.
    pub cleanup_error: Option<String>,
    /// Which generation it is, from 1: one more with each `continue_as` and each restart.
    pub generation: u32,
    /// How many steps ended when they were not waited for any more, or their generation was gone: what they came to was dropped.
    pub late: u64,
    /// Since when it is paused.
    pub paused_since: Option<Timestamp>,
    /// How many steps are due to be undone if it fails or is cancelled, or are left while it is being undone (W9).
    pub undos_left: u64,
    /// Undos that failed for good: the first 32 of them, for all are in its history.
    pub undos_failed: Vec<FailedUndo>,
}

/// Where a run stands, in a word (L1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunPhase {
    /// A step of it runs, or is about to.
    Running,
    /// It waits: for a time, an event, or another attempt.
    Suspended,
    /// Somebody wants it to end, and it is on the way.
    Cancelling,
    /// Its body panicked. It is tried again with other code, when it is resumed, and every hour, at first after a minute.
    Panicked,
    /// Its body asks for something else than it did before. It goes on with code that fits; when it is tried, see
    /// [`Panicked`](Self::Panicked).
    Diverged,
    /// It ended with a result.
    Succeeded,
    /// It ended with an error.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// It was terminated.
    Terminated,
    /// Somebody holds it: steps that run end, and nothing begins.
    Paused,
    /// It has failed, or somebody wants it to end, and its steps are being undone.
    Undoing,
}

impl RunPhase {
    /// Whether nothing of it will run any more.
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled | Self::Terminated)
    }

    pub(super) fn word(self) -> &'static str {
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

/// Something that a run waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitsFor {
    /// The operation: `charge#1`, `sleep#2`, `wait:Approved#1`.
    pub operation: String,
    /// Until when: the end of a sleep, the deadline of a wait, the next attempt of a step.
    pub until: Option<Timestamp>,
    /// Which attempt of a step it is, from 1.
    pub attempt: Option<u32>,
    /// What the attempt before it failed with.
    pub last_error: Option<Failure>,
}

/// Events of one type that wait to be taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedEvents {
    /// The type.
    pub event: String,
    /// How many.
    pub count: u64,
    /// How many were lost to a later or an earlier one, where only one is kept.
    pub overwritten: u64,
    /// How many nobody took in time.
    pub expired: u64,
    /// How many nobody had taken when the run ended, where such events are let go (`on_terminated = "discard"`), or when it was restarted
    /// with `drop_events`.
    #[serde(default)]
    pub discarded: u64,
}

/// Why a run does not go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stopped {
    /// Its body panicked, with this message.
    Panicked {
        /// The message.
        message: String,
        /// How many entries of its journal it had been told.
        entry: u64,
    },
    /// Its body is another than the one that began it.
    Diverged(super::Divergence),
}
