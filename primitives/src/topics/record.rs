//! What is stored of a topic: its record, and the rows of its lanes.

use drystone_runtime::{Name, RowKey};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    Deliver, TopicOptions,
    wire::{TopicName, Wait},
};
use crate::stored::is_default;

/// Events that are kept, by number. Of those that go to one alone: those that somebody has got.
pub(super) const LOG: Name = Name::new("log");

/// Events that nobody has got yet, of those that go to one alone.
pub(super) const PENDING: Name = Name::new("pending");

/// Who waits, the longest first.
pub(super) const WATCHERS: Name = Name::new("watchers");

/// Who got what: by number, a slice of them in each row.
pub(super) const GIVEN: Name = Name::new("given");

/// So many rows of who got what are kept in any case, for as long as the events are.
pub(super) const GIVEN_MIN: u64 = 1_000;

/// The record of a topic.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) topic: TopicName,
    pub(super) options: TopicOptions,
    /// When it began: what tells its numbers from those of one that was gone.
    pub(super) birth: i64,
    /// The last number that was given.
    pub(super) last: u64,
    /// How many rows there are in each lane.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) logged: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) pending: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) watching: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) given: u64,
    /// How many slices of those who got something there were, of all time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) slices: u64,
    /// The pass through those who wait that is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pass: Option<Pass>,
    /// When the oldest event is kept no longer; never later than that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires_at: Option<i64>,
    /// Up to which number events have expired: who got them is forgotten, too.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) forgotten: u64,
    /// Whether its events were for one alone at some time: they come to the log as they are taken, not in the order of their numbers.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) has_gaps: bool,
    /// How many expired before anybody got them, and are dead letters.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) dead: u64,
    /// How many left the log early, for it was full.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) trimmed: u64,
    /// How many left the log when their time was up.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) expired: u64,
    /// Since when it has nothing but its counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) empty_since: Option<i64>,
}

/// Where a pass through those who wait stands (T5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pass {
    /// Behind this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) behind: Option<Vec<u8>>,
    /// The last number when it began: if there are later ones at its end, another begins.
    pub(super) upto: u64,
    /// The oldest event that somebody may still be due.
    pub(super) oldest: u64,
}

impl Record {
    pub(super) fn new(topic: TopicName, options: TopicOptions, birth: i64) -> Self {
        Self {
            topic,
            options,
            birth,
            last: 0,
            logged: 0,
            pending: 0,
            watching: 0,
            given: 0,
            slices: 0,
            pass: None,
            expires_at: None,
            forgotten: 0,
            has_gaps: options.deliver == Deliver::One,
            dead: 0,
            trimmed: 0,
            expired: 0,
            empty_since: None,
        }
    }

    /// Whether nothing is left that anybody could ask for.
    pub(super) fn is_empty(&self) -> bool {
        self.logged + self.pending + self.watching + self.given == 0
    }

    /// Whether there are more rows of who got what than are worth keeping, also of events that are kept: each may have gone to a crowd.
    pub(super) fn has_given_much(&self) -> bool {
        self.given > self.options.max_pending.saturating_mul(2).max(GIVEN_MIN)
    }

    /// Until when one that has nothing left is kept for its counts: what was lost is seen for as long as an event would have been.
    pub(super) fn counted_until(&self) -> Option<i64> {
        let is_counted = self.dead + self.trimmed + self.expired > 0;
        self.empty_since.filter(|_| is_counted).map(|since| self.options.kept_until(since))
    }
}

/// An event in a row.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Kept {
    pub(super) at: i64,
    pub(super) event: Box<RawValue>,
}

/// Somebody who waits, in a row.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Watcher {
    pub(super) wait: Wait,
    /// The last number when it came: it gets the next.
    pub(super) after: u64,
}

/// Big-endian, so that the order of bytes is the order of numbers.
pub(super) fn number_key(number: u64) -> RowKey {
    RowKey::copy_from_slice(&number.to_be_bytes())
}

/// The number at the beginning of a row's key.
pub(super) fn number_in(key: &[u8]) -> u64 {
    key.first_chunk().map_or(0, |number| u64::from_be_bytes(*number))
}
