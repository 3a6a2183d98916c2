//! Updates of the state from outside (L8).

use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use drystone_runtime::kernel::panic_message;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::core::Core;
use crate::{planted::Bug, primitive::Thrown, workflow::Workflow};

/// An update, as it is recorded.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::workflow) struct Update {
    pub(in crate::workflow) name: String,
    pub(in crate::workflow) input: Box<RawValue>,
}

/// The result of trying an update.
pub(in crate::workflow) enum Tried {
    /// The update was accepted, with this answer.
    Taken(Bytes),
    /// The update was refused, with this error of the author's.
    Refused(Bytes),
    Malformed(String),
    Panicked(String),
}

impl Update {
    /// Tries the update on a copy of the state. Returns the result and the bytes of the new state. Changes
    /// nothing else.
    pub(in crate::workflow) fn tried<W: Workflow>(&self, core: &Core) -> Result<(Tried, usize), String> {
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

    /// Applies the update to the state of a body. The error says why it cannot be applied.
    pub(in crate::workflow) fn apply<W: Workflow>(&self, core: &Core) -> Result<(), String> {
        let update =
            |state: &mut W| catch_unwind(AssertUnwindSafe(|| state.update(&self.name, self.input.get().as_bytes())));
        match core.with_state(true, update) {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(Thrown::Failed(_))) => Err("it is refused now, and was taken before".to_owned()),
            // Only the answer cannot be written, and answers are not recorded. An older version of the code
            // accepted the update.
            Ok(Err(Thrown::Unwritable(_))) => Ok(()),
            Ok(Err(Thrown::Malformed(reason))) => Err(reason),
            Ok(Err(Thrown::Unknown)) => Err("there is no such update any more".to_owned()),
            Err(panic) => Err(format!("it panicked: {}", panic_message(&*panic))),
        }
    }

    /// Applies the update in a replay.
    pub(in crate::workflow) fn apply_again<W: Workflow>(&self, core: &Core) -> Result<(), String> {
        if Bug::UpdateLost.planted() {
            return Ok(());
        }
        if Bug::UpdateTwice.planted() {
            self.apply::<W>(core)?;
        }
        self.apply::<W>(core)
    }
}
