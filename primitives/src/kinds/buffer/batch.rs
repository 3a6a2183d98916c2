//! The input of a `#[flush]`.

use serde::{Deserialize, Serialize};

use crate::{
    Stored,
    author::{FoldedFrom, Given, TakenBy},
    decode,
    values::stored::decode_part,
};

/// The hook: `#[flush] async fn push(&mut self, batch: Batch<Contact>, crm: &Crm) -> Result<(), E>`.
#[expect(non_camel_case_types, reason = "the compiler's messages show it as the author writes it")]
#[derive(Debug)]
pub enum flush {}

/// Why a batch was closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The batch had waited for `max_wait`.
    #[default]
    Deadline,
    /// The batch had `max_items`.
    Capacity,
    /// A caller asked for a `flush`.
    Manual,
    /// The batch was a dead letter and is replayed.
    Replay,
}

/// One batch, as a `#[flush]` takes it: its items in order of arrival (B4).
#[derive(Clone, Debug, PartialEq)]
pub struct Batch<T> {
    /// The id of the batch: unique in the world, and the same over retries, restarts and replays. Use it as
    /// an idempotency key for other systems.
    pub id: String,
    /// The number of the batch in this buffer, from 1.
    pub number: u64,
    /// Why the batch was closed.
    pub reason: Reason,
    /// The number of this execution of the flush, from 1.
    pub attempt: u32,
    /// The items.
    pub items: Vec<T>,
}

/// The folded value of one batch, as a `#[flush]` takes it beside a `#[reduce]` (B7).
#[derive(Clone, Debug, PartialEq)]
pub struct Folded<V> {
    /// The id of the batch: unique in the world, and the same over retries, restarts and replays. Use it as
    /// an idempotency key for other systems.
    pub id: String,
    /// The number of the batch in this buffer, from 1.
    pub number: u64,
    /// Why the batch was closed.
    pub reason: Reason,
    /// The number of this execution of the flush, from 1.
    pub attempt: u32,
    /// How many items were folded.
    pub count: u64,
    /// The folded value.
    pub value: V,
}

/// Marks the handle of a buffer with a `#[reduce]` whose items are `I`. The type has no values.
#[derive(Debug)]
pub struct Reduced<I>(std::marker::PhantomData<fn() -> I>);

/// The facts about a batch that the kind gives its flush.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Told {
    pub(super) id: String,
    pub(super) number: u64,
    pub(super) reason: Reason,
    pub(super) attempt: u32,
    pub(super) count: u64,
}

impl<T: Stored> TakenBy<flush> for Batch<T> {
    fn take(given: Given) -> Result<Self, String> {
        let Told { id, number, reason, attempt, count } = decode(&given.body)?;
        // An incomplete batch is refused, because its author would take it for the whole batch.
        if given.rows.len() as u64 != count {
            return Err(format!("the batch has {count} items, and {} were found", given.rows.len()));
        }
        let item = |(index, row): (usize, &bytes::Bytes)| decode_part(&format!("items[{index}]"), row);
        let items = given.rows.iter().enumerate().map(item).collect::<Result<_, _>>()?;
        Ok(Self { id, number, reason, attempt, items })
    }

    fn check_item(item: &[u8]) -> Result<(), String> {
        decode::<T>(item).map(drop)
    }
}

impl<V: Stored> TakenBy<flush> for Folded<V> {
    fn take(given: Given) -> Result<Self, String> {
        let Told { id, number, reason, attempt, count } = decode(&given.body)?;
        let [row] = given.rows.as_slice() else {
            return Err(format!("a folded value is one row, and there are {}", given.rows.len()));
        };
        let value = decode_part("value", row)?;
        Ok(Self { id, number, reason, attempt, count, value })
    }
}

impl<V> FoldedFrom<V> for Folded<V> {}
