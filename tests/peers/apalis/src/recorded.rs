//! What is in apalis' file, seen through a connection of ours that only reads.

use std::{path::Path, sync::Mutex};

use rusqlite::{Connection, Result};

pub struct Recorded(Mutex<Connection>);

impl Recorded {
    pub fn open(path: &Path) -> Result<Self> {
        Connection::open(path).map(Mutex::new).map(Self)
    }

    /// Items that are finished; none, if it cannot be seen just now.
    pub fn done(&self) -> u64 {
        self.count("SELECT COUNT(*) FROM Jobs WHERE status = 'Done'").map_or(0, u64::from)
    }

    /// Workers that are registered.
    pub fn workers(&self) -> Result<usize> {
        self.count("SELECT COUNT(*) FROM Workers").map(|count| count as usize)
    }

    fn count(&self, sql: &str) -> Result<u32> {
        let connection = self.0.lock().expect("nobody panics with it");
        connection.prepare_cached(sql)?.query_row([], |row| row.get(0))
    }
}
