//! The definition of a workflow: policies, options, schedules, and the traits that the macros implement.

#[cfg(feature = "cron")]
pub(crate) mod cron;
pub(crate) mod generated;
pub(crate) mod options;
pub(crate) mod policy;
pub(crate) mod script;
#[cfg(feature = "cron")]
pub(crate) mod tick;
