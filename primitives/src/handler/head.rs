//! The data stored beside the author's struct: the record of the kind, and what all kinds have in common.

use drystone_runtime::{Mark, Millis};
use serde::{Deserialize, Serialize};

use super::asked::Asked;
use crate::{Failure, Retry, d};

/// The head of an entity.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Head<R> {
    pub(super) record: R,
    /// The mark of the turn that bound the entity, for a kind whose pieces have none of their own.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::values::stored::mark")]
    pub(super) mark: Option<Mark>,
    /// Set while the entity is being destroyed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ending: Option<Ending>,
    /// Values that hooks returned and that are still to be applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) applying: Vec<Applying>,
    /// Transactional hooks with a claim, which is the row that lets a hook run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) claims: Vec<String>,
    /// Transactional actions that were asked for and have not ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) asked: Vec<Asked>,
}

/// An entity that is being destroyed. Its `#[destroy]` runs until it succeeds or is given up.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Ending {
    pub(super) attempt: u32,
    /// The time of the next attempt; `None` if the hook was given up.
    pub(super) at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<Failure>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::values::stored::mark")]
    pub(super) mark: Option<Mark>,
}

/// The number of attempts of a `#[destroy]`, and the pauses between them.
const DESTROY_RETRY: Retry = Retry::exponential(d!("1s")).capped(d!("1m")).attempts(5);

impl Ending {
    pub(super) fn begin(now: Millis, mark: Option<Mark>) -> Self {
        Self { attempt: 1, at: Some(now.0), error: None, mark }
    }

    /// Records a failure of the hook, and plans the next attempt if there is one.
    pub(super) fn failed(&mut self, error: Failure, now: Millis) {
        let pause = DESTROY_RETRY.pause_after(self.attempt, u64::from(self.attempt));
        self.at = pause.map(|pause| now.after(pause).0);
        self.attempt += 1;
        self.error = Some(error);
    }

    pub(super) fn is_due(&self, now: Millis) -> bool {
        self.at.is_some_and(|at| at <= now.0)
    }

    pub(super) fn alarm(&self) -> Option<Millis> {
        self.at.map(Millis)
    }
}

/// A value that a `&self` hook returned, until `#[apply]` has taken it into the struct.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Applying {
    pub(super) hook: String,
    pub(super) number: u64,
    pub(super) attempt: u32,
    pub(super) value: Box<serde_json::value::RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::values::stored::mark")]
    pub(super) mark: Option<Mark>,
}
