//! A gate: a semaphore with three permits and a short lease.

use drystone::primitive;

/// The number of permits in all.
pub const PERMITS: u64 = 3;

#[primitive(semaphore, permits = PERMITS, lease = "400ms")]
pub(super) struct Gate;
