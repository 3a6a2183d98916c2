//! The store contract: eight methods over bytes.
//!
//! A store applies batches of writes and answers queries. It runs no code of authors (except through [`sql`])
//! and knows no kind (K2).
//!
//! Time is passed in, except for leases: these use the store's own clock, so that workers with different
//! clocks agree. [`Memory`] is the reference implementation, written to be read; [`Sqlite`] is the default.
//! Every store passes the whole suite [`conformance!`](crate::conformance) (K1).
//!
//! # Who calls what, and where
//! The kernel polls each future on a thread of its own, never on a thread that runs the author's code, and
//! never drops a future before it is ready. So a store over a blocking library may simply block in the poll.
//! Several calls may be in flight at once, but only one [`commit`](Store::commit) per worker.
//!
//! # What a store must never do
//! A store must never answer [`Verdict::Applied`] before the write would survive a power cut, apply half of
//! one write, apply a write whose guard does not hold, or assign an epoch twice.

mod batch;
mod claim;
pub mod conformance;
mod counting;
mod error;
mod memory;
pub mod migration;
mod query;
pub mod sql;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::pin::Pin;

pub use batch::{After, Batch, Config, Guard, Once, Outgoing, Remembered, Retry, Touched, Verdict, Write};
pub use claim::{Claimed, HintSender, Hints, Lease, Want, Worker};
pub use counting::{Counting, StoreCounts};
pub use error::{Applied, StoreError, StoreErrorKind};
pub use memory::{Memory, Savepoints};
pub use query::{Cursor, Found, Letter, Page, Query, Read, Ready, Woken};
#[cfg(feature = "sqlite")]
pub use sqlite::{Sqlite, SqliteOptions};

use crate::Millis;

