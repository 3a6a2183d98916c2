//! The tables, and how an older file is brought up to date.

use rusqlite::{Connection, Error, Transaction, TransactionBehavior};

use super::failure::failure;
use crate::store::{StoreError, StoreErrorKind};

/// «DRYS»: says in the file's header whose it is.
const APPLICATION: i32 = 0x4452_5953;

/// The first library without the bug that can lose a checkpoint (fB6).
const LIBRARY_MIN: i32 = 3_051_003;

/// One script per schema version, in order. A released one never changes.
const MIGRATIONS: [&str; 1] = [VERSION_1];

/// Our tables: an author's code has no business with them.
pub(super) const TABLES: [&str; 8] = ["meta", "partition", "entity", "row", "gone", "inbox", "remembered", "config"];

/// The tables of versions to come will be called so, for an author may have any other name by then.
pub(super) const PREFIX: &str = "drystone_";

// Keys and row keys are always blobs, for their order is bytewise; what people look at (head, state, bodies)
// is text where it can be. What is updated most, and is longest, comes last.
const VERSION_1: &str = "
CREATE TABLE meta (
    name TEXT NOT NULL PRIMARY KEY, value INTEGER NOT NULL, CHECK (name <> 'epoch' OR value < 2147483648)
) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES ('epoch', 0), ('reopened', 0);

