//! What a store that speaks SQL does beside the contract: it runs an author's code in a transaction, with the record that it
//! was run (W6).
//!
//! A [`Script`] is run **once**: it names a row of an entity, and what that row holds as long as nobody has run it. In one
//! transaction the store looks whether the entity is ours and the row is as it was, runs the code in a savepoint, and
//! puts what the code returns into the row. Whoever asks again (after a crash, after an answer that was lost) finds that
//! in the row, and the code is not run. Whoever does not wait for it any more removes the row, in its own commit: from then on
//! the code is not run. So neither turns nor batches know of it: an entity's rows are all that they share.

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;

use super::{
    Answer, Outgoing,
    migration::{Migration, MigrationFault},
};
use crate::{Epoch, Key, Lane, Message, Millis, Outcome, Partition, RowKey, Version};

/// A store that can run code in a transaction.
pub trait Sql: Send + Sync {
    /// Runs these, in one transaction if they let it, and says what became of each, in order.
    ///
    /// Whatever one of them does, it is borne by that one: code that fails, panics, takes too long or spoils the
    /// transaction leaves no rows, and the others are run as if it had not been there. For that, code may be run more than once;
    /// what it writes is kept once. An error means that nothing of the whole was written, or that this is not known: then a
    /// script with a claim can be sent again as it is.
    fn transact<'a>(&'a self, scripts: &'a [Script]) -> Answer<'a, Vec<Scripted>>;

    /// Applies those migrations of the author's tables that this file has not had, in order, each in one transaction with the record
    /// that it was applied. Asked before any script is run.
    fn migrate<'a>(&'a self, list: &'a [Migration]) -> Answer<'a, Result<(), MigrationFault>>;
}

/// Code to be run in a transaction.
#[derive(Clone)]
pub struct Script {
    /// For whom; without one it is run as often as it is sent.
    pub claim: Option<Claim>,
    /// The partition and epoch that it needs beside its claim: if another owner has the partition, the code is not run.
    pub fence: Option<(Partition, Epoch)>,
    /// How long it may take, for nobody else writes meanwhile.
    pub limit: Duration,
    /// The code: what it comes to, or how it ended, and then nothing that it wrote is kept.
    pub code: ScriptCode,
}

/// The code of a [`Script`].
pub type ScriptCode = Arc<dyn Fn(&mut dyn Statements) -> Result<Bytes, Box<Outcome>> + Send + Sync>;

/// The row that says whether a script was run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The partition of the entity, and under which epoch it is ours.
    pub owned: (Partition, Epoch),
    /// The entity.
    pub entity: Version,
    /// The lane of the row.
    pub lane: Lane,
    /// Its key.
    pub key: RowKey,
    /// What it holds if the script was not run.
    pub before: Bytes,
}

/// What became of a script.
#[derive(Clone, Debug)]
pub enum Scripted {
    /// It was run, now or before, and came to this: it is durable, with what it wrote.
    Done(Bytes),
    /// It ended without: nothing that it wrote is kept.
    Ended(Outcome),
    /// Nobody waits for it any more: it was not run.
    Gone,
    /// The partition has another owner now: it was not run.
    Fenced,
}

/// What code in a transaction can ask for.
pub trait Statements {
    /// Runs one statement, and answers how many rows it changed: 0 for a definition.
    fn execute(&mut self, sql: &str, values: &[SqlValue]) -> Result<usize, SqlFault>;

    /// Runs one statement, and hands over each of its rows: the names of the columns, and their values.
    fn query(&mut self, sql: &str, values: &[SqlValue], each: &mut EachRow<'_>) -> Result<(), SqlFault>;

    /// Runs several statements, which take no values.
    fn batch(&mut self, sql: &str) -> Result<(), SqlFault>;

    /// Sends a message, as a part of the transaction (M6). Code that is only rehearsed sends nothing.
    fn send(&mut self, _message: Message) -> Result<(), SqlFault> {
        Ok(())
    }

    /// Puts a message into the inbox of its receiver, unless it is there. For the kernel, which gives messages their ids.
    fn put_message(&mut self, _from: &Key, _now: Millis, _message: &Outgoing) -> Result<(), SqlFault> {
        Err(SqlFault::new(SqlFaultKind::Refused, "this store takes no messages in a transaction"))
    }
}

/// What takes the rows of a query.
pub type EachRow<'a> = dyn FnMut(&[&str], Vec<SqlValue>) -> Result<(), SqlFault> + 'a;

/// A value of SQL's.
#[derive(Clone, Debug, PartialEq)]
pub enum SqlValue {
    /// Nothing.
    Null,
    /// A whole number.
    Integer(i64),
    /// A number.
    Real(f64),
    /// Text.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

/// Why a statement did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlFault {
    /// What sort of fault it is.
    pub kind: SqlFaultKind,
    /// What happened, for a person.
    pub message: String,
}

/// What sort of fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SqlFaultKind {
    /// It breaks a constraint: unique, not null, check, a foreign key.
    Constraint,
    /// It is not for code in a transaction: it names our tables, or begins, ends or configures something.
    Refused,
    /// It sends more than a transaction may.
    Limit,
    /// The time is over.
    TimedOut,
    /// The store is in trouble; whatever the code makes of it, it is run again.
    Store,
    /// It cannot be read, or names what is not there, or was given other values than it takes.
    Statement,
}

impl SqlFault {
    /// A fault of this sort.
    pub fn new(kind: SqlFaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

impl fmt::Display for SqlFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for SqlFault {}

impl fmt::Debug for Script {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Script").field("claim", &self.claim).field("limit", &self.limit).finish_non_exhaustive()
    }
}
