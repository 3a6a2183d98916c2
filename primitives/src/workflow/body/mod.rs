//! The body's side of a workflow: steps, sleeps, waits, children, calls and permits.

pub(crate) mod call;
pub(crate) mod child;
pub(crate) mod combine;
pub(crate) mod continue_as;
pub(crate) mod durable;
pub(crate) mod flow;
pub(crate) mod heartbeat;
pub(crate) mod names;
pub(crate) mod permit;
pub(crate) mod sleep;
pub(crate) mod state_wait;
pub(crate) mod step;
pub(crate) mod version;
pub(crate) mod wait;
