//! The tables, and the migration of older files.

use rusqlite::{
    Batch, Connection, Error, OptionalExtension, Transaction, TransactionBehavior, config::DbConfig,
    fallible_iterator::FallibleIterator,
};

use crate::store::{StoreError, StoreErrorKind, sqlite::failure::failure};

/// «DRYS», the application id in the header of a store file.
const APPLICATION: i32 = 0x4452_5953;

/// The first version of SQLite without the bug that can lose a checkpoint (fB6).
const LIBRARY_MIN: i32 = 3_051_003;

/// One script per schema version, in order. A released script never changes.
const MIGRATIONS: [&str; 2] = [include_str!("schema/version_1.sql"), include_str!("schema/version_2.sql")];

/// The prefix of the names of our tables and indexes. An author may use every other name.
pub(in crate::store::sqlite) const PREFIX: &str = "drystone_";

/// Refuses a version of SQLite that has the checkpoint bug (K4).
pub(in crate::store::sqlite) fn check_library(found: i32) -> Result<(), StoreError> {
    if found >= LIBRARY_MIN {
        return Ok(());
    }
    let message = format!("this program was built with SQLite {found}; {LIBRARY_MIN} (3.51.3) or later is needed");
    Err(StoreError::new(StoreErrorKind::Unsupported, message))
}

/// Refuses a file that is not a store, or is newer than this program, before anything in it is changed.
pub(in crate::store::sqlite) fn check(connection: &Connection) -> Result<(), StoreError> {
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

/// Migrates the file to the newest version, in one transaction that excludes all others (K2).
pub(in crate::store::sqlite) fn migrate(connection: &mut Connection, partitions: u32) -> Result<(), Error> {
    migrate_in_steps(connection, partitions, &mut || ())
}

/// Migrates the file and calls `pause` after every statement, including the last one, which commits.
fn migrate_in_steps(connection: &mut Connection, partitions: u32, pause: &mut dyn FnMut()) -> Result<(), Error> {
    // With this setting, renaming a table does not parse the author's views and triggers. Otherwise a view or
    // trigger that names a missing table would make it fail.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_LEGACY_ALTER_TABLE, true)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Read the version again: another process may have migrated the file while this one waited.
    let version = pragma::<u32>(&transaction, "user_version")? as usize;
    for script in MIGRATIONS.iter().skip(version) {
        let mut statements = Batch::new(&transaction, script);
        while let Some(mut statement) = statements.next()? {
            statement.execute([])?;
            pause();
        }
    }
    if version < MIGRATIONS.len() {
        transaction.pragma_update(None, "user_version", MIGRATIONS.len() as i64)?;
        pause();
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        pause();
    }
    if version == 0 {
        make_partitions(&transaction, partitions.max(1))?;
        pause();
    }
    transaction.commit()?;
    pause();
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_LEGACY_ALTER_TABLE, false).map(drop)
}

fn make_partitions(transaction: &Transaction<'_>, partitions: u32) -> Result<(), Error> {
    transaction.execute("INSERT INTO drystone_store VALUES ('partitions', ?1)", [partitions])?;
    for id in 0..partitions {
        transaction.execute("INSERT INTO drystone_partition (id) VALUES (?1)", [id])?;
    }
    Ok(())
}

/// Returns the number of partitions that the file was made with.
pub(in crate::store::sqlite) fn partitions(connection: &Connection) -> Result<u32, Error> {
    connection.query_row("SELECT value FROM drystone_store WHERE name = 'partitions'", [], |row| row.get(0))
}

/// Returns the choice recorded under `name`.
pub(in crate::store::sqlite) fn choice(connection: &Connection, name: &str) -> Result<Option<String>, Error> {
    let sql = "SELECT value FROM drystone_store WHERE name = 'choice/' || ?1";
    connection.query_row(sql, [name], |row| row.get(0)).optional()
}

/// Records a choice, unless one was recorded before.
pub(in crate::store::sqlite) fn choose(connection: &Connection, name: &str, value: &str) -> Result<(), Error> {
    let sql = "INSERT INTO drystone_store VALUES ('choice/' || ?1, ?2) ON CONFLICT DO NOTHING";
    connection.execute(sql, [name, value]).map(drop)
}

