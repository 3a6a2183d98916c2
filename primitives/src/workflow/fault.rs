//! How a step or a run ends that does not end by the author's own code.

use serde::{Deserialize, Serialize};

/// Why a step has no outcome of its own: what [`Step::catch`](super::Step::catch) gives, and what a run fails with that does
/// not catch it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("`{step}` {cause}")]
pub struct Fault {
    /// Which operation: `charge#1`.
    pub step: String,
    /// What became of it.
    pub cause: Cause,
}

/// What became of a step that has no outcome of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// It took longer than its timeout.
    #[error("took longer than its timeout, in attempt {attempts} for the last time")]
    TimedOut {
        /// How often it was executed.
        attempts: u32,
    },
    /// It panicked.
    #[error("panicked in attempt {attempts} for the last time: {message}")]
    Panicked {
        /// The message of the last panic.
        message: String,
        /// How often it was executed.
        attempts: u32,
    },
    /// It gave no sign of life.
    #[error("gave no sign of life, in attempt {attempts} for the last time")]
    Silent {
        /// How often it was executed.
        attempts: u32,
    },
    /// Its input or what it returned cannot be read, written or stored.
    #[error("cannot be recorded: {reason}")]
    Refused {
        /// Why.
        reason: String,
    },
    /// The run has come to a limit (W11).
    #[error("goes beyond the limit of {limit} {what}")]
    Limit {
        /// Of what there is too much.
        what: String,
        /// How much there may be.
        limit: u64,
    },
}

/// How a run ended that has no result: what `result()` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunError<E> {
    /// Its body returned this error.
    Failed(E),
    /// A step ended in a fault that the body did not catch.
    Fault(Fault),
    /// It was cancelled.
    Cancelled,
    /// It was terminated.
    Terminated,
    /// There is no such run: it was never started, or its retention is over.
    NotFound,
    /// There is another run of this key, which was started with another input.
    AlreadyExists {
        /// Where it stands.
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
