//! What a `#[process]` is given, and what is stored of it.

use drystone_runtime::Mark;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    Failure, Stored, Timestamp,
    author::{Given, HookRun, TakenBy},
    decode,
    kinds::past::{PastError, remember},
    planted::Bug,
    stored::decode_part,
};

/// The hook: `#[process] async fn send(&self, item: Item<Email>, smtp: &Smtp) -> Result<(), E>`.
#[expect(non_camel_case_types, reason = "the compiler's messages show it as the author writes it")]
#[derive(Debug)]
pub enum process {}

/// One item of a queue: what a `#[process]` takes (Q2).
#[derive(Clone, Debug, PartialEq)]
pub struct Item<T> {
    /// Unique in the world, and the same over retries, restarts and replays: an idempotency key for the outside.
    pub id: String,
    /// Its number in this queue, from 1, as `enqueue` told it.
    pub number: u64,
    /// Which execution this is, from 1.
    pub attempt: u32,
    /// What it was enqueued with.
    pub priority: u8,
    /// When it was enqueued.
    pub enqueued_at: Timestamp,
    /// What was enqueued.
    pub value: T,
}

/// The row of an item. Its number is in the row's key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Kept {
    /// The mark of the turn that enqueued it. [`mark_in`] finds it because it is the first field.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::stored::mark")]
    pub(super) mark: Option<Mark>,
    pub(super) at: Timestamp,
    #[serde(default, skip_serializing_if = "crate::stored::is_default")]
    pub(super) priority: u8,
    /// The name by which the outside knows it, if it was a dead letter of another number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    /// Executions that have failed.
    #[serde(default, skip_serializing_if = "crate::stored::is_default")]
    pub(super) failed: u32,
    /// What the last of them failed with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) errors: Vec<PastError>,
    pub(super) item: Box<RawValue>,
}

impl Kept {
    pub(super) fn new(item: Box<RawValue>, priority: u8, at: Timestamp, mark: Mark) -> Self {
        Self { mark: Some(mark), at, priority, id: None, failed: 0, errors: Vec::new(), item }
    }

    /// With one more failed execution.
    pub(super) fn fail(&mut self, attempt: u32, error: &Failure, at: Timestamp) {
        self.failed = attempt;
        remember(&mut self.errors, error, at);
    }
}

/// The mark in the row of an item, without reading the item, which may be long.
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
