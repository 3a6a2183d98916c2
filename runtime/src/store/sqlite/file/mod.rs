//! The database file: its lock, its schema and its write-ahead log.

pub(crate) mod checkpoint;
pub(crate) mod lock;
pub(crate) mod log;
pub(crate) mod open;
pub(crate) mod options;
pub(crate) mod schema;
