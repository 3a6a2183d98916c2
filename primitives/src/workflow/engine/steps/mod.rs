//! The steps of a run: attempts, inputs, heartbeats, transactions and undos.

pub(crate) mod end;
pub(crate) mod heartbeat;
pub(crate) mod inputs;
pub(crate) mod run;
pub(crate) mod transaction;
pub(crate) mod undo;
pub(crate) mod work;
