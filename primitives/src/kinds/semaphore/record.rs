//! What is kept of a semaphore, and what is shown of it.
//!
//! Permits and those who wait are rows, each under the ticket that its caller had when it asked:
//!
//! | lane | key | holds |
//! |---|---|---|
//! | `held` | ticket | a permit |
//! | `until` | its end, ticket | its weight |
//! | `runs` | the run's own name | the ticket of a permit that a run of a workflow holds or waits for; `null` if the run has withdrawn |
//! | `withdrawn` | when, the run's own name | nothing |
//! | `line/7` | ticket | one who waits; 7 is the epoch of all tickets in it |
//!
//! Tickets grow, so a lane is in order of arrival. A line belongs to one owner of the key: the next owner lets it go as a whole,
//! because all who stood in it were told that nothing is known.

use bytes::{BufMut, Bytes, BytesMut};
use drystone_runtime::{Epoch, Millis, Range, Row, Ticket};
use serde::{Deserialize, Serialize};

use crate::{Timestamp, kind::Stop};

/// The lane of the permits.
pub(super) const HELD: &str = "held";
/// The lane of their ends.
pub(super) const UNTIL: &str = "until";
/// The lane of those that runs of workflows hold or wait for.
pub(super) const RUNS: &str = "runs";
/// The lane of the runs that have withdrawn, the longest ago first.
pub(super) const WITHDRAWN: &str = "withdrawn";

/// What is kept of a semaphore beside its rows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Record {
    /// The weight of all permits in `held`.
    pub(super) used: u64,
    /// How many stand in the line.
    pub(super) waiting: u64,
    /// The last token that was given.
    pub(super) token: u64,
    /// Whose line it is.
    pub(super) epoch: u32,
    /// No permit ends before this.
    pub(super) first: Timestamp,
    /// None ends after this.
    pub(super) last: Timestamp,
}

/// A permit, as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Held {
    pub(super) token: u64,
    pub(super) weight: u64,
    pub(super) since: Timestamp,
    pub(super) until: Timestamp,
    /// The run that holds it, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) holder: Option<String>,
}

/// One who waits, as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Waits {
    pub(super) weight: u64,
    pub(super) since: Timestamp,
    /// The run that waits, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) holder: Option<String>,
}

/// Where a semaphore stands. What holds and waits is told by [`stats`](super::Verbs::stats).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// How much weight may be out at once.
    pub permits: u64,
    /// How much is out. Permits that ended while nobody wanted one may still be counted: they are taken back when
    /// somebody does, or all have ended.
    pub used: u64,
    /// How many wait.
    pub waiting: u64,
    /// The token that was given last.
    pub token: u64,
}

/// Everything about a semaphore, as it is at this moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// How much weight may be out at once.
    pub permits: u64,
    /// How much is out and has not ended.
    pub used: u64,
    /// How many wait.
    pub waiting: u64,
    /// Who holds a permit, in the order in which they asked; at most 32 of them.
    pub holders: Vec<Holder>,
    /// Who waits, the next one first; at most 32 of them.
    pub line: Vec<Waiter>,
}

/// A permit that is out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its token.
    pub token: u64,
    /// Its weight.
    pub weight: u64,
    /// Since when it is out.
    pub since: Timestamp,
    /// When it ends, unless it is renewed.
    pub until: Timestamp,
}

/// One who waits for a permit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiter {
    /// The weight that it wants.
    pub weight: u64,
    /// Since when it waits.
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
    /// The next fencing token: higher than any before. It is not below the time in microseconds, so it is also higher than
    /// those before a `destroy`, if that is a millisecond ago. It stays below 2⁵³, so that JSON of any language can hold it,
    /// until the year 2255.
    pub(super) fn next_token(&mut self, now: Millis) -> u64 {
        self.token = (self.token + 1).max(u64::try_from(now.0).unwrap_or(0) * 1_000);
        self.token
    }

    /// A permit that ends then is out.
    pub(super) fn is_out(&mut self, weight: u64, until: Timestamp) {
        (self.first, self.last) =
            if self.used == 0 { (until, until) } else { (self.first.min(until), self.last.max(until)) };
        self.used += weight;
    }

    /// The lane of those who wait.
    pub(super) fn line(&self) -> String {
        format!("line/{}", self.epoch)
    }
}

/// The key of a ticket's row.
pub(super) fn key_of(ticket: Ticket) -> Bytes {
    let mut key = BytesMut::with_capacity(12);
    key.put_u32(ticket.epoch.0);
    key.put_u64(ticket.number);
    key.freeze()
}

/// The key under which the end of a permit is found.
pub(super) fn end_of(until: Timestamp, ticket: Ticket) -> Bytes {
    let mut key = BytesMut::with_capacity(20);
    key.put_i64(until.as_millis());
    key.put_slice(&key_of(ticket));
    key.freeze()
}

/// The ticket in the last twelve bytes of a row's key.
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

/// When the permit of a row in `until` ends.
pub(super) fn until_in(key: &[u8]) -> Result<Timestamp, Stop> {
    let millis = key.get(..8).and_then(|bytes| bytes.try_into().ok()).map(i64::from_be_bytes);
    millis.map(Timestamp::from_millis).ok_or_else(|| Stop::Malformed("a row's key holds no time".to_owned()))
}

/// The range whose first row is that of a ticket, if it has one.
pub(super) fn at(lane: impl Into<drystone_runtime::Lane>, ticket: Ticket) -> Range {
    Range::at(lane, key_of(ticket))
}

/// What a ticket's row holds, if the range that was read found it.
pub(super) fn found<T: crate::Stored>(rows: &[Row], ticket: Ticket) -> Result<Option<T>, Stop> {
    let row = rows.first().filter(|row| row.key == key_of(ticket));
    row.map(|row| crate::decode(&row.body).map_err(Stop::Malformed)).transpose()
}