CREATE TABLE partition (
    id INTEGER PRIMARY KEY, epoch INTEGER NOT NULL DEFAULT 0, owner TEXT, address TEXT,
    lease_until INTEGER NOT NULL DEFAULT 0, clean INTEGER NOT NULL DEFAULT 1, highest INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE entity (
    id INTEGER PRIMARY KEY, partition INTEGER NOT NULL, space TEXT NOT NULL, key BLOB NOT NULL,
    kind TEXT NOT NULL, definition TEXT NOT NULL, config INTEGER NOT NULL, version INTEGER NOT NULL,
    status TEXT NOT NULL, phase INTEGER NOT NULL, alarm_at INTEGER, active INTEGER NOT NULL,
    crashes INTEGER NOT NULL, suspect TEXT, parked INTEGER, parked_why TEXT,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, head ANY NOT NULL, state ANY NOT NULL,
    UNIQUE (space, key)
) STRICT;
CREATE INDEX entity_due ON entity (partition, alarm_at, id) WHERE alarm_at IS NOT NULL AND parked IS NULL;
CREATE INDEX entity_active ON entity (partition, id) WHERE active = 1 AND parked IS NULL;
CREATE INDEX entity_parked ON entity (partition, id) WHERE parked IS NOT NULL;
CREATE INDEX entity_stuck ON entity (id)
    WHERE phase = 0 AND alarm_at IS NULL AND active = 0 AND parked IS NULL;

CREATE TABLE row (
    entity INTEGER NOT NULL, lane TEXT NOT NULL, key BLOB NOT NULL, body ANY NOT NULL,
    PRIMARY KEY (entity, lane, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE gone (
    entity INTEGER NOT NULL, whole INTEGER NOT NULL, lane TEXT NOT NULL, held INTEGER NOT NULL,
    PRIMARY KEY (entity, whole, lane)
) STRICT, WITHOUT ROWID;
CREATE INDEX gone_free ON gone (whole, entity, lane) WHERE held = 0;

CREATE TABLE inbox (
    partition INTEGER NOT NULL, space TEXT NOT NULL, key BLOB NOT NULL, version INTEGER NOT NULL, idx INTEGER NOT NULL,
    sender_space TEXT NOT NULL, sender_key BLOB NOT NULL, definition TEXT NOT NULL, verb TEXT NOT NULL,
    attempts INTEGER NOT NULL, at INTEGER NOT NULL, body ANY NOT NULL,
    PRIMARY KEY (partition, space, key, version, idx)
) STRICT, WITHOUT ROWID;

CREATE TABLE remembered (
    space TEXT NOT NULL, key BLOB NOT NULL, once BLOB NOT NULL, hash INTEGER NOT NULL,
    expires_at INTEGER NOT NULL, reply ANY NOT NULL,
    PRIMARY KEY (space, key, once)
) STRICT, WITHOUT ROWID;
CREATE INDEX remembered_expiry ON remembered (expires_at);

CREATE TABLE config (
    definition TEXT NOT NULL, fingerprint INTEGER NOT NULL, body ANY NOT NULL,
    PRIMARY KEY (definition, fingerprint)
) STRICT, WITHOUT ROWID;
";

/// Refuses a library that is too old to be trusted with a log (K4).
pub(super) fn check_library(found: i32) -> Result<(), StoreError> {
    if found >= LIBRARY_MIN {
        return Ok(());
    }
    let message = format!("this program was built with SQLite {found}; {LIBRARY_MIN} (3.51.3) or later is needed");
    Err(StoreError::new(StoreErrorKind::Unsupported, message))
}

/// Refuses a file that is not ours, or newer than we are, before anything of it is changed.
pub(super) fn check(connection: &Connection) -> Result<(), StoreError> {
    let application: i32 = pragma(connection, "application_id").map_err(failure)?;
    let version: i64 = pragma(connection, "user_version").map_err(failure)?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(failure)?;
    let is_new = application == 0 && version == 0 && tables == 0;
    if !is_new && application != APPLICATION {
        let message = "the file is a database of another program, not a store; choose another path";
        return Err(StoreError::new(StoreErrorKind::Corrupt, message));
    }
    if version > MIGRATIONS.len() as i64 {
        let known = MIGRATIONS.len();
        let message = format!("the file has schema version {version}, this program knows {known}; use a newer one");
        return Err(StoreError::new(StoreErrorKind::Unsupported, message));
    }
    if !is_new && version < 1 {
        let message = "the file says that it is a store, but has no schema version";
        return Err(StoreError::new(StoreErrorKind::Corrupt, message));
    }
    Ok(())
}

/// Brings the file up to date, in one transaction that nobody else can be in (K2).
pub(super) fn migrate(connection: &mut Connection, partitions: u32) -> Result<(), Error> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Read again: another process may have done it while this one waited.
    let version = pragma::<u32>(&transaction, "user_version")? as usize;
    for script in MIGRATIONS.iter().skip(version) {
        transaction.execute_batch(script)?;
    }
    if version < MIGRATIONS.len() {
        transaction.pragma_update(None, "user_version", MIGRATIONS.len() as i64)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
    }
    if version == 0 {
        make_partitions(&transaction, partitions.max(1))?;
    }
    transaction.commit()
}

fn make_partitions(transaction: &Transaction<'_>, partitions: u32) -> Result<(), Error> {
    transaction.execute("INSERT INTO meta VALUES ('partitions', ?1)", [partitions])?;
    for id in 0..partitions {
        transaction.execute("INSERT INTO partition (id) VALUES (?1)", [id])?;
    }
    Ok(())
}

/// How many partitions the file was made with.
pub(super) fn partitions(connection: &Connection) -> Result<u32, Error> {
    connection.query_row("SELECT value FROM meta WHERE name = 'partitions'", [], |row| row.get(0))
}

fn pragma<T: rusqlite::types::FromSql>(connection: &Connection, name: &str) -> Result<T, Error> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// W6
    #[test]
    fn the_list_of_our_tables_is_complete() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, 1).unwrap();
        let mut named = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
        let found: Vec<String> = named.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
        assert_eq!(found, TABLES);
    }

    /// K4
    #[test]
    fn a_library_with_the_checkpoint_bug_is_refused() {
        assert_eq!(check_library(3_051_002).unwrap_err().kind(), StoreErrorKind::Unsupported);
        assert!(check_library(3_051_003).is_ok());
    }
}
