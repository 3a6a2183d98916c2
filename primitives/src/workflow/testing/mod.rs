//! Recorded histories, replayed against the present code.

pub(crate) mod replay;
pub(crate) mod replay_all;
