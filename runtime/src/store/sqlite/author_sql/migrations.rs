//! Migrations of the author's tables: each is one transaction with the row that records it.

use std::time::Duration;

use rusqlite::{Connection, Error, params};

use super::{sandbox::Leash, statements::Author};
use crate::store::{
    StoreError,
    migration::{AppliedMigration, Migration, MigrationFault, pending},
    sql::Statements,
    sqlite::writer::{Attempt, Writer},
};

/// The time limit of one migration. It is generous, because nothing else runs yet.
const LIMIT: Duration = Duration::from_secs(60 * 60);

/// Applies the migrations that the file has not had, in order. A fault keeps the earlier ones.
pub(in crate::store::sqlite) fn migrate(
    writer: &Writer,
    list: &[Migration],
) -> Result<Result<(), MigrationFault>, StoreError> {
    let applied = writer.transaction(applied)?;
    let pending = match pending(&applied, list) {
        Ok(pending) => pending,
        Err(fault) => return Ok(Err(fault)),
    };
    for (place, migration) in (applied.len()..).zip(pending) {
        if let Err(reason) = apply(writer, place, migration)? {
            return Ok(Err(MigrationFault::Failed { name: migration.name.clone(), reason }));
        }
    }
    Ok(Ok(()))
}

/// Returns the migrations that were applied to the file, in order.
fn applied(connection: &Connection) -> Result<Vec<AppliedMigration>, Error> {
    let mut statement = connection.prepare("SELECT name, hash FROM drystone_migration ORDER BY place")?;
    let read = |row: &rusqlite::Row<'_>| Ok(AppliedMigration { name: row.get(0)?, hash: row.get::<_, i64>(1)? as u64 });
    statement.query_map([], read)?.collect()
}

/// Applies one migration. Returns the reason if its statements fail.
fn apply(writer: &Writer, place: usize, migration: &Migration) -> Result<Result<(), String>, StoreError> {
    let attempt = writer.attempt(|connection, leash| run(connection, leash, place, migration))?;
    Ok(match attempt {
        Attempt::Kept(ended) => ended,
        Attempt::Spoilt(ended, reason) => Err(ended.err().unwrap_or(reason)),
    })
}

fn run(
    connection: &Connection,
    leash: &Leash,
    place: usize,
    migration: &Migration,
) -> Result<Result<(), String>, Error> {
    connection.execute_batch("SAVEPOINT one_migration")?;
    let mut author = Author::new(connection, leash);
    let held = leash.hold(LIMIT);
    let ended = author.batch(&migration.statements);
    drop(held);
    if let Some(trouble) = author.trouble {
        return Err(trouble);
    }
    if connection.is_autocommit() {
        return Ok(ended.map_err(|fault| fault.message));
    }
    match &ended {
        Ok(()) => {
            let sql = "INSERT INTO drystone_migration (place, name, hash) VALUES (?1, ?2, ?3)";
            connection.execute(sql, params![place as i64, migration.name, migration.hash() as i64])?;
        }
        Err(_) => connection.execute_batch("ROLLBACK TO one_migration")?,
    }
    connection.execute_batch("RELEASE one_migration")?;
    Ok(ended.map_err(|fault| fault.message))
}
