//! The faults of a history: of the store, of the clocks and of the processes.

pub mod nemesis;
pub mod panics;
pub mod store;
pub mod weather;