/// The future in which a store answers.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// The storage of entities. The trait is object safe; see the [module](self) for what every store promises.
pub trait Store: Send + Sync + 'static {
    /// Takes, renews or releases leases on partitions, and returns the time of the store's clock (R3).
    ///
    /// A worker can take a partition that has no owner, or whose lease has expired by the store's clock.
    /// Taking more partitions does not affect leases that the worker already has. Taking assigns the next
    /// epoch of the store's one sequence, marks the partition as not ended cleanly, and reports how the
    /// previous owner ended. If the partition was not released in order, the answer has the epoch of its last
    /// owner (W2).
    ///
    /// Renewing omits a lease from the answer if another worker has taken it. Releasing in order assigns an
    /// epoch that no worker holds, so that a late batch of the former owner is fenced; otherwise releasing
    /// only ends the lease. A store that only one engine can have open ends all leases when it is opened.
    ///
    /// The store keeps and returns the highest time ever reported to it. Taking a partition reports the time
    /// of the store's own clock, but the lease still gets the highest time that the previous owner reported.
    /// So even an owner that dies at once leaves a trace.
    ///
    /// - Postgres: one transaction, `SELECT … FROM partition ORDER BY id FOR UPDATE SKIP LOCKED`, then
    ///   `UPDATE … SET epoch = nextval('epoch')`; `clock_timestamp()` is the clock.
    /// - Redis: one script per partition, `{d:<partition>}:lease`; `TIME` is the clock.
    fn claim<'a>(&'a self, worker: &'a Worker, want: Want) -> Answer<'a, Claimed>;

    /// Performs the reads, all from one snapshot. The answers have the order of `reads`.
    ///
    /// - Postgres: one `REPEATABLE READ` transaction, one statement per sort of read, set-wise by `UNNEST`.
    /// - Redis: one script per key, pipelined; a snapshot per key is enough, because no invariant spans keys.
    fn read<'a>(&'a self, reads: &'a [Read]) -> Answer<'a, Vec<Found>>;

    /// Applies a batch in one transaction and returns the verdict on each write, in order.
    ///
    /// The epochs are checked first. All writes of a partition are fenced, and only those, if the partition
    /// has another epoch, or has already seen a batch of this epoch with this [number](Batch::number) or a
    /// higher one. A write whose partition the batch does not name is refused.
    ///
    /// Then each write is checked and applied alone, beginning with its [guard](Guard). The write is
    /// [`Stale`](Verdict::Stale) and changes nothing if the guard does not hold, if a message that it takes
    /// does not exist, or if a reply that it records is recorded already; the other writes proceed. A write
    /// that breaks a rule of the contract is [`Refused`](Verdict::Refused), also alone.
    ///
    /// An error means that the whole batch was not applied, or that the outcome is unknown: [`Applied`] tells
    /// which.
    ///
    /// - Postgres: `SELECT id, epoch FROM partition WHERE id = ANY($1) ORDER BY id FOR SHARE`; `UPDATE entity
    ///   … FROM UNNEST(…) c WHERE entity.id = c.id AND entity.version = c.expected RETURNING id`; the other
    ///   tables by `UNNEST` filtered by the ids that came back; `NOTIFY` after it, on another connection.
    /// - Redis: one script per write, pipelined: epoch, version, `HSET`, `ZADD` alarm, rows as a sorted set
    ///   and a hash, inbox; a message to another slot goes to an outbox in ours, which its owner moves.
    fn commit<'a>(&'a self, batch: &'a Batch) -> Answer<'a, Vec<Verdict>>;

    /// Returns keys that must be woken: at most `limit` of them, after `after`, in the order that [`Ready`]
    /// specifies.
    ///
    /// - Postgres: a range scan of one partial index per variant, `partition = ANY($1)`.
    /// - Redis: `ZRANGEBYSCORE` on the partition's alarm set, or a scan of its set of active keys.
    fn ready<'a>(&'a self, which: &'a Ready, after: Option<&'a Cursor>, limit: usize) -> Answer<'a, Vec<Woken>>;

    /// Lists entities ordered by id, one page at a time. The order is stable while entities change (R6).
    ///
    /// - Postgres: `WHERE id > $1 … ORDER BY id LIMIT $n`.
    /// - Redis: `ZRANGEBYLEX` on the set of ids of each partition, merged.
    fn list<'a>(&'a self, query: &'a Query) -> Answer<'a, Page>;

    /// Deletes up to `limit` rows that are not visible any more: rows of dropped lanes and of destroyed
    /// entities, and expired remembered replies (K6). Returns the number of deleted rows, including the
    /// store's own notes of what is to be swept: at 0, nothing is left to sweep.
    ///
    /// - Postgres: `DELETE … WHERE ctid IN (SELECT … LIMIT $n)`.
    /// - Redis: `UNLINK` of the keys listed in the partition's `gone` set.
    fn sweep(&self, now: Millis, limit: usize) -> Answer<'_, usize>;

    /// Records a choice that holds for the lifetime of the store, and returns the recorded value.
    ///
    /// If nothing is recorded under `name`, `value` is recorded durably. Otherwise nothing changes: the
    /// earlier value is returned, and the caller decides whether it can work with that. An example is whether
    /// all primitives of an app share one key space. Names and values are short texts.
    ///
    /// - Postgres: `INSERT INTO choice … ON CONFLICT DO NOTHING`, then `SELECT`.
    /// - Redis: `SET choice:<name> … NX`, then `GET`.
    fn choose<'a>(&'a self, name: &'a str, value: &'a str) -> Answer<'a, String>;

    /// Subscribes to hints. A hint names a partition in which a key may have to be woken. A commit that sends
    /// a message to a partition causes a hint, unless the committing worker owns that partition. Hints may be
    /// lost, doubled or late; scans find everything.
    ///
    /// - Postgres: `LISTEN`. Redis: pub/sub.
    fn hints(&self) -> Hints;

    /// Returns the SQL interface of the store, if it has one: such a store can run an author's code in a
    /// transaction (W6). A wrapper around a store must forward this method.
    ///
    /// - Postgres: `Some`. Redis: `None`.
    fn sql(&self) -> Option<&dyn sql::Sql> {
        None
    }
}
