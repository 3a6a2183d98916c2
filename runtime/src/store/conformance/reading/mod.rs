//! The cases about reads, scans and leases.

pub mod hints;
pub mod hostile;
pub mod inbox;
pub mod leases;
pub mod listing;
pub mod reopening;
pub mod scans;
pub mod sweeps;
pub mod times;
