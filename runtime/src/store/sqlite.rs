//! skeleton
/// s
#[derive(Debug)]
pub struct Sqlite;
/// s
#[derive(Debug)]
pub struct SqliteOptions;
