//! Has the kernel look at a run whose body had a foreign wake, because such a wake causes no turn.

use std::sync::{Mutex, PoisonError};

use drystone_runtime::{Key, kernel::WeakKernel};

/// The kernel of a workflow's runs. If several kernels share one registry, this is the last that opened; a
/// run in another kernel is looked at in its next turn.
#[derive(Debug, Default)]
pub(in crate::workflow) struct Nudge(Mutex<Option<WeakKernel>>);

impl Nudge {
    pub(in crate::workflow) fn set(&self, weak_kernel: &WeakKernel) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(weak_kernel.clone());
    }

    /// Has the kernel look at a run, if the run is in memory.
    pub(in crate::workflow) fn look_at(&self, key: &Key) {
        let weak_kernel = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(weak_kernel) = weak_kernel {
            weak_kernel.look_at(key);
        }
    }
}
