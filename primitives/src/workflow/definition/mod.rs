//! The definition of a workflow: events, policies, options, and the traits that the macros implement.

#[cfg(feature = "cron")]
pub(crate) mod cron;
pub(crate) mod event;
pub(crate) mod event_key;
pub(crate) mod generated;
pub(crate) mod options;
pub(crate) mod policy;
pub(crate) mod script;
#[cfg(feature = "cron")]
pub(crate) mod tick;
