//! The threads of a kernel, one file each.

pub(crate) mod leases;
pub(crate) mod maintenance;
pub(crate) mod reader;
pub(crate) mod scanner;
pub(crate) mod start;
pub(crate) mod timer;
pub(crate) mod transaction_messages;
pub(crate) mod transactions;
pub(crate) mod turns;
pub(crate) mod watchdog;
pub(crate) mod writer;
