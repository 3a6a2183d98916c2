//! SQL in the file of the app: tables of the author's own, beside those of Drystone (W6).
//!
//! A **transactional step** writes these tables in the same transaction as the record that the step was
//! executed: exactly once, whenever a crash comes. The step is a plain `fn` with one
//! [`&mut Transaction<'_>`](Transaction), and a body awaits it like any other step:
//!
//! ```
//! use drystone::{Failure, Flow, Primitives, Transaction, testing::World, workflow};
//! # use serde::{Deserialize, Serialize};
//!
//! #[derive(Default, Serialize, Deserialize)]
//! struct Sale;
//!
//! #[workflow]
//! impl Sale {
//!     async fn run(flow: &Flow<Self>, cents: u64) -> Result<i64, Failure> {
//!         flow.book(cents).await
//!     }
//!
//!     /// Books an amount and returns the sum of the ledger.
//!     #[step(transaction)]
//!     fn book(cents: u64, sql: &mut Transaction<'_>) -> Result<i64, Failure> {
//!         sql.execute("INSERT INTO ledger (cents) VALUES (?1)", (cents,))?;
//!         Ok(sql.query_one("SELECT sum(cents) FROM ledger", (), |row| row.get(0))?)
//!     }
//! }
//!
//! #[derive(Primitives)]
//! struct App {
//!     sale: Sale,
//! }
//!
//! # drystone::testing::block_on(async {
//! // In the program: `Runtime::sqlite("app.db").schema("CREATE TABLE IF NOT EXISTS ..").start::<App>()`
//! let world = World::sqlite().schema("CREATE TABLE IF NOT EXISTS ledger (cents INTEGER NOT NULL)").start::<App>().await;
//! let sale = world.client().sale("7");
//! sale.start(42).await.unwrap();
//! assert_eq!(sale.result().await.unwrap(), 42);
//! # });
//! ```
//!
//! A **transactional hook** does the same for a tick, a flush, an item, an alarm or the end of an entity. It
//! takes `&self` or `&mut self`, the input of its kind, and the transaction. Its changes to the state are a
//! part of the record:
//!
//! ```
//! # use drystone::{Batch, SqlError, Transaction, primitive};
//! # use serde::{Deserialize, Serialize};
//! #[derive(Default, Serialize, Deserialize)]
//! struct Usage {
//!     total: u64,
//! }
//!
//! #[primitive(buffer, max_items = 100, max_wait = "5s")]
//! impl Usage {
//!     #[flush(transaction, max_attempts = 10)]
//!     fn flush(&mut self, batch: Batch<u64>, sql: &mut Transaction<'_>) -> Result<(), SqlError> {
//!         self.total += batch.items.iter().sum::<u64>();
//!         sql.execute("INSERT INTO usage (batch, total) VALUES (?1, ?2)", (&batch.id, self.total)).map(drop)
//!     }
//! }
//! ```
//!
//! A **transactional action** does the same for a caller. Its call is recorded before its code runs, so a
//! crash does not lose the call. A caller that repeats the call with the same idempotency key gets the same
//! answer, and the rows are written once:
//!
//! ```
//! # use drystone::{SqlError, Transaction, primitive};
//! # use serde::{Deserialize, Serialize};
//! #[derive(Default, Serialize, Deserialize)]
//! struct Account {
//!     cents: i64,
//! }
//!
//! #[primitive(object)]
//! impl Account {
//!     #[action(transaction)]
//!     fn book(&mut self, cents: i64, sql: &mut Transaction<'_>) -> Result<i64, SqlError> {
//!         sql.execute("INSERT INTO bookings (cents) VALUES (?1)", (cents,))?;
//!         self.cents += cents;
//!         Ok(self.cents)
//!     }
//! }
//! ```
//!
//! # What holds
//! - The rows of the code are there if and only if the step has succeeded. If the code returns an error,
//!   panics or takes too long, none of its writes are kept, and the step is retried by its policy. The code
//!   itself may run more than once. The code must act on its transaction only, so services are refused.
//! - No other write can happen while the code runs, so the code has little time: a second, or its `timeout`,
//!   ten seconds at most. Code that is not in a statement when the time is over is not stopped, and its
//!   writes are undone.
//! - A run may be terminated, or continue without the step (after a lost `select!`), while the step is in
//!   flight. Then either all rows of the step are kept or no row, and no row appears after the change was
//!   acknowledged. A run that is cancelled waits for the step.
//! - Tables are made by [`Builder::schema`](crate::Builder::schema) at every start, by
//!   [`Builder::migrations`](crate::Builder::migrations) once each, or by any transaction. Indexes, views,
//!   triggers, `REINDEX` and `ANALYZE` of those tables work as well. Names that begin with `drystone_` are
//!   Drystone's own, and a statement that uses one is refused; every other name is free. Pragmas, temporary
//!   tables, other files, and the beginning and the end of a transaction are refused, too. A refusal names
//!   the statement and the object.
//! - [`Runtime::transaction`](crate::Runtime::transaction) reads and writes the same tables outside of a
//!   workflow. Any other program may open the file to read.
//! - A failed action returns the error to its caller, and is not retried. An action that a message asked for
//!   is tried three times; then the message is a dead letter.
//! - Up to 256 transactional actions of an entity may wait at once. A further call gets `Overloaded`; a
//!   further message is delivered again later.
//! - Transactional code needs a store with SQL. Over another store, `start` is refused with the name of the
//!   step, hook or action.
//!
//! # How it is done
//! The step's own commit puts a row, which records that the step is waited for. The transaction checks that
//! the row is unchanged, and that this worker still owns the entity. The transaction then runs the code in a
//! savepoint, and puts the return value of the code into the row. The row is now the record of the step: a
//! turn takes it into the journal and removes the row. After a crash in between, the step runs again and
//! finds the record, so its code does not run. A commit that releases the step (the run's end, a `select!`)
//! also removes the row.
//!
//! A transactional step therefore costs one transaction more than a plain step; all waiting steps share this
//! transaction. In return, author code runs neither within a turn nor in the batch of other entities. A
//! batch can therefore be written again without side effects when the answer of the store was lost.

mod error;
mod params;
mod row;
mod schema;
mod transaction;

pub use error::{SqlError, SqlErrorKind};
pub use params::{SqlParam, SqlParams};
pub use row::{FromSql, SqlColumn, SqlRow};
pub use transaction::Transaction;

pub use drystone_runtime::store::sql::SqlValue;

pub(crate) use schema::{Tables, beside};
