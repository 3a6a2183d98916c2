//! The store contract: bytes in, bytes out, eight methods.
//!
//! A store applies batches of writes and answers questions; it runs no code of anyone's (but [`sql`]) and knows no kind
//! (K2). Time is passed in, except for leases, where the store's own clock counts, so that workers with
//! different clocks agree. [`Memory`] is the reference, written to be read; [`Sqlite`] is the default. Every
//! store passes [`conformance!`](crate::conformance), all of it (K1).
//!
//! # Who calls what, and where
//! The kernel polls each future on a thread of its own, never on one that runs the author's code, and never
//! drops one half-way. So a store over a blocking library may simply block in the poll. Several calls may be
//! under way at once, but only one [`commit`](Store::commit) per worker.
//!
//! # What a store must never do
//! Answer [`Verdict::Applied`] before the write would survive a power cut; apply half of one write; apply a
//! write whose guard does not hold; give out an epoch twice.

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

/// The answer of a store, to be awaited.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Where entities live. Object safe; see the [module](self) for what every store promises.
pub trait Store: Send + Sync + 'static {
    /// Takes, renews or releases leases on partitions, and tells the time by the store's clock (R3).
    ///
    /// A partition can be taken if nobody owns it, or its lease is over by the store's clock; who takes more keeps
    /// what it has. Taking gives it the next epoch of the store's one sequence, marks it as not ended cleanly and
    /// says how the previous owner ended. Renewing a lease that was taken by another leaves it out of the answer.
    /// Releasing in order gives it an epoch that nobody holds, so a late batch of who gave it up is fenced; otherwise it only
    /// ends the lease. Whoever takes a partition that was not released in order learns the epoch of its last owner (W2). A store that
    /// only one engine can have open ends all leases when it is opened. The highest time ever told to the store
    /// is kept and returned; taking tells it the store's own clock, after the lease was given what the previous
    /// owner told, so that an owner who dies at once has been there.
    ///
    /// - Postgres: one transaction, `SELECT … FROM partition ORDER BY id FOR UPDATE SKIP LOCKED`, then
    ///   `UPDATE … SET epoch = nextval('epoch')`; `clock_timestamp()` is the clock.
    /// - Redis: one script per partition, `{d:<partition>}:lease`; `TIME` is the clock.
    fn claim<'a>(&'a self, worker: &'a Worker, want: Want) -> Answer<'a, Claimed>;

    /// Reads, all from one snapshot, in the order asked.
    ///
    /// - Postgres: one `REPEATABLE READ` transaction, one statement per sort of read, set-wise by `UNNEST`.
    /// - Redis: one script per key, pipelined; a snapshot per key is enough, for nothing spans keys.
    fn read<'a>(&'a self, reads: &'a [Read]) -> Answer<'a, Vec<Found>>;

    /// Applies a batch in one transaction and says of each write what became of it, in order.
    ///
    /// First the epochs: a partition whose epoch differs, or that has seen a batch of this epoch with this
    /// [number](Batch::number) or a higher one, fences all its writes, and only those; a write whose partition is
    /// not named is refused. Then each write alone: its [guard](Guard) first; if it does not hold, or a message it takes is not there, the
    /// write is [`Stale`](Verdict::Stale) and changes nothing; the others go on. A write that breaks a rule
    /// of the contract is [`Refused`](Verdict::Refused) alone, too. An error means that the whole batch was
    /// not applied, or that this is not known: [`Applied`] says which.
    ///
    /// - Postgres: `SELECT id, epoch FROM partition WHERE id = ANY($1) ORDER BY id FOR SHARE`; `UPDATE entity …
    ///   FROM UNNEST(…) c WHERE entity.id = c.id AND entity.version = c.expected RETURNING id`; the other
    ///   tables by `UNNEST` filtered by the ids that came back; `NOTIFY` after it, on another connection.
    /// - Redis: one script per write, pipelined: epoch, version, `HSET`, `ZADD` alarm, rows as a sorted set and
    ///   a hash, inbox; a message to another slot goes to an outbox in ours, which its owner moves.
    fn commit<'a>(&'a self, batch: &'a Batch) -> Answer<'a, Vec<Verdict>>;

    /// What must be woken: at most `limit` of them, after `after`, in the order that [`Ready`] names.
    ///
    /// - Postgres: a range scan of one partial index per variant, `partition = ANY($1)`.
    /// - Redis: `ZRANGEBYSCORE` on the partition's alarm set, or a scan of its set of active keys.
    fn ready<'a>(&'a self, which: &'a Ready, after: Option<&'a Cursor>, limit: usize) -> Answer<'a, Vec<Woken>>;

    /// Lists entities, by id, a page at a time; stable while others change (R6).
    ///
    /// - Postgres: `WHERE id > $1 … ORDER BY id LIMIT $n`.
    /// - Redis: `ZRANGEBYLEX` on the set of ids of each partition, merged.
    fn list<'a>(&'a self, query: &'a Query) -> Answer<'a, Page>;

    /// Deletes up to `limit` rows that nobody can see any more: of dropped lanes, of destroyed entities,
    /// remembered replies past their time (K6). Returns how many it deleted, its own notes of what is to be
    /// swept included: nothing is left when it returns 0.
    ///
    /// - Postgres: `DELETE … WHERE ctid IN (SELECT … LIMIT $n)`.
    /// - Redis: `UNLINK` of the keys listed in the partition's `gone` set.
    fn sweep(&self, now: Millis, limit: usize) -> Answer<'_, usize>;

    /// Records a choice that is made once and holds for as long as the store, and answers the recorded one.
    ///
    /// If nothing is recorded under `name`, `value` is recorded, durably. Otherwise nothing changes: the earlier
    /// value is answered, and the caller decides whether it can work with it. An example is whether all primitives
    /// of an app share one space of keys. Names and values are short texts.
    ///
    /// - Postgres: `INSERT INTO choice … ON CONFLICT DO NOTHING`, then `SELECT`.
    /// - Redis: `SET choice:<name> … NX`, then `GET`.
    fn choose<'a>(&'a self, name: &'a str, value: &'a str) -> Answer<'a, String>;

    /// «Look at partition p»: whoever commits a message to a partition hints at it, unless its owner is the one who does. A hint
    /// may be lost, doubled or late; scans are the truth.
    ///
    /// - Postgres: `LISTEN`. Redis: pub/sub.
    fn hints(&self) -> Hints;

    /// The store as one that speaks SQL, if it does: it can run an author's code in a transaction (W6). Whoever wraps a store
    /// passes this on.
    ///
    /// - Postgres: does. Redis: does not.
    fn sql(&self) -> Option<&dyn sql::Sql> {
        None
    }
}
