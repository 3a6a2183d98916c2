//! The stored record of a buffer, and its status.

use drystone_runtime::{Mark, Millis, Version};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Options, Reason};
use crate::{
    Failure, Timestamp,
    context::marked_id,
    kind::Items,
    kinds::past::{PastError, remember},
    planted::Bug,
};

/// How many batches may be closed and not flushed. The record names each of them and is written with every
/// add; and `clear` drops them all in one commit, which may change at most 1,000 rows and lanes (K3).
pub(super) const CLOSED_MAX: usize = 500;

/// The stored record of a buffer, beside its state, its alarm and its items. Items are rows, with a lane per
/// batch.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Record {
    /// The last number that was given to a batch. No number is given twice.
    pub(super) last: u64,
    #[serde(default, skip_serializing_if = "Open::is_empty")]
    pub(super) open: Open,
    /// Closed batches that are to be flushed, in the order in which they were closed.
    #[serde(default)]
    pub(super) closed: Vec<Closed>,
    #[serde(default)]
    pub(super) flushed: Sum,
    #[serde(default)]
    pub(super) dead: Sum,
    #[serde(default)]
    pub(super) errors: Vec<PastError>,
    /// Errors of batches that wait for a retry, for the dead letter if the batch dies (D2).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tried: Vec<Tried>,
}

/// An error of a batch that has not ended yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Tried {
    batch: u64,
    error: PastError,
}

/// How many such errors are kept of all batches together. The record is written with every add, so it must
/// stay small.
const TRIED_MAX: usize = 50;

/// The batch that items are added to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Open {
    pub(super) number: u64,
    pub(super) count: u64,
    pub(super) bytes: u64,
    /// The time from which `max_wait` counts.
    pub(super) since: Timestamp,
    /// Whether a caller asked for a flush.
    #[serde(default)]
    pub(super) asked: bool,
    /// The folded value of the items. An open batch with a folded value has no rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) folded: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::values::stored::mark")]
    pub(super) mark: Option<Mark>,
}

/// A closed batch that is to be flushed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Closed {
    pub(super) number: u64,
    pub(super) count: u64,
    pub(super) bytes: u64,
    pub(super) reason: Reason,
    /// When the batch may be flushed: from its closing on, or after the pause that follows a failure.
    pub(super) at: Timestamp,
    /// Executions that have failed.
    #[serde(default, skip_serializing_if = "crate::values::stored::is_default")]
    pub(super) attempts: u32,
    /// Where the items are if the batch is replayed. Otherwise they are in the lane of the batch's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) held: Option<Held>,
    /// The mark of the turn that added the first item, or that replayed the batch.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::values::stored::mark")]
    pub(super) mark: Option<Mark>,
}

/// The lane of a replayed batch, which was held for the replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Held {
    pub(super) of: u64,
    pub(super) lane: String,
    /// The mark of the original batch.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::values::stored::mark")]
    pub(super) mark: Option<Mark>,
}

/// A number of batches, and of the items in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    /// How many batches there are.
    pub batches: u64,
    /// How many items there are.
    pub items: u64,
}

/// The status of a buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Items in the open batch.
    pub open: u64,
    /// Bytes in the open batch.
    pub open_bytes: u64,
    /// When the open batch closes at the latest.
    pub flushes_at: Option<Timestamp>,
    /// Batches that are closed and not flushed, including the batch in flight and batches that wait for a
    /// retry.
    pub closed: Sum,
    /// The number of the batch that is in flight, or about to be.
    pub in_flight: Option<u64>,
    /// Batches that were flushed since the key was bound.
    pub flushed: Sum,
    /// Batches that became dead letters since the key was bound.
    pub dead: Sum,
    /// The last errors, at most five, the newest last.
    pub errors: Vec<PastError>,
}

