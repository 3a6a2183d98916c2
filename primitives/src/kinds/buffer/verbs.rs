//! What callers of a buffer hold.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Batch, Reduced};
use crate::{Args, Call, Failure, Primitive, Stored, Timestamp};

crate::verbs! {
    /// The verbs of a buffer, beside those of every entity. `I` is what its `#[flush]` takes: [`Batch<Item>`](Batch), or
    /// [`Reduced<Item>`](Reduced) with a `#[reduce]`.
    pub struct Verbs;
}

/// What `add` did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Added {
    /// How many items its batch has now, this one included.
    pub buffered: u64,
    /// When that batch is closed at the latest; now, if this item closed it.
    pub flushes_at: Timestamp,
}

/// The buffer is full: nothing was added, and nothing that it has is lost (B8). Try again when batches have been flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("the buffer is full: {what} would be more than {limit}; try again when batches have been flushed")]
pub struct Full {
    /// What there is too much of.
    pub what: Capped,
    /// How much there may be.
    pub limit: u64,
}

/// What a buffer may have only so much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capped {
    /// Items in all batches: `max_stored`.
    Items,
    /// Bytes of them: `max_stored_bytes`.
    Bytes,
    /// Batches that are closed and not flushed yet.
    Batches,
}

impl fmt::Display for Capped {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Items => "stored items",
            Self::Bytes => "stored bytes",
            Self::Batches => "closed batches",
        })
    }
}

/// How a batch ended that somebody asked to flush.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flushed {
    /// How many items it had.
    pub count: u64,
    /// What became of them.
    pub result: FlushResult,
}

/// What became of a batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlushResult {
    /// Its flush succeeded; or there was nothing to flush.
    Flushed,
    /// Its flush failed in every attempt, the last time with this error: it is a dead letter.
    Dead(Failure),
    /// Somebody called `clear` before it was flushed.
    Cleared,
}

impl<T: Primitive, I> Verbs<T, I> {
    /// Closes the batch that is open, and answers when it has ended: flushed, or dead after its last attempt; a caller who
    /// will not wait so long sets a [`deadline`](Call::deadline). If none is open it answers when the last batch that was
    /// closed has ended; if there is none either, at once with a count of 0, and nothing is called (B6).
    pub fn flush(&self) -> Call<Flushed> {
        self.address().call("flush", Args::new())
    }

    /// Drops every item that is not in flight, and says how many: those of the open batch, of batches that wait for their
    /// turn, and of those that wait to be tried again (B6).
    pub fn clear(&self) -> Call<u64> {
        self.address().call("clear", Args::new())
    }
}

impl<T: Primitive, I: Stored> Verbs<T, Batch<I>> {
    /// Adds an item; it is durable when this answers (B2). Binds the key if a state can be made (E1).
    #[expect(clippy::needless_pass_by_value, reason = "an item is handed over")]
    pub fn add(&self, item: I) -> Call<Added, Full> {
        self.address().call("add", Args::new().put(&item))
    }
}

impl<T: Primitive, I: Stored> Verbs<T, Reduced<I>> {
    /// Folds an item in; it is durable when this answers (B2, B7). Binds the key if a state can be made (E1).
    #[expect(clippy::needless_pass_by_value, reason = "an item is handed over")]
    pub fn add(&self, item: I) -> Call<Added, Full> {
        self.address().call("add", Args::new().put(&item))
    }
}
