//! The process that is killed, and its parent.

pub(crate) mod app;
pub(crate) mod child;
pub(crate) mod life;
pub(crate) mod moment;
pub(crate) mod parent;
pub(crate) mod worker;
