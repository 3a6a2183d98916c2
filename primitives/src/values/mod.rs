//! Values that authors and the store share: retries, schedules, points in time, JSON.

pub(crate) mod failure;
pub(crate) mod json;
pub(crate) mod key_text;
pub mod literal;
pub(crate) mod retry;
pub(crate) mod schedule;
pub(crate) mod stored;
pub(crate) mod timestamp;
