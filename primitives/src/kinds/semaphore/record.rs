//! The stored record of a semaphore, and its status.
//!
//! Permits and waiting callers are rows, each under the ticket that the caller had when it asked:
//!
//! | lane | key | holds |
//! |---|---|---|
//! | `held` | ticket | a permit |
//! | `until` | end of the permit, ticket | the weight of the permit |
//! | `runs` | the run's own name | the ticket of a run's permit, held or waited for; `null` if withdrawn |
//! | `withdrawn` | time of the withdrawal, the run's own name | nothing |
//! | `line/7` | ticket | a waiting caller; 7 is the epoch of all tickets in this lane |
//!
//! Tickets grow, so a lane is in order of arrival. A line belongs to one owner of the key. The next owner
//! drops the line as a whole, because all callers in it were told that the outcome is unknown.

use bytes::{BufMut, Bytes, BytesMut};
use drystone_runtime::{Epoch, Millis, Range, Row, Ticket};
use serde::{Deserialize, Serialize};

use crate::{Timestamp, kind::Stop};

/// The lane of the permits.
pub(super) const HELD: &str = "held";
/// The lane of the ends of permits.
pub(super) const UNTIL: &str = "until";
/// The lane of the permits that runs of workflows hold or wait for.
pub(super) const RUNS: &str = "runs";
/// The lane of the withdrawals, the oldest first.
pub(super) const WITHDRAWN: &str = "withdrawn";

/// The stored record of a semaphore, beside its rows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Record {
    /// The weight of all permits in `held`.
    pub(super) used: u64,
    /// How many callers wait in the line.
    pub(super) waiting: u64,
    /// The last token that was given.
    pub(super) token: u64,
    /// The epoch of the owner whose line it is.
    pub(super) epoch: u32,
    /// A time before which no permit ends.
    pub(super) first: Timestamp,
    /// A time after which no permit ends.
    pub(super) last: Timestamp,
}

/// A permit as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Held {
    pub(super) token: u64,
    pub(super) weight: u64,
    pub(super) since: Timestamp,
    pub(super) until: Timestamp,
    /// The run that holds the permit, if a run does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) holder: Option<String>,
}

/// A waiting caller as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Waits {
    pub(super) weight: u64,
    pub(super) since: Timestamp,
    /// The run that waits, if a run does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) holder: Option<String>,
}

/// The status of a semaphore. [`stats`](super::Verbs::stats) shows holders and waiting callers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The weight that may be out at once.
    pub permits: u64,
    /// The weight that is out. Permits that ended while no caller wanted one may still be counted. They are
    /// taken back when a caller wants one, or when all permits have ended.
    pub used: u64,
    /// How many callers wait.
    pub waiting: u64,
    /// The last token that was given.
    pub token: u64,
}

/// The holders and waiting callers of a semaphore at this moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// The weight that may be out at once.
    pub permits: u64,
    /// The weight that is out and has not ended.
    pub used: u64,
    /// How many callers wait.
    pub waiting: u64,
    /// The holders of permits, in the order in which they asked; at most 32.
    pub holders: Vec<Holder>,
    /// The waiting callers, the next one first; at most 32.
    pub line: Vec<Waiter>,
}

/// A permit that is out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The token of the permit.
    pub token: u64,
    /// The weight of the permit.
    pub weight: u64,
    /// When the permit was given.
    pub since: Timestamp,
    /// When the permit ends, unless it is renewed.
    pub until: Timestamp,
}

/// A caller that waits for a permit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiter {
    /// The weight that the caller asks for.
    pub weight: u64,
    /// When the caller began to wait.
    pub since: Timestamp,
}

impl From<Held> for Holder {
    fn from(Held { token, weight, since, until, .. }: Held) -> Self {
        Self { token, weight, since, until }
    }
}

impl From<Waits> for Waiter {
    fn from(Waits { weight, since, .. }: Waits) -> Self {
        Self { weight, since }
    }
}

impl Record {
    /// Returns the next fencing token, higher than any before. The token is at least the time in
    /// microseconds, so it is also higher than the tokens before a `destroy` that is a millisecond ago.
    /// Tokens stay below 2⁵³ until the year 2255, so that JSON of any language can hold them.
    pub(super) fn next_token(&mut self, now: Millis) -> u64 {
        self.token = (self.token + 1).max(u64::try_from(now.0).unwrap_or(0) * 1_000);
        self.token
    }

    /// Counts a permit that ends at `until` as out.
    pub(super) fn is_out(&mut self, weight: u64, until: Timestamp) {
        (self.first, self.last) =
            if self.used == 0 { (until, until) } else { (self.first.min(until), self.last.max(until)) };
        self.used += weight;
    }

    /// Returns the lane of the waiting callers.
    pub(super) fn line(&self) -> String {
        format!("line/{}", self.epoch)
    }
}

/// Returns the key of a ticket's row.
pub(super) fn key_of(ticket: Ticket) -> Bytes {
    let mut key = BytesMut::with_capacity(12);
    key.put_u32(ticket.epoch.0);
    key.put_u64(ticket.number);
    key.freeze()
}

/// Returns the key under which the end of a permit is found.
pub(super) fn end_of(until: Timestamp, ticket: Ticket) -> Bytes {
    let mut key = BytesMut::with_capacity(20);
    key.put_i64(until.as_millis());
    key.put_slice(&key_of(ticket));
    key.freeze()
}

/// Reads the ticket in the last twelve bytes of a row's key.
pub(super) fn ticket_in(key: &[u8]) -> Result<Ticket, Stop> {
    let ticket = key.len().checked_sub(12).and_then(|at| {
        let (epoch, number) = key[at..].split_at(4);
        Some(Ticket {
            epoch: Epoch(u32::from_be_bytes(epoch.try_into().ok()?)),
            number: u64::from_be_bytes(number.try_into().ok()?),
        })
    });
    ticket.ok_or_else(|| Stop::Malformed("a row's key holds no ticket".to_owned()))
}

/// Reads the end of a permit in the key of its row in `until`.
pub(super) fn until_in(key: &[u8]) -> Result<Timestamp, Stop> {
    let millis = key.get(..8).and_then(|bytes| bytes.try_into().ok()).map(i64::from_be_bytes);
    millis.map(Timestamp::from_millis).ok_or_else(|| Stop::Malformed("a row's key holds no time".to_owned()))
}

/// Returns the range whose first row is that of the ticket, if there is such a row.
pub(super) fn at(lane: impl Into<drystone_runtime::Lane>, ticket: Ticket) -> Range {
    Range::at(lane, key_of(ticket))
}

/// Decodes the row of a ticket, if the rows of its range contain that row.
pub(super) fn found<T: crate::Stored>(rows: &[Row], ticket: Ticket) -> Result<Option<T>, Stop> {
    let row = rows.first().filter(|row| row.key == key_of(ticket));
    row.map(|row| crate::decode(&row.body).map_err(Stop::Malformed)).transpose()
}
