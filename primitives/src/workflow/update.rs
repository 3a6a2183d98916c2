//! Updates of the state from outside (L8), as they are applied.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use drystone_runtime::kernel::panic_message;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Workflow, core::Core};
use crate::{planted::Bug, primitive::Thrown};

/// An update, as it is recorded.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Update {
    pub(super) name: String,
    pub(super) input: Box<RawValue>,
}

/// What becomes of an update that is tried.
pub(super) enum Tried {
    /// It was taken, with this answer.
    Taken(Bytes),
    /// It was refused, with this error of the author's.
    Refused(Bytes),
    Malformed(String),
    Panicked(String),
}

impl Update {
    /// Tries it on a copy of the state: what comes of it, and the state it would leave. Nothing else is changed by it.
    pub(super) fn tried<W: Workflow>(&self, core: &Core) -> Result<(Tried, usize), String> {
        let state = core.with_state(false, |state: &mut W| W::codec().write(state))?;
        let mut copy = W::codec().read(&state)?;
        let updated = catch_unwind(AssertUnwindSafe(|| copy.update(&self.name, self.input.get().as_bytes())));
        let tried = match updated {
            Ok(Ok(answer)) => Tried::Taken(answer),
            Ok(Err(Thrown::Failed(error))) => Tried::Refused(error),
            Ok(Err(Thrown::Malformed(reason) | Thrown::Unwritable(reason))) => Tried::Malformed(reason),
            Ok(Err(Thrown::Unknown)) => Tried::Malformed("there is no such update".to_owned()),
            Err(panic) => Tried::Panicked(panic_message(&*panic)),
        };
        let left = W::codec().write_answer(&copy).map_err(|reason| format!("the state it leaves: {reason}"))?;
        Ok((tried, left.len()))
    }

    /// Applies it to the state of a body, for the first time or again; why it cannot be.
    pub(super) fn apply<W: Workflow>(&self, core: &Core) -> Result<(), String> {
        let update =
            |state: &mut W| catch_unwind(AssertUnwindSafe(|| state.update(&self.name, self.input.get().as_bytes())));
        match core.with_state(true, update) {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(Thrown::Failed(_))) => Err("it is refused now, and was taken before".to_owned()),
            // Only its answer cannot be written, which is not recorded; an older version took it all the same.
            Ok(Err(Thrown::Unwritable(_))) => Ok(()),
            Ok(Err(Thrown::Malformed(reason))) => Err(reason),
            Ok(Err(Thrown::Unknown)) => Err("there is no such update any more".to_owned()),
            Err(panic) => Err(format!("it panicked: {}", panic_message(&*panic))),
        }
    }

    /// The same in a replay.
    pub(super) fn apply_again<W: Workflow>(&self, core: &Core) -> Result<(), String> {
        if Bug::UpdateLost.planted() {
            return Ok(());
        }
        if Bug::UpdateTwice.planted() {
            self.apply::<W>(core)?;
        }
        self.apply::<W>(core)
    }
}
