//! The other entities that a run uses: calls, children and permits.

pub(crate) mod address;
pub(crate) mod call;
pub(crate) mod child;
pub(crate) mod permit;