fn pragma<T: rusqlite::types::FromSql>(connection: &Connection, name: &str) -> Result<T, Error> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::store::{Sqlite, SqliteOptions};

    /// A file of schema version 1 that contains one of everything.
    const FILE_1: &[u8] = include_bytes!("../../../../../tests/tests/files/version-1.db");

    /// Returns the schema of a file and all its rows, except for those of the owners, which change at each
    /// opening.
    fn contents(path: &Path) -> Vec<String> {
        let connection = Connection::open(path).unwrap();
        let names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'drystone_partition' ORDER BY 1";
        let schema = "SELECT type || ' ' || name || ': ' || ifnull(sql, '') FROM sqlite_schema ORDER BY 1";
        let mut lines = texts(&connection, schema);
        for table in texts(&connection, names) {
            let mut rows = connection.prepare(&format!("SELECT * FROM {table} ORDER BY 1, 2")).unwrap();
            let columns = rows.column_count();
            let line = |row: &rusqlite::Row<'_>| {
                let values: Vec<_> = (0..columns).map(|column| row.get_ref(column).unwrap()).collect();
                Ok(format!("{table}: {values:?}"))
            };
            lines.extend(rows.query_map([], line).unwrap().map(Result::unwrap));
        }
        lines
    }

    fn texts(connection: &Connection, sql: &str) -> Vec<String> {
        connection.prepare(sql).unwrap().query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    /// Migrates the file, and copies it with its log after every statement. Each copy is what a kill at that
    /// moment would leave.
    fn killed_everywhere(folder: &Path, file: &[u8]) -> Vec<PathBuf> {
        let live = folder.join("live.db");
        std::fs::write(&live, file).unwrap();
        let mut connection = Connection::open(&live).unwrap();
        // With a small cache, pages are written to the log before the commit.
        let settings = "PRAGMA journal_mode = wal; PRAGMA cache_size = 1; PRAGMA wal_autocheckpoint = 0";
        connection.execute_batch(settings).unwrap();
        let mut copies = Vec::new();
        migrate_in_steps(&mut connection, 2, &mut || {
            let copy = folder.join(format!("{}.db", copies.len()));
            std::fs::copy(&live, &copy).unwrap();
            std::fs::copy(live.with_extension("db-wal"), copy.with_extension("db-wal")).unwrap();
            copies.push(copy);
        })
        .unwrap();
        copies
    }

    /// K2, fF10
    #[test]
    fn a_migration_that_is_killed_at_any_statement_can_be_repeated() {
        for (file, statements) in [(&[][..], 40), (FILE_1, 24)] {
            let folder = tempfile::tempdir().unwrap();
            let copies = killed_everywhere(folder.path(), file);
            assert!(copies.len() >= statements, "{} statements", copies.len());
            let log_bytes = |copy: &Path| std::fs::metadata(copy.with_extension("db-wal")).unwrap().len();
            assert!(log_bytes(&copies[copies.len() - 2]) > 0, "pages are in the log before the commit");
            let complete = contents(copies.last().unwrap());
            for copy in &copies {
                drop(Sqlite::open(copy, SqliteOptions { partitions: 2, ..SqliteOptions::default() }).unwrap());
                assert_eq!(contents(copy), complete, "{}", copy.display());
            }
        }
    }

    /// K2
    #[test]
    fn an_authors_own_tables_and_all_that_hangs_on_them_outlive_a_migration() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.db");
        std::fs::write(&path, FILE_1).unwrap();
        let authors = "
            CREATE INDEX ledger_cents ON ledger (cents);
            CREATE TABLE pet (name TEXT PRIMARY KEY, owner TEXT REFERENCES person);
            CREATE VIEW rich AS SELECT name FROM ledger WHERE cents > 150;
            CREATE VIEW broken AS SELECT * FROM a_table_that_is_gone;
            CREATE VIEW ours AS SELECT * FROM entity;
            CREATE TRIGGER booked AFTER INSERT ON ledger BEGIN INSERT INTO a_table_that_is_gone VALUES (1); END;
        ";
        Connection::open(&path).unwrap().execute_batch(authors).unwrap();
        let names = ["ledger", "pet", "rich", "broken", "ours", "booked"];
        let of_the_author = |line: &String| names.iter().any(|name| line.contains(name));
        let before: Vec<String> = contents(&path).into_iter().filter(of_the_author).collect();
        drop(Sqlite::open(&path, SqliteOptions::default()).unwrap());
        let after: Vec<String> = contents(&path).into_iter().filter(of_the_author).collect();
        assert_eq!(after, before);
        assert!(before.len() >= 10, "{before:?}");
    }

    /// K2
    #[test]
    fn a_migration_records_whether_keys_were_shared() {
        for (space, recorded) in [("app", Some("shared")), ("cart", Some("separate")), ("drystone:topics", None)] {
            let mut connection = Connection::open_in_memory().unwrap();
            connection.execute_batch(MIGRATIONS[0]).unwrap();
            connection.pragma_update(None, "user_version", 1).unwrap();
            let entity = "INSERT INTO entity VALUES \
                 (1, 0, ?1, x'01', '', '', 0, 1, '', 0, NULL, 0, 0, NULL, NULL, NULL, 0, 0, '', '')";
            connection.execute(entity, [space]).unwrap();
            migrate(&mut connection, 1).unwrap();
            assert_eq!(choice(&connection, "keys").unwrap().as_deref(), recorded);
        }
    }

    /// W6
    #[test]
    fn every_table_and_index_of_ours_has_the_prefix() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, 1).unwrap();
        let found = texts(&connection, "SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'");
        assert_eq!(found.len(), 15, "{found:?}");
        assert!(found.iter().all(|name| name.starts_with(PREFIX)), "{found:?}");
    }

    /// K4
    #[test]
    fn a_library_with_the_checkpoint_bug_is_refused() {
        assert_eq!(check_library(3_051_002).unwrap_err().kind(), StoreErrorKind::Unsupported);
        assert!(check_library(3_051_003).is_ok());
    }
}
