//! Runs scripts: an author's code, in one transaction with the row that records its result (W6).
//!
//! All waiting scripts run in one transaction, each in a savepoint of its own. A script can still spoil the
//! whole transaction: an interrupted write and `ON CONFLICT ROLLBACK` end it, and a deferred foreign key is
//! checked only by `COMMIT`. Then nothing is kept. The scripts that wrote something run again, each in a
//! transaction of its own, which shows the one at fault.

use bytes::Bytes;
use rusqlite::{Connection, Error, OptionalExtension, params};

use super::{sandbox::Leash, statements::Author};
use crate::{
    Outcome,
    planted::Bug,
    store::{
        StoreError,
        sql::{Claim, Script, Scripted, Statements},
        sqlite::{
            owners::Owners,
            value::{Payload, Signed, bytes},
            writer::{Attempt, Writer},
        },
    },
};

/// The result of a script in a transaction that may not be kept.
struct Ran {
    scripted: Scripted,
    /// Whether the transaction contains writes of the script.
    has_written: bool,
}

impl Ran {
    fn without(scripted: Scripted) -> Self {
        Self { scripted, has_written: false }
    }
}

/// Runs the scripts and returns the result of each.
pub(in crate::store::sqlite) fn run(
    writer: &Writer,
    owners: &mut Owners,
    scripts: &[Script],
) -> Result<Vec<Scripted>, StoreError> {
    match attempt(writer, owners, scripts)? {
        Attempt::Kept(ran) => Ok(ran.into_iter().map(|ran| ran.scripted).collect()),
        Attempt::Spoilt(ran, _) => {
            let mut ran = ran.into_iter();
            let apart = scripts.iter().map(|script| match ran.next() {
                Some(Ran { scripted, has_written: false }) => Ok(scripted),
                _ => alone(writer, owners, script),
            });
            apart.collect()
        }
    }
}

fn alone(writer: &Writer, owners: &mut Owners, script: &Script) -> Result<Scripted, StoreError> {
    Ok(match attempt(writer, owners, std::slice::from_ref(script))? {
        Attempt::Kept(ran) => ran.into_iter().next().map_or(Scripted::Gone, |ran| ran.scripted),
        Attempt::Spoilt(ran, reason) => match ran.into_iter().next() {
            Some(Ran { scripted, has_written: false }) => scripted,
            _ => Scripted::Ended(Outcome::refused(reason)),
        },
    })
}

/// Runs the scripts in one transaction, until a script ends the transaction.
fn attempt(writer: &Writer, owners: &mut Owners, scripts: &[Script]) -> Result<Attempt<Vec<Ran>>, StoreError> {
    writer.attempt(|connection, leash| {
        let mut ran = Vec::with_capacity(scripts.len());
        for script in scripts {
            ran.push(one(connection, leash, owners, script)?);
            if connection.is_autocommit() {
                break;
            }
        }
        Ok(ran)
    })
}

fn one(connection: &Connection, leash: &Leash, owners: &mut Owners, script: &Script) -> Result<Ran, Error> {
    if let Some((partition, epoch)) = script.fence
        && owners.epoch_of(connection, partition)? != Some(epoch)
    {
        return Ok(Ran::without(Scripted::Fenced));
    }
    if let Some(scripted) =
        script.claim.as_ref().map(|claim| answered(connection, owners, claim)).transpose()?.flatten()
    {
        return Ok(Ran::without(scripted));
    }
    execute(connection, "SAVEPOINT one_script")?;
    let ended = code(connection, leash, script)?;
    if connection.is_autocommit() {
        // The code ended the transaction, so nothing is kept. If the code reports success, its result is
        // refused.
        let ended = ended.err().map(|outcome| *outcome);
        let ended = ended.unwrap_or_else(|| Outcome::refused("its code ended the transaction"));
        return Ok(Ran::without(Scripted::Ended(ended)));
    }
    if let (Ok(value), Some(claim)) = (&ended, &script.claim) {
        record(connection, claim, value)?;
    }
    if ended.is_err() && !Bug::FailedRowsKept.planted() {
        execute(connection, "ROLLBACK TO one_script")?;
    }
    execute(connection, "RELEASE one_script")?;
    Ok(match ended {
        Ok(value) => Ran { scripted: Scripted::Done(value), has_written: true },
        Err(outcome) => Ran::without(Scripted::Ended(*outcome)),
    })
}

/// Returns the result of a script that need not be run: fenced, gone, or recorded earlier.
fn answered(connection: &Connection, owners: &mut Owners, claim: &Claim) -> Result<Option<Scripted>, Error> {
    let (partition, epoch) = claim.owned;
    if owners.epoch_of(connection, partition)? != Some(epoch) {
        return Ok(Some(Scripted::Fenced));
    }
    Ok(match found(connection, claim)? {
        None => Some(Scripted::Gone),
        Some(body) if body == claim.before || Bug::RunAgain.planted() => None,
        Some(body) => Some(Scripted::Done(body)),
    })
}

/// Returns the body of the claimed row, unless its entity or lane is gone: such rows are swept later.
fn found(connection: &Connection, claim: &Claim) -> Result<Option<Bytes>, Error> {
    let sql = "SELECT body FROM drystone_row WHERE entity = ?1 AND lane = ?2 AND key = ?3 \
         AND EXISTS (SELECT 1 FROM drystone_entity WHERE id = ?1) \
         AND NOT EXISTS (SELECT 1 FROM drystone_gone WHERE entity = ?1 AND whole = 0 AND lane = ?2)";
    let values = params![Signed(claim.entity), claim.lane.as_str(), &claim.key[..]];
    connection.prepare_cached(sql)?.query_row(values, |row| bytes(row, 0)).optional()
}

fn record(connection: &Connection, claim: &Claim, value: &Bytes) -> Result<(), Error> {
    let sql = "UPDATE drystone_row SET body = ?4 WHERE entity = ?1 AND lane = ?2 AND key = ?3";
    let values = params![Signed(claim.entity), claim.lane.as_str(), &claim.key[..], Payload(value)];
    connection.prepare_cached(sql)?.execute(values).map(drop)
}

/// Runs the code. The outer error comes from the store, not from the code.
fn code(connection: &Connection, leash: &Leash, script: &Script) -> Result<Result<Bytes, Box<Outcome>>, Error> {
    let mut author = Author::new(connection, leash);
    let held = leash.hold(script.limit);
    let ended = (script.code)(&mut author);
    let is_late = leash.is_over();
    drop(held);
    if let Some(trouble) = author.trouble {
        return Err(trouble);
    }
    Ok(if is_late { Err(Box::new(Outcome::TimedOut)) } else { ended })
}

fn execute(connection: &Connection, sql: &str) -> Result<(), Error> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}

/// Runs code in a transaction of an empty database in memory, which is discarded afterwards.
pub(in crate::store::sqlite) fn rehearse<T>(code: impl FnOnce(&mut dyn Statements) -> T) -> Result<T, Error> {
    let (mut connection, leash) = (Connection::open_in_memory()?, Leash::default());
    leash.put_on(&mut connection)?;
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let _held = leash.hold(std::time::Duration::MAX);
    Ok(code(&mut Author::new(&connection, &leash)))
}
