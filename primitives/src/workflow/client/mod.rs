//! The caller's side of a run: its handle, status, history and errors.

pub(crate) mod fault;
pub(crate) mod handle;
pub(crate) mod history;
pub(crate) mod restart;
pub(crate) mod status;
