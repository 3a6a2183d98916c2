//! The input of a `#[process]`, and the stored row of an item.

use drystone_runtime::Mark;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    Failure, Stored, Timestamp,
    author::{Given, HookRun, TakenBy},
    decode,
    kinds::past::{PastError, remember},
    planted::Bug,
    values::stored::decode_part,
};

/// The hook: `#[process] async fn send(&self, item: Item<Email>, smtp: &Smtp) -> Result<(), E>`.
#[expect(non_camel_case_types, reason = "the compiler's messages show it as the author writes it")]
#[derive(Debug)]
pub enum process {}

/// One item of a queue, as a `#[process]` takes it (Q2).
#[derive(Clone, Debug, PartialEq)]
pub struct Item<T> {
    /// The id of the item: unique in the world, and the same over retries, restarts and replays. Use it as
    /// an idempotency key for other systems.
    pub id: String,
    /// The number of the item in this queue, from 1, as `enqueue` returned it.
    pub number: u64,
    /// The number of this execution, from 1.
    pub attempt: u32,
    /// The priority with which the item was enqueued.
    pub priority: u8,
    /// When the item was enqueued.
    pub enqueued_at: Timestamp,
    /// The enqueued value.
    pub value: T,
}

/// The stored row of an item. The number of the item is in the row's key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Kept {
    /// The mark of the turn that enqueued the item. It must be the first field, because [`mark_in`] looks
    /// for it there.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::values::stored::mark")]
    pub(super) mark: Option<Mark>,
    pub(super) at: Timestamp,
    #[serde(default, skip_serializing_if = "crate::values::stored::is_default")]
    pub(super) priority: u8,
    /// The id of the item for other systems, if the item was a dead letter with another number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    /// Executions that have failed.
    #[serde(default, skip_serializing_if = "crate::values::stored::is_default")]
    pub(super) failed: u32,
    /// The last errors of these executions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) errors: Vec<PastError>,
    pub(super) item: Box<RawValue>,
}

impl Kept {
    pub(super) fn new(item: Box<RawValue>, priority: u8, at: Timestamp, mark: Mark) -> Self {
        Self { mark: Some(mark), at, priority, id: None, failed: 0, errors: Vec::new(), item }
    }

    /// Records one more failed execution.
    pub(super) fn fail(&mut self, attempt: u32, error: &Failure, at: Timestamp) {
        self.failed = attempt;
        remember(&mut self.errors, error, at);
    }
}

/// Returns the mark in the row of an item without decoding the item, which may be long.
pub(super) fn mark_in(row: &[u8]) -> Option<Mark> {
    let rest = row.strip_prefix(br#"{"mark":""#)?;
    let end = rest.iter().position(|byte| *byte == b'"')?;
    std::str::from_utf8(&rest[..end]).ok()?.parse().ok()
}

impl<T: Stored> TakenBy<process> for Item<T> {
    fn take(given: Given) -> Result<Self, String> {
        let HookRun { id, number, attempt } = given.run.unwrap_or_default();
        let [row] = given.rows.as_slice() else {
            return Err(format!("an item is one row, and there are {}", given.rows.len()));
        };
        let Kept { at, priority, id: renamed, item, .. } = decode(row)?;
        let value = decode_part("item", item.get().as_bytes())?;
        let id = if Bug::ItemRenamed.planted() { format!("{id}{}", attempt - 1) } else { id };
        Ok(Self { id: renamed.unwrap_or(id), number, attempt, priority, enqueued_at: at, value })
    }

    fn check_item(item: &[u8]) -> Result<(), String> {
        decode::<T>(item).map(drop)
    }
}
