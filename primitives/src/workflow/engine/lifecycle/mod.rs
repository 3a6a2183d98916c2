//! Runs that are paused, stopped or updated.

pub(crate) mod pause;
pub(crate) mod stop;
pub(crate) mod update;
