//! Faults of steps, and how a run ends without a result.

use serde::{Deserialize, Serialize};

/// The fault of a step that has no outcome of its own. [`Step::catch`](crate::workflow::Step::catch) returns the
/// fault; without `catch` the run fails with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("`{step}` {cause}")]
pub struct Fault {
    /// The operation: `charge#1`.
    pub step: String,
    /// The cause.
    pub cause: Cause,
}

/// Why a step has no outcome of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// The step took longer than its timeout.
    #[error("took longer than its timeout, in attempt {attempts} for the last time")]
    TimedOut {
        /// How often the step was executed.
        attempts: u32,
    },
    /// The step panicked.
    #[error("panicked in attempt {attempts} for the last time: {message}")]
    Panicked {
        /// The message of the last panic.
        message: String,
        /// How often the step was executed.
        attempts: u32,
    },
    /// The step sent no heartbeat in time.
    #[error("gave no sign of life, in attempt {attempts} for the last time")]
    Silent {
        /// How often the step was executed.
        attempts: u32,
    },
    /// The input or the output of the step cannot be read, written or stored.
    #[error("cannot be recorded: {reason}")]
    Refused {
        /// The reason.
        reason: String,
    },
    /// The run has reached a limit (W11).
    #[error("goes beyond the limit of {limit} {what}")]
    Limit {
        /// The limited quantity.
        what: String,
        /// The limit.
        limit: u64,
    },
}

/// How a run ended without a result: the error of `result()`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunError<E> {
    /// The body returned this error.
    Failed(E),
    /// A step ended in a fault that the body did not catch.
    Fault(Fault),
    /// The run was cancelled.
    Cancelled,
    /// The run was terminated.
    Terminated,
    /// The key has no run: the run was never started, or its retention is over.
    NotFound,
    /// The key has a run that was started with another input.
    AlreadyExists {
        /// The status of that run.
        status: String,
    },
}

impl<E: std::fmt::Display> std::fmt::Display for RunError<E> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Failed(error) => error.fmt(out),
            Self::Fault(fault) => fault.fmt(out),
            Self::Cancelled => out.write_str("the run was cancelled"),
            Self::Terminated => out.write_str("the run was terminated"),
            Self::NotFound => out.write_str("there is no such run"),
            Self::AlreadyExists { status } => {
                write!(out, "there is a run of this key already, with another input, and it is {status}")
            }
        }
    }
}

impl<E: std::fmt::Debug + std::fmt::Display> std::error::Error for RunError<E> {}
