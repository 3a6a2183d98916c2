//! The last errors of an entity, as its status shows them.

use serde::{Deserialize, Serialize};

use crate::{Failure, Timestamp};

/// How many errors are kept.
const KEPT: usize = 5;

/// An error of the past: its message, its causes and its time (C4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastError {
    /// The error, with its causes.
    pub error: Failure,
    /// When the error happened.
    pub at: Timestamp,
}

/// Adds an error at the end and keeps only the last five.
pub(super) fn remember(errors: &mut Vec<PastError>, error: &Failure, at: Timestamp) {
    errors.push(PastError { error: error.clone(), at });
    let beyond = errors.len().saturating_sub(KEPT);
    errors.drain(..beyond);
}
