//! Small tools that know nothing of entities.

pub(crate) mod backoff;
pub(crate) mod hasher;
pub(crate) mod latch;
pub(crate) mod permit;
pub(crate) mod pulse;
pub(crate) mod race;
pub(crate) mod sparse;