impl Record {
    /// Returns the number of the next batch.
    pub(super) fn next_number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Returns the batch in flight, which follows from the record alone: the batch with the earliest time,
    /// and of several the one that was closed first. While it runs no other batch takes its place, because
    /// the time of every later batch is that moment or after it.
    pub(super) fn flying(&self, strict_order: bool, now: Timestamp) -> Option<&Closed> {
        let strict_order = strict_order && !Bug::OrderForgotten.planted();
        let first = if strict_order { self.closed.first() } else { self.closed.iter().min_by_key(|closed| closed.at) };
        first.filter(|first| first.at <= now)
    }

    /// Records a failed execution of a batch.
    pub(super) fn has_failed(&mut self, batch: u64, error: &Failure, at: Timestamp) {
        remember(&mut self.errors, error, at);
        self.tried.push(Tried { batch, error: PastError { error: error.clone(), at } });
        let beyond = self.tried.len().saturating_sub(TRIED_MAX);
        self.tried.drain(..beyond);
    }

    /// Ends a batch. Returns the errors of its executions, or the last of them if there were many.
    pub(super) fn is_over(&mut self, batch: u64) -> Vec<PastError> {
        let (of_it, others) = std::mem::take(&mut self.tried).into_iter().partition(|tried| tried.batch == batch);
        self.tried = others;
        of_it.into_iter().map(|tried: Tried| tried.error).collect()
    }

    /// Returns the next time at which a waiting batch may be flushed.
    pub(super) fn next_try(&self, now: Timestamp) -> Option<Timestamp> {
        self.closed.iter().map(|closed| closed.at).filter(|at| *at > now).min()
    }

    /// Returns the items and bytes in rows of this entity. The rows of replayed batches belong to others.
    pub(super) fn stored(&self) -> (u64, u64) {
        let own = self.closed.iter().filter(|closed| closed.held.is_none());
        own.fold((self.open.count, self.open.bytes), |sum, closed| (sum.0 + closed.count, sum.1 + closed.bytes))
    }

    pub(super) fn has_room_for_a_batch(&self) -> bool {
        self.closed.len() < CLOSED_MAX
    }
}

impl Open {
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn flushes_at(&self, options: &Options) -> Timestamp {
        self.since.after(options.wait())
    }

    /// Returns why the batch should be closed; `None` if it should stay open.
    pub(super) fn is_ripe(&self, options: &Options, now: Timestamp) -> Option<Reason> {
        match self {
            _ if self.is_empty() => None,
            _ if self.asked => Some(Reason::Manual),
            _ if self.count >= options.max_items => Some(Reason::Capacity),
            _ if self.flushes_at(options) <= now => Some(Reason::Deadline),
            _ => None,
        }
    }
}

impl Closed {
    /// Returns where the items are.
    pub(super) fn items(&self) -> Items {
        match &self.held {
            Some(Held { of, lane, .. }) => Items { of: Some(*of), lane: lane.clone().into(), row: None },
            None => Items { of: None, lane: lane(self.number).into(), row: None },
        }
    }

    /// Returns the id of the batch for other systems. A replayed batch keeps the id of the original batch.
    pub(super) fn id(&self, definition: &str, own: Version) -> String {
        let Items { of, lane, .. } = self.items();
        let number = lane.strip_prefix(LANE).unwrap_or(&lane);
        if Bug::BatchRenamed.planted() {
            return format!("{definition}-{:x}-flush/{number}{}", of.unwrap_or(own.0), self.attempts);
        }
        marked_id(&format!("{definition}-{:x}", of.unwrap_or(own.0)), self.first_mark(), &format!("flush/{number}"))
    }

    /// Returns the mark of the original batch.
    pub(super) fn first_mark(&self) -> Option<Mark> {
        self.held.as_ref().map_or(self.mark, |held| held.mark)
    }
}

const LANE: &str = "batch/";

/// Returns the lane of a batch, which is also the name under which callers of `flush` wait for the batch.
pub(super) fn lane(number: u64) -> String {
    format!("{LANE}{number}")
}

impl Sum {
    pub(super) fn add(&mut self, items: u64) {
        self.batches += 1;
        self.items += items;
    }
}

/// Returns the earlier of two times, if there is one.
pub(super) fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Millis> {
    one.into_iter().chain(other).min().map(Into::into)
}
