//! The generations of a run: `continue_as` and restarts.

pub(crate) mod continue_as;
pub(crate) mod kept;
pub(crate) mod restart;
