//! The state that all threads of a kernel share.

pub(crate) mod alarms;
pub(crate) mod clock;
pub(crate) mod core;
pub(crate) mod crash_window;
pub(crate) mod effects;
pub(crate) mod eviction;
pub(crate) mod found;
pub(crate) mod lease;
pub(crate) mod mail;
pub(crate) mod pace;
pub(crate) mod residents;
pub(crate) mod shared;
pub(crate) mod slot;
pub(crate) mod store_slot;
