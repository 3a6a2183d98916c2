//! How a run is looked at that something else has woken: no turn of its own would come to it.

use std::sync::{Mutex, PoisonError};

use drystone_runtime::{Key, kernel::Outpost};

/// The kernel that a workflow's runs are in. Of several over one registry it is the last; a run of another is looked at when its next
/// turn comes.
#[derive(Debug, Default)]
pub(super) struct Nudge(Mutex<Option<Outpost>>);

impl Nudge {
    pub(super) fn set(&self, outpost: &Outpost) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(outpost.clone());
    }

    /// Has a run looked at, if it is in memory.
    pub(super) fn look_at(&self, key: &Key) {
        let outpost = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(outpost) = outpost {
            outpost.look_at(key);
        }
    }
}
