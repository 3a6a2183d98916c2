//! The verbs of a buffer.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Batch, Reduced};
use crate::{Args, Call, Failure, Primitive, Stored, Timestamp};

crate::verbs! {
    /// The verbs of a buffer, beside those of every entity. `I` is the input of its `#[flush]`:
    /// [`Batch<Item>`](Batch), or [`Reduced<Item>`](Reduced) with a `#[reduce]`.
    pub struct Verbs;
}

/// The answer of `add`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Added {
    /// How many items the batch has, this item included.
    pub buffered: u64,
    /// When the batch closes at the latest; the present time if this item closed it.
    pub flushes_at: Timestamp,
}

/// The buffer is full: nothing was added, and no stored item is lost (B8). Try again when batches have been
/// flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("the buffer is full: {what} would be more than {limit}; try again when batches have been flushed")]
pub struct Full {
    /// The limit that was reached.
    pub what: Capped,
    /// The value of that limit.
    pub limit: u64,
}

/// The limits of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capped {
    /// Items in all batches: `max_stored`.
    Items,
    /// Bytes in all batches: `max_stored_bytes`.
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

/// The end of a batch, for the caller of `flush`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flushed {
    /// How many items the batch had.
    pub count: u64,
    /// How the batch ended.
    pub result: FlushResult,
}

/// How a batch ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlushResult {
    /// The flush succeeded, or there was nothing to flush.
    Flushed,
    /// The flush failed in every attempt, the last time with this error. The batch is a dead letter.
    Dead(Failure),
    /// A caller cleared the buffer before the batch was flushed.
    Cleared,
}

impl<T: Primitive, I> Verbs<T, I> {
    /// Closes the open batch, and answers when the batch has ended: flushed, or dead after its last attempt.
    /// A caller who does not want to wait that long sets a [`deadline`](Call::deadline). If no batch is
    /// open, the call answers when the last closed batch has ended. If there is no closed batch either, the
    /// call answers at once with a count of 0, and nothing is flushed (B6).
    pub fn flush(&self) -> Call<Flushed> {
        self.address().call("flush", Args::new())
    }

    /// Drops every item that is not in flight: items of the open batch, of batches that wait for their turn,
    /// and of batches that wait for a retry. Returns how many items were dropped (B6).
    pub fn clear(&self) -> Call<u64> {
        self.address().call("clear", Args::new())
    }
}

impl<T: Primitive, I: Stored> Verbs<T, Batch<I>> {
    /// Adds an item, which is durable when this call answers (B2). Binds the key if a state can be made
    /// (E1).
    #[expect(clippy::needless_pass_by_value, reason = "an item is handed over")]
    pub fn add(&self, item: I) -> Call<Added, Full> {
        self.address().call("add", Args::new().put(&item))
    }
}

impl<T: Primitive, I: Stored> Verbs<T, Reduced<I>> {
    /// Folds an item in, which is durable when this call answers (B2, B7). Binds the key if a state can be
    /// made (E1).
    #[expect(clippy::needless_pass_by_value, reason = "an item is handed over")]
    pub fn add(&self, item: I) -> Call<Added, Full> {
        self.address().call("add", Args::new().put(&item))
    }
}
