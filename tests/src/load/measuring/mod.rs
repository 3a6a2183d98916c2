//! Measurements: rounds, ratios and goals.

pub(crate) mod bare;
pub(crate) mod callers;
pub(crate) mod file;
pub(crate) mod goal;
pub(crate) mod measured;
pub(crate) mod neighbours;
pub(crate) mod plan;
pub(crate) mod processor;
pub(crate) mod report;
pub(crate) mod rounds;
pub(crate) mod subject;
pub(crate) mod tap;
pub(crate) mod wal;
