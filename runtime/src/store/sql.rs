//! SQL beside the store contract: a store with SQL can run an author's code in a transaction, together with
//! the record of its result (W6).
//!
//! A [`Script`] takes effect **once**. It names a row of an entity, and the content of that row before the
//! script has run. In one transaction the store checks that the entity is owned by the caller and that the
//! row has that content, runs the code in a savepoint, and writes the code's result into the row.
//!
//! If the script is sent again (after a crash or a lost answer), the store finds the result in the row and
//! does not run the code. A caller that does not need the result any more removes the row in a commit of its
//! own, and from then on the code is not run. So turns and batches need not know about scripts: the rows of
//! an entity are all that they share.

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;

use super::{
    Answer, Outgoing,
    migration::{Migration, MigrationFault},
};
use crate::{Epoch, Key, Lane, Message, Millis, Outcome, Partition, RowKey, Version};

/// A store that can run code in a transaction.
pub trait Sql: Send + Sync {
    /// Runs the scripts, in one transaction if possible, and returns the result of each, in order.
    ///
    /// Scripts are isolated: one that fails, panics, takes too long or spoils the transaction leaves no rows,
    /// and the others run as if it had not been there. To achieve this, the store may run code more than
    /// once; what the code writes is kept once.
    ///
    /// An error means that nothing was written, or that the outcome is unknown. In both cases scripts with a
    /// claim can be sent again unchanged.
    fn transact<'a>(&'a self, scripts: &'a [Script]) -> Answer<'a, Vec<Scripted>>;

    /// Applies the migrations that this file has not had, in order. A migration and its record are written in
    /// the same transaction. The kernel calls this before any script is run.
    fn migrate<'a>(&'a self, list: &'a [Migration]) -> Answer<'a, Result<(), MigrationFault>>;
}

/// Code to be run in a transaction.
#[derive(Clone)]
pub struct Script {
    /// The row that makes the script run once. Without a claim the script runs as often as it is sent.
    pub claim: Option<Claim>,
    /// The partition and epoch that the script needs besides its claim. If another owner has the partition,
    /// the code is not run.
    pub fence: Option<(Partition, Epoch)>,
    /// The time limit for the code. It is needed because nothing else can be written meanwhile.
    pub limit: Duration,
    /// The code. The code returns a result, or the outcome of a failure; after a failure, none of its writes
    /// are kept.
    pub code: ScriptCode,
}

/// The code of a [`Script`].
pub type ScriptCode = Arc<dyn Fn(&mut dyn Statements) -> Result<Bytes, Box<Outcome>> + Send + Sync>;

/// The row that records whether a script was run, and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The partition of the entity, and the epoch under which the caller owns it.
    pub owned: (Partition, Epoch),
    /// The entity.
    pub entity: Version,
    /// The lane of the row.
    pub lane: Lane,
    /// The key of the row.
    pub key: RowKey,
    /// The content of the row while the script has not been run.
    pub before: Bytes,
}

/// The result of a script.
#[derive(Clone, Debug)]
pub enum Scripted {
    /// The code ran, now or earlier, and returned this. The result and everything that the code wrote are
    /// durable.
    Done(Bytes),
    /// The code ended without a result; nothing that it wrote is kept.
    Ended(Outcome),
    /// The row does not exist any more, so the code was not run.
    Gone,
    /// The partition has another owner, so the code was not run.
    Fenced,
}

/// The operations of code in a transaction.
pub trait Statements {
    /// Runs one statement and returns the number of rows that it changed: 0 for a data definition.
    fn execute(&mut self, sql: &str, values: &[SqlValue]) -> Result<usize, SqlFault>;

    /// Runs one query and passes each of its rows to `each`: the names of the columns, and the values.
    fn query(&mut self, sql: &str, values: &[SqlValue], each: &mut EachRow<'_>) -> Result<(), SqlFault>;

    /// Runs several statements without parameters.
    fn batch(&mut self, sql: &str) -> Result<(), SqlFault>;

    /// Sends a message as a part of the transaction (M6). Code that is only rehearsed sends nothing.
    fn send(&mut self, _message: Message) -> Result<(), SqlFault> {
        Ok(())
    }

    /// Puts a message into the inbox of its receiver, unless it exists there. Only the kernel calls this,
    /// because it assigns the ids of messages.
    fn put_message(&mut self, _from: &Key, _now: Millis, _message: &Outgoing) -> Result<(), SqlFault> {
        Err(SqlFault::new(SqlFaultKind::Refused, "this store takes no messages in a transaction"))
    }
}

/// The function that receives the rows of a query.
pub type EachRow<'a> = dyn FnMut(&[&str], Vec<SqlValue>) -> Result<(), SqlFault> + 'a;

/// A value of an SQL statement.
#[derive(Clone, Debug, PartialEq)]
pub enum SqlValue {
    /// SQL's `NULL`.
    Null,
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Real(f64),
    /// Text.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

/// Why a statement failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlFault {
    /// The category of the fault.
    pub kind: SqlFaultKind,
    /// A description for a person.
    pub message: String,
}

/// The category of an [`SqlFault`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SqlFaultKind {
    /// The statement breaks a constraint: unique, not null, check, a foreign key.
    Constraint,
    /// The statement is not allowed in a transaction: it names tables of Drystone, or begins, ends or
    /// configures something.
    Refused,
    /// The transaction sends more messages than allowed.
    Limit,
    /// The time limit has passed.
    TimedOut,
    /// The store has a problem. The code is run again, however it handles this fault.
    Store,
    /// The statement has an error: it cannot be parsed, names something that does not exist, or has the wrong
    /// parameters.
    Statement,
}

impl SqlFault {
    /// Makes a fault of this category.
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
