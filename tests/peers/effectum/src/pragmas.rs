//! How effectum's file is written.

use std::path::Path;

use rusqlite::Connection;

/// `journal_mode/synchronous` of a connection that is set as effectum sets its own, which nobody else can ask.
///
/// Effectum wants WAL but says `journal`, which is no pragma and does nothing; so this reads what comes of it.
pub fn read(path: &Path) -> rusqlite::Result<String> {
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "journal", "wal")?;
    connection.pragma_update(None, "synchronous", "normal")?;
    let journal: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    let synchronous: u8 = connection.pragma_query_value(None, "synchronous", |row| row.get(0))?;
    let synchronous = ["OFF", "NORMAL", "FULL", "EXTRA"].get(usize::from(synchronous)).unwrap_or(&"?");
    Ok(format!("{journal}/{synchronous}"))
}

/// Puts the file into WAL mode, where it stays for everybody who opens it.
pub fn make_wal(path: &Path) -> rusqlite::Result<()> {
    Connection::open(path)?.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))
}
