//! The events of a run: its queues, its waits on topics, and its dead events.

pub(crate) mod dead_events;
pub(crate) mod queue;
pub(crate) mod ready;
pub(crate) mod topic_waits;
pub(crate) mod waits;
