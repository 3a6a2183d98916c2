//! The records of a history, for the checkers.

pub mod ledger;
pub mod log;
pub mod outbox;
pub mod sometimes;
pub mod witness;
