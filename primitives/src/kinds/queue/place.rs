//! Where the rows of items are: lanes, and row keys whose order is the order in which items start.

use bytes::Bytes;
use drystone_runtime::{Millis, Range, Row, RowKey, key_after};
use serde::{Deserialize, Serialize};

use crate::kind::{Items, Stop};

/// Items that wait, and running items that never failed: by priority, then in the order in which they joined
/// the line.
pub(super) const LINE: &str = "line";

/// Items that were enqueued with a delay, by the time at which they join the line.
pub(super) const DELAYED: &str = "delayed";

/// Items that have failed and wait for a retry, by the time of the retry.
pub(super) const RETRY: &str = "retry";

/// Items that have failed and run again, or hold up others until they do: by number.
pub(super) const AGAIN: &str = "again";

/// Dedup keys, by key: see `once.rs`.
pub(super) const ONCE: &str = "once";

/// Dedup keys, by the time at which they expire.
pub(super) const FADES: &str = "fades";

/// The place of an item in the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u8, u64, u64)", into = "(u8, u64, u64)")]
pub(super) struct Place {
    pub(super) priority: u8,
    /// How many items had joined the line, this item included.
    pub(super) joined: u64,
    pub(super) number: u64,
}

/// Stored as an array: see `written.rs`.
impl From<(u8, u64, u64)> for Place {
    fn from((priority, joined, number): (u8, u64, u64)) -> Self {
        Self { priority, joined, number }
    }
}

impl From<Place> for (u8, u64, u64) {
    fn from(Place { priority, joined, number }: Place) -> Self {
        (priority, joined, number)
    }
}

impl Place {
    /// Returns the row key, in which higher priorities come first.
    pub(super) fn key(self) -> RowKey {
        let Self { priority, joined, number } = self;
        [&[u8::MAX - priority][..], &joined.to_be_bytes(), &number.to_be_bytes()].concat().into()
    }

    pub(super) fn of(row: &Row) -> Result<Self, Stop> {
        let (first, rest) = row.key.split_first().ok_or_else(|| misplaced(row))?;
        let (joined, number) = numbers(rest).ok_or_else(|| misplaced(row))?;
        Ok(Self { priority: u8::MAX - *first, joined, number })
    }

    /// Returns the first row key after this place.
    pub(super) fn after(self) -> RowKey {
        key_after(&self.key())
    }
}

/// Returns the row key of an item that waits for a time.
pub(super) fn due_key(at: Millis, number: u64) -> RowKey {
    [at.0.to_be_bytes(), number.to_be_bytes()].concat().into()
}

/// Reads the time that an item waits for, and its number.
pub(super) fn due(row: &Row) -> Result<(Millis, u64), Stop> {
    let (at, number) = numbers(&row.key).ok_or_else(|| misplaced(row))?;
    Ok((Millis(at.cast_signed()), number))
}

pub(super) fn number_key(number: u64) -> RowKey {
    Bytes::copy_from_slice(&number.to_be_bytes())
}

fn numbers(bytes: &[u8]) -> Option<(u64, u64)> {
    let (first, second) = bytes.split_at_checked(8)?;
    Some((u64::from_be_bytes(first.try_into().ok()?), u64::from_be_bytes(second.try_into().ok()?)))
}

fn misplaced(row: &Row) -> Stop {
    Stop::Malformed(format!("a row of the lane {} has the key {}", row.lane, row.key.escape_ascii()))
}

/// The row of a running item: lane and key.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    pub(super) lane: &'static str,
    pub(super) key: RowKey,
}

impl Spot {
    pub(super) fn range(&self) -> Range {
        Range::at(self.lane, self.key.clone())
    }

    pub(super) fn items(&self) -> Items {
        Items { of: None, lane: self.lane.into(), row: Some(self.key.to_vec()) }
    }
}
