//! Queues, one for each feature.

pub(crate) mod mail;
pub(crate) mod queued;
pub mod queueing;
