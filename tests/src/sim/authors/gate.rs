//! A gate: a semaphore whose permits weigh three together and last a short while.

use drystone::primitive;

/// How much may be out at once.
pub const PERMITS: u64 = 3;

#[primitive(semaphore, permits = PERMITS, lease = "400ms")]
pub(super) struct Gate;
