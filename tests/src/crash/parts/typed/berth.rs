//! A semaphore. Callers take its permits and give them back. If the process dies while a permit is held, the
//! permit comes back when its lease ends.

use drystone::primitive;

#[primitive(semaphore, permits = 3, lease = "60ms")]
pub(in crate::crash) struct Berth;
