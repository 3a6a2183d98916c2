//! The stored form of undos (W9): the steps that are due to be undone, and the progress of undoing.

use serde::{Deserialize, Serialize};

use super::pending::Code;
use crate::{Failure, values::stored::is_default, workflow::replay::op_id::OpId};

/// The undo of a step: `#[step(undo = refund)]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct UndoCode {
    /// The step that undoes.
    pub step: &'static str,
    /// The parameters of the undoing step.
    pub takes: UndoTakes,
}

/// The parameters of an undo, which decide when the undo is due (W9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UndoTakes {
    /// The output of the step. The undo is due for every recorded success.
    Output,
    /// The inputs of the step, and its output if known. The undo is also due if the outcome of the step is
    /// unknown.
    Input,
}

/// An undo that failed for good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedUndo {
    /// The operation to undo: `charge#1`.
    pub operation: String,
    /// The undoing step: `refund`.
    pub undo: String,
    /// The last error of the undo.
    pub error: Failure,
}

/// The most failed undos that a record shows. The journal has all of them, and listeners are told of each.
const FAILED_MAX: usize = 32;

/// The steps that are due to be undone. They lie in rows, as a stack; the record has only the height of the
/// stack.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::workflow) struct Undos {
    /// How many rows are left.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(in crate::workflow) rows: u64,
    /// How many undos of the last row are done.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(in crate::workflow) done: u32,
    /// How many undos the last row has, if one of them is under way.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(in crate::workflow) of: u32,
    /// How many undos are left in all.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(in crate::workflow) left: u64,
    /// The beginning of undoing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::workflow) began: Option<Began>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(in crate::workflow) is_over: bool,
    /// The operation whose undo began last. If the run is terminated meanwhile, no journal entry names this
    /// operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::workflow) last: Option<OpId>,
    /// How many journal entries have their undos noted. When these entries are delivered again, nothing is
    /// noted again.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(in crate::workflow) noted: u64,
    /// The same for released operations: how many entries the body had at the last release that was noted.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(in crate::workflow) lost: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::workflow) failed: Vec<FailedUndo>,
}

/// The beginning of undoing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::workflow) struct Began {
    /// The journal entry that says how the run will end.
    pub(in crate::workflow) entry: u64,
    pub(in crate::workflow) at: i64,
    /// The number of rows at that time.
    pub(in crate::workflow) rows: u64,
}

/// A step that is due to be undone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::workflow) struct Due {
    pub(in crate::workflow) op: OpId,
    /// The undoing step, as the code named it when the outcome was recorded.
    pub(in crate::workflow) undo: String,
    /// The journal entry with the step's output, if the output is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::workflow) entry: Option<u64>,
    /// The step's input, for an undo that takes the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::workflow) input: Option<Code>,
}

impl Due {
    /// The identity of the undo.
    pub(in crate::workflow) fn undo_op(&self) -> OpId {
        self.op.undo(&self.undo)
    }
}

impl Undos {
    pub(in crate::workflow) fn is_under_way(&self) -> bool {
        self.began.is_some() && !self.is_over
    }

    pub(in crate::workflow) fn failed(&mut self, failed: FailedUndo) {
        if self.failed.len() < FAILED_MAX {
            self.failed.push(failed);
        }
    }
}
