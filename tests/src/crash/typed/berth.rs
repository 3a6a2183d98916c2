//! The semaphore: callers take its permits and give them back; a permit that was held when its process died comes back when its lease ends.

use drystone::primitive;

#[primitive(semaphore, permits = 3, lease = "60ms")]
pub(in super::super) struct Berth;
