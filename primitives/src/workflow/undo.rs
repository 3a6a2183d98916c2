//! What is stored of undos (W9): which steps are due to be undone, and how far that is.

use serde::{Deserialize, Serialize};

use super::pending::Code;
use crate::{Failure, stored::is_default};

/// The undo of a step: `#[step(undo = refund)]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct UndoCode {
    /// The step that undoes it.
    pub step: &'static str,
    /// What that step takes.
    pub takes: UndoTakes,
}

/// What an undo takes, and so when it is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UndoTakes {
    /// What the step returned: it is due for every success that is recorded.
    Output,
    /// What the step took, and what it returned if that is known: it is due as well where nobody knows what became of it.
    Input,
}

/// An undo that failed for good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedUndo {
    /// What was to be undone: `charge#1`.
    pub operation: String,
    /// The step that should have: `refund`.
    pub undo: String,
    /// What it failed with in the end.
    pub error: Failure,
}

/// Failed undos that a record shows; all of them are in the journal, and told to listeners.
const FAILED_MAX: usize = 32;

/// What is due to be undone. It lies in rows, as a stack: the record has but its height.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Undos {
    /// How many rows are left.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) rows: u64,
    /// How many of the last row are done.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) done: u32,
    /// Of how many, if one of them is under way.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) of: u32,
    /// How many are due in all.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) left: u64,
    /// When undoing began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) began: Option<Began>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) is_over: bool,
    /// What was last begun to be undone: a run that is terminated meanwhile has it in no entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last: Option<String>,
    /// Up to which entry of the journal it is known what is due: a body that is told again changes nothing of it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) noted: u64,
    /// The same for what was let go: how many entries the body was told then.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) lost: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) failed: Vec<FailedUndo>,
}

/// When undoing began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Began {
    /// The entry of the journal, which has how the run will end.
    pub(super) entry: u64,
    pub(super) at: i64,
    /// How many rows there were.
    pub(super) rows: u64,
}

/// A step that is due to be undone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Due {
    pub(super) op: String,
    /// The step that undoes it, as the code said when it was recorded.
    pub(super) undo: String,
    /// The entry of the journal that has what it returned, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) entry: Option<u64>,
    /// What it was given, for an undo that takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) input: Option<Code>,
}

impl Undos {
    pub(super) fn is_under_way(&self) -> bool {
        self.began.is_some() && !self.is_over
    }

    pub(super) fn failed(&mut self, failed: FailedUndo) {
        if self.failed.len() < FAILED_MAX {
            self.failed.push(failed);
        }
    }
}

/// What marks the identity of an undo: no step, sleep or wait of a body has it.
const UNDO: &str = "undo/";

/// The identity of the undo of an operation: `undo/charge#1/refund#1`.
pub(super) fn undo_op(due: &Due) -> String {
    format!("{UNDO}{}/{}#1", due.op, due.undo)
}

/// What is undone by an operation: `charge#1` of `undo/charge#1/refund#1`.
pub(super) fn undone_by(op: &str) -> Option<&str> {
    op.strip_prefix(UNDO)?.rsplit_once('/').map(|(undone, _)| undone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_undo_says_what_it_undoes() {
        let due = Due { op: "1.0/charge#2".into(), undo: "refund".into(), entry: None, input: None };
        assert_eq!(undo_op(&due), "undo/1.0/charge#2/refund#1");
        assert_eq!(undone_by(&undo_op(&due)), Some("1.0/charge#2"));
        assert_eq!(super::super::pending::step_name(&undo_op(&due)), "refund");
        assert_eq!(undone_by("1.0/charge#2"), None);
    }
}
