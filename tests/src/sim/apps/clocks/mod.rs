//! Continuous primitives, and an object with an alarm.

pub(crate) mod bell;
pub(crate) mod chime;
pub(crate) mod drip;
pub(crate) mod pulse;
