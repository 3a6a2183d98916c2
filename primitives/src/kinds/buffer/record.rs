//! What is kept of a buffer, and what is shown of it.

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

/// How many batches may be closed and not flushed: the record names each of them and is written with every add, and
/// `clear` lets all of them go in one commit, which may change 1,000 rows and lanes (K3).
pub(super) const CLOSED_MAX: usize = 500;

/// What is kept of a buffer beside its state, its alarm and the items, which are rows: a lane per batch.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Record {
    /// The last number that was given to a batch; none is given twice.
    pub(super) last: u64,
    #[serde(default, skip_serializing_if = "Open::is_empty")]
    pub(super) open: Open,
    /// Batches to be flushed, in the order in which they were closed.
    #[serde(default)]
    pub(super) closed: Vec<Closed>,
    #[serde(default)]
    pub(super) flushed: Sum,
    #[serde(default)]
    pub(super) dead: Sum,
    #[serde(default)]
    pub(super) errors: Vec<PastError>,
    /// Errors of batches that are tried again, for the letter if they die (D2).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tried: Vec<Tried>,
}

/// An error of a batch that is not over yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Tried {
    batch: u64,
    error: PastError,
}

/// How many of them are kept, of all batches together: the record is written with every add.
const TRIED_MAX: usize = 50;

/// The batch that items are added to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Open {
    pub(super) number: u64,
    pub(super) count: u64,
    pub(super) bytes: u64,
    /// Since when it waits.
    pub(super) since: Timestamp,
    /// Somebody asked for it to be flushed.
    #[serde(default)]
    pub(super) asked: bool,
    /// What its items were folded into; it has no rows then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) folded: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::stored::mark")]
    pub(super) mark: Option<Mark>,
}

/// A batch that is to be flushed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Closed {
    pub(super) number: u64,
    pub(super) count: u64,
    pub(super) bytes: u64,
    pub(super) reason: Reason,
    /// From when on it may be flushed: since it was closed, or after the pause that follows a failure.
    pub(super) at: Timestamp,
    /// Executions that have failed.
    #[serde(default, skip_serializing_if = "crate::stored::is_default")]
    pub(super) attempts: u32,
    /// Where its items are, if not in the lane of its number: a batch that is replayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) held: Option<Held>,
    /// The mark of the turn that added its first item.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::stored::mark")]
    pub(super) mark: Option<Mark>,
}

/// Items that are held for us.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Held {
    pub(super) of: u64,
    pub(super) lane: String,
    /// The mark of the batch that it was at first.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::stored::mark")]
    pub(super) mark: Option<Mark>,
}

/// Batches, and the items in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    /// How many batches.
    pub batches: u64,
    /// How many items.
    pub items: u64,
}

/// Where a buffer stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Items in the batch that is open.
    pub open: u64,
    /// Bytes of them.
    pub open_bytes: u64,
    /// When that batch is closed at the latest.
    pub flushes_at: Option<Timestamp>,
    /// Batches that are closed and not flushed, those in flight and those that wait to be tried again included.
    pub closed: Sum,
    /// The number of the batch in flight, or about to be.
    pub in_flight: Option<u64>,
    /// What was flushed since it was bound.
    pub flushed: Sum,
    /// What went to the dead letters since it was bound.
    pub dead: Sum,
    /// The last errors, at most five, the newest last.
    pub errors: Vec<PastError>,
}

impl Record {
    /// A number for a batch.
    pub(super) fn next_number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// The batch in flight, as it follows from what is stored: the one that could be flushed first, of several the one
    /// that was closed first. Neither time nor an input puts another before it while it runs: whatever comes may only be
    /// flushed from that moment on.
    pub(super) fn flying(&self, strict_order: bool, now: Timestamp) -> Option<&Closed> {
        let strict_order = strict_order && !Bug::OrderForgotten.planted();
        let first = if strict_order { self.closed.first() } else { self.closed.iter().min_by_key(|closed| closed.at) };
        first.filter(|first| first.at <= now)
    }

    /// An execution of a batch failed.
    pub(super) fn has_failed(&mut self, batch: u64, error: &Failure, at: Timestamp) {
        remember(&mut self.errors, error, at);
        self.tried.push(Tried { batch, error: PastError { error: error.clone(), at } });
        let beyond = self.tried.len().saturating_sub(TRIED_MAX);
        self.tried.drain(..beyond);
    }

    /// The batch is over: what its executions failed with, the last ones if there were many.
    pub(super) fn is_over(&mut self, batch: u64) -> Vec<PastError> {
        let (of_it, others) = std::mem::take(&mut self.tried).into_iter().partition(|tried| tried.batch == batch);
        self.tried = others;
        of_it.into_iter().map(|tried: Tried| tried.error).collect()
    }

    /// When a batch may next be flushed that has to wait.
    pub(super) fn next_try(&self, now: Timestamp) -> Option<Timestamp> {
        self.closed.iter().map(|closed| closed.at).filter(|at| *at > now).min()
    }

    /// Items and bytes in rows of our own.
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

    /// Why it should be closed, if it should.
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
    /// Where its items are.
    pub(super) fn items(&self) -> Items {
        match &self.held {
            Some(Held { of, lane, .. }) => Items { of: Some(*of), lane: lane.clone().into(), row: None },
            None => Items { of: None, lane: lane(self.number).into(), row: None },
        }
    }

    /// The name by which the outside knows it: that of the batch it was at first.
    pub(super) fn id(&self, definition: &str, own: Version) -> String {
        let Items { of, lane, .. } = self.items();
        let number = lane.strip_prefix(LANE).unwrap_or(&lane);
        if Bug::BatchRenamed.planted() {
            return format!("{definition}-{:x}-flush/{number}{}", of.unwrap_or(own.0), self.attempts);
        }
        marked_id(&format!("{definition}-{:x}", of.unwrap_or(own.0)), self.first_mark(), &format!("flush/{number}"))
    }

    /// The mark of the batch that it was at first.
    pub(super) fn first_mark(&self) -> Option<Mark> {
        self.held.as_ref().map_or(self.mark, |held| held.mark)
    }
}

const LANE: &str = "batch/";

/// The lane of a batch, which is also the name under which callers of `flush` wait for it.
pub(super) fn lane(number: u64) -> String {
    format!("{LANE}{number}")
}

impl Sum {
    pub(super) fn add(&mut self, items: u64) {
        self.batches += 1;
        self.items += items;
    }
}

/// The earlier of two times that may not come.
pub(super) fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Millis> {
    one.into_iter().chain(other).min().map(Into::into)
}
