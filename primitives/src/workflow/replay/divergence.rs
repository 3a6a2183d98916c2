//! The report of a body that does not match its journal (W4).

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{journal::Entry, op_id::OpId};

/// The place where today's code and a journal differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Divergence {
    /// The number of the entry at which they differ; one past the last entry if the code asks for something
    /// else next.
    pub entry: u64,
    /// The content of the journal at this place.
    pub expected: String,
    /// The action of the code at this place.
    pub found: String,
    /// The likely edit.
    pub likely: String,
}

/// Another possible cause of a changed input.
const OR_UNORDERED: &str =
    "or differs from one time to the next (a `HashSet` has another order each time: use a `BTreeSet`)";

impl Divergence {
    /// The journal has an entry of an operation that the code does not ask for.
    pub(in crate::workflow) fn not_asked(entry: u64, expected: &Entry, instead: Option<&OpId>) -> Self {
        let name = expected.op.as_ref().map_or("", OpId::label);
        let (found, likely) = match instead {
            Some(instead) if instead.label() == name => (
                format!("asks for `{instead}`"),
                format!("a `{name}` before it was added or removed, or one was moved into or out of a branch"),
            ),
            Some(instead) => (
                format!("asks for `{instead}`"),
                format!("`{name}` was removed, renamed or moved, or `{}` was added before it", instead.label()),
            ),
            None => ("asks for nothing".to_owned(), format!("`{name}` was removed")),
        };
        Self { entry, expected: format!("`{}`", expected.op_text()), found, likely }
    }

    /// The code asks for the operation, but with another input.
    pub(in crate::workflow) fn asked_otherwise(entry: u64, expected: &Entry) -> Self {
        Self {
            entry,
            expected: format!("`{}` with the input it was given", expected.op_text()),
            found: "asks for it with another".to_owned(),
            likely: format!("what is handed to it was changed, {OR_UNORDERED}"),
        }
    }

    /// The body ends, but the journal has more entries.
    pub(in crate::workflow) fn ended_early(entry: u64, next: Option<&Entry>) -> Self {
        let expected = next.map_or_else(|| "that it waits".to_owned(), |next| format!("`{}`", next.op_text()));
        let likely = "what came after was removed, or it returns earlier".to_owned();
        Self { entry, expected, found: "has ended".to_owned(), likely }
    }

    /// The body begins another generation, but the journal has more entries.
    pub(in crate::workflow) fn continues(entry: u64, next: Option<&Entry>) -> Self {
        let found = "goes on as a new generation".to_owned();
        let likely = "what came before its `continue_as` was removed, or it comes there earlier".to_owned();
        Self { found, likely, ..Self::ended_early(entry, next) }
    }

    /// The run is pinned to a version that the code does not support.
    pub(in crate::workflow) fn unsupported(entry: u64, id: &str, pinned: u32, (lowest, highest): (u32, u32)) -> Self {
        Self {
            entry,
            expected: format!("version {pinned} of `{id}`"),
            found: format!("supports versions {lowest} to {highest} of it"),
            likely: format!("version {pinned} was removed while runs that began with it go on: keep its branch"),
        }
    }

    /// The code cannot read a recorded value.
    pub(in crate::workflow) fn unreadable(entry: u64, what: &str, reason: &str) -> Self {
        let likely = "the type of it was changed; a new field needs `#[serde(default)]`".to_owned();
        Self { entry, expected: what.to_owned(), found: format!("cannot read it: {reason}"), likely }
    }

    /// After the last entry, the run waited for an operation that the code does not ask for, or the
    /// reverse.
    pub(in crate::workflow) fn waits_otherwise(entry: u64, missing: Option<&OpId>, added: Option<&OpId>) -> Self {
        let expected = missing.map_or_else(|| "nothing more".to_owned(), |op| format!("`{op}`"));
        let found = added.map_or_else(|| "does not ask for it".to_owned(), |op| format!("asks for `{op}`"));
        let likely = match (missing, added) {
            (Some(op), Some(other)) if op.label() == other.label() => {
                let name = op.label();
                format!("another `{name}` was added, or what is handed to it was changed, {OR_UNORDERED}")
            }
            (Some(op), Some(other)) => {
                format!("`{}` was replaced by `{}`, or that was added before it", op.label(), other.label())
            }
            (Some(op), None) => format!("`{}` was removed", op.label()),
            (None, Some(op)) => format!("`{}` was added", op.label()),
            (None, None) => "the order of what it asks for was changed".to_owned(),
        };
        Self { entry, expected, found, likely }
    }

    /// The run has ended, but the body continues.
    pub(in crate::workflow) fn goes_on(entry: u64, asks: Option<&OpId>) -> Self {
        let found = asks.map_or_else(|| "waits".to_owned(), |op| format!("asks for `{op}`"));
        let likely = "something was added at the end".to_owned();
        Self { entry, expected: "its end".to_owned(), found, likely }
    }

    /// The body ends, but with another result.
    pub(in crate::workflow) fn ends_otherwise(entry: u64) -> Self {
        let (expected, found) = ("its end".to_owned(), "ends with another result".to_owned());
        Self { entry, expected, found, likely: "what it returns was changed".to_owned() }
    }

    /// The run waits for a step that the code does not have.
    pub(in crate::workflow) fn no_such_step(entry: u64, op: &OpId) -> Self {
        Self {
            entry,
            expected: format!("`{op}`"),
            found: format!("has no step `{}`", op.label()),
            likely: "it was renamed or removed".to_owned(),
        }
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entry, expected, found, likely } = self;
        write!(out, "at entry {entry} of the journal {expected} is expected, and the code {found}: {likely}")
    }
}

impl std::error::Error for Divergence {}
