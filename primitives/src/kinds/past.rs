//! The last errors of an entity, as its status shows them.

use serde::{Deserialize, Serialize};

use crate::{Failure, Timestamp};

/// How many are kept.
const KEPT: usize = 5;

/// An error that happened: its message, what caused it, and when (C4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastError {
    /// What happened, and what caused it.
    pub error: Failure,
    /// When.
    pub at: Timestamp,
}

/// Keeps an error, the newest last; only the last five stay.
pub(super) fn remember(errors: &mut Vec<PastError>, error: &Failure, at: Timestamp) {
    errors.push(PastError { error: error.clone(), at });
    let beyond = errors.len().saturating_sub(KEPT);
    errors.drain(..beyond);
}
