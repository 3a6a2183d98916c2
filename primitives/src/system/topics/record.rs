//! The stored data of a topic: its record, and the rows of its lanes.

use drystone_runtime::{Name, RowKey};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::wire::{TopicName, Wait};
use crate::{
    event::topic::{Deliver, TopicOptions},
    values::stored::is_default,
};

/// The lane of kept events, by number. In a work queue, only events that were taken.
pub(super) const LOG: Name = Name::new("log");

/// The lane of events that wait to be taken, in a work queue.
pub(super) const PENDING: Name = Name::new("pending");

/// The lane of waits, the longest waiting first.
pub(super) const WATCHERS: Name = Name::new("watchers");

/// The lane of deliveries, by number of the event: each row holds a slice of them.
pub(super) const GIVEN: Name = Name::new("given");

/// The rows of deliveries that are kept in any case, for as long as their events.
pub(super) const GIVEN_MIN: u64 = 1_000;

/// The record of a topic.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) topic: TopicName,
    pub(super) options: TopicOptions,
    /// When the topic was created. This tells its numbers from those of an earlier topic of the same key.
    pub(super) birth: i64,
    /// The last number that was given.
    pub(super) last: u64,
    /// The numbers of rows in the four lanes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) logged: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) pending: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) watching: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) given: u64,
    /// How many slices of deliveries there were, of all time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) slices: u64,
    /// The pass through the waits that is in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pass: Option<Pass>,
    /// When the oldest event expires, or earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires_at: Option<i64>,
    /// The highest number that was removed. Deliveries of events up to it are forgotten.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) forgotten: u64,
    /// Whether the topic was a work queue at any time. Events then come to the log in the order in which
    /// they are taken, not in the order of their numbers.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) has_gaps: bool,
    /// How many events expired before they were taken, and became dead letters.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) dead: u64,
    /// How many events left the log early, because it was full.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) trimmed: u64,
    /// How many events left the log because they expired.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) expired: u64,
    /// Since when the topic has nothing but its counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) empty_since: Option<i64>,
}

/// How far a pass through the waits is (T5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pass {
    /// The wait behind which the pass continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) behind: Option<Vec<u8>>,
    /// The last number when the pass began. If later numbers exist at the end of the pass, another pass
    /// begins.
    pub(super) upto: u64,
    /// The oldest event that a wait may still be due.
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

    /// Whether the topic has no rows left.
    pub(super) fn is_empty(&self) -> bool {
        self.logged + self.pending + self.watching + self.given == 0
    }

    /// Whether there are more rows of deliveries than are worth keeping, even of events that are kept: each
    /// event may have gone to very many waits.
    pub(super) fn has_given_much(&self) -> bool {
        self.given > self.options.max_pending.saturating_mul(2).max(GIVEN_MIN)
    }

    /// Returns until when an empty topic is kept for its counts. Lost events are shown for as long as an
    /// event would have been kept.
    pub(super) fn counted_until(&self) -> Option<i64> {
        let is_counted = self.dead + self.trimmed + self.expired > 0;
        self.empty_since.filter(|_| is_counted).map(|since| self.options.kept_until(since))
    }
}

/// The stored form of an event.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Kept {
    pub(super) at: i64,
    pub(super) event: Box<RawValue>,
}

/// The stored form of a wait.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Watcher {
    pub(super) wait: Wait,
    /// The last number when the wait came: the wait is due the next event.
    pub(super) after: u64,
}

/// Big-endian, so that the order of bytes is the order of numbers.
pub(super) fn number_key(number: u64) -> RowKey {
    RowKey::copy_from_slice(&number.to_be_bytes())
}

/// Returns the number at the beginning of a row's key.
pub(super) fn number_in(key: &[u8]) -> u64 {
    key.first_chunk().map_or(0, |number| u64::from_be_bytes(*number))
}
