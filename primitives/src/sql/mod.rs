//! SQL in the file of the app: tables of the author's own, beside ours (W6).
//!
//! A **transactional step** writes them in the same transaction as the record that it was executed: exactly once, whatever crashes
//! when. It is a plain `fn` with one [`&mut Transaction<'_>`](Transaction), and a body awaits it as any other step:
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
//!     /// Books it, and says what is in the ledger now.
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
//! A **transactional hook** does the same for a tick, a flush, an item, an alarm or the end of an entity. It takes `&self` or `&mut self`, what its
//! kind gives it, and the transaction; what it leaves in the state is a part of the record:
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
//! A **transactional action** does the same for a caller. Its call is recorded before its code runs, so a crash does not lose it. A
//! caller who repeats the call with the same idempotency key gets the same answer, and the rows are written once:
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
//! - What it writes is there if and only if the step has succeeded. If it returns an error, panics or takes too long, nothing of
//!   it is kept, and it is tried again as its policy says. The code itself may be executed more than once: it acts on nothing
//!   but its transaction, so it takes no services.
//! - Nobody else writes meanwhile, so it has little time: a second, or its `timeout`, ten seconds at most. Code that is not in a statement
//!   when the time is over is not stopped, and what it wrote is undone.
//! - A run that was terminated, or that went on without the step (it lost a `select!`), while the step was on its way: its rows are all there or
//!   none is, and none appears after that was acknowledged. A run that is cancelled waits for the step.
//! - Tables are made by [`Builder::schema`](crate::Builder::schema) at every start, by
//!   [`Builder::migrations`](crate::Builder::migrations) once each, or by any transaction. Indexes, views, triggers,
//!   `REINDEX` and `ANALYZE` of those tables work as well. Names that begin with `drystone_` are Drystone's own, and a statement
//!   that names one is refused; every other name is free. Pragmas, temporary tables, other files, and the beginning and the end of
//!   a transaction are refused, too. A refusal names the statement and the object.
//! - [`Runtime::transaction`](crate::Runtime::transaction) reads and writes the same tables outside of a workflow. Any other program may open the file to read.
//! - An action that fails gives its caller the error, and is not tried again. An action that a message asked for is tried three times;
//!   then the message is a dead letter.
//! - 256 transactional actions of an entity may wait at once. A call beyond that gets `Overloaded`; a message is delivered again later.
//! - It needs a store with SQL: over another, `start` is refused with the name of the step, hook or action.
//!
//! # How it is done
//! The step's own commit puts a row that says that the step is waited for. The transaction looks whether that row is there, as it was, and the
//! entity ours; it runs the code in a savepoint, and puts what the code returned into the row. That is the step's record: a turn takes it into
//! the journal and removes the row. A crash in between executes the step again, which finds the record, and its code is not run. Whatever lets the step go (the run's
//! end, a `select!`) removes the row in its own commit. So it costs one more transaction than another step, which all that wait share; in
//! return no code of an author's runs within a turn or in the batch of other entities, and a batch is still written again without a thought when the answer of the store
//! was lost.

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
