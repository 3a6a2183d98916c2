//! The reads of a topic.

use drystone_runtime::{Commit, Next, Range, Row, Ticket, To, key_after};
use serde::Serialize;

use super::{
    client::{Deliveries, Delivery, Logged, Place, TopicStatus, WatcherShown, Watchers},
    record::{GIVEN, Kept, LOG, PENDING, Record, WATCHERS, Watcher, number_in, number_key},
    turn::{Seen, Turn, read},
};
use crate::{Params, Stored, Timestamp, encode, system::halt::Halt};

/// The limit of rows in an answer.
const PAGE: u32 = 100;

/// The bytes after which an answer is not made longer.
const ANSWER_BYTES: usize = 512 << 10;

/// Answers a verb that only reads. A topic that does not exist has nothing to show, and is not created by a
/// read.
pub(super) fn looked(seen: Seen<'_>, (verb, body): (&str, &[u8]), ticket: Ticket) -> Result<Next, Halt> {
    let turn = seen.entity.map(|entity| Turn::of(entity, seen)).transpose()?;
    let turn = turn.as_ref();
    match verb {
        "watchers" => answer(ticket, &turn.map_or(Ok(Watchers::default()), |turn| turn.watchers(one(verb, body)?))?),
        "history" => answer(ticket, &turn.map_or(Ok(Vec::new()), |turn| turn.history(one(verb, body)?))?),
        "deliveries" => {
            let (number, after) = Params::two(body).map_err(|reason| Halt::malformed(verb, reason))?;
            answer(ticket, &turn.map_or(Ok(Deliveries::default()), |turn| turn.deliveries(number, after))?)
        }
        _ => answer(ticket, &turn.map(|turn| status(&turn.record))),
    }
}

fn answer(ticket: Ticket, value: &impl Serialize) -> Result<Next, Halt> {
    let value = encode(value).map_err(|reason| Halt::malformed("answer", reason))?;
    Ok(Next::Commit(Commit { replies: vec![(To::Ticket(ticket), Ok(value))], ..Commit::default() }))
}

fn one<T: Stored>(verb: &str, body: &[u8]) -> Result<T, Halt> {
    Params::one(body).map_err(|reason| Halt::malformed(verb, reason))
}

fn status(record: &Record) -> TopicStatus {
    TopicStatus {
        since: Timestamp::from_millis(record.birth),
        last: record.last,
        kept: record.logged + record.pending,
        pending: record.pending,
        watching: record.watching,
        is_delivering: record.pass.is_some(),
        dead: record.dead,
        trimmed: record.trimmed,
        expired: record.expired,
    }
}

impl Turn<'_> {
    /// Returns the waits behind a place, the longest waiting first.
    fn watchers(&self, after: Option<Place>) -> Result<Watchers, Halt> {
        let from = after.map(|Place(key)| key_after(&key));
        let rows = self.rows(Range { from, ..Range::first(WATCHERS, PAGE) })?;
        let shown = |row: &Row| read::<Watcher>(row).map(|(_, watcher)| WatcherShown::of(&watcher.wait));
        let watchers = rows.iter().map(shown).collect::<Result<_, _>>()?;
        Ok(Watchers { watchers, next: next(rows) })
    }

    /// Returns the last events, the oldest first.
    fn history(&self, count: u32) -> Result<Vec<Logged>, Halt> {
        let count = count.clamp(1, PAGE);
        let backwards = |lane| Range { backwards: true, ..Range::first(lane, count) };
        let (logged, pending) = (self.rows(backwards(LOG))?, self.rows(backwards(PENDING))?);
        let mut rows: Vec<&Row> = logged.iter().chain(pending).collect();
        rows.sort_by(|one, other| other.key.cmp(&one.key));
        let (mut events, mut bytes) = (Vec::new(), 0);
        for row in rows.into_iter().take(count as usize) {
            bytes += row.body.len();
            if bytes > ANSWER_BYTES && !events.is_empty() {
                break;
            }
            let (number, Kept { at, event }) = read(row)?;
            events.push(Logged { number, at: Timestamp::from_millis(at), event });
        }
        events.reverse();
        Ok(events)
    }

    /// Returns the deliveries of an event, in the order in which they were sent.
    fn deliveries(&self, number: u64, after: Option<Place>) -> Result<Deliveries, Halt> {
        let from = after.map_or_else(|| number_key(number), |Place(key)| key_after(&key));
        let rows = self.rows(Range { from: Some(from), ..Range::first(GIVEN, 5) })?;
        let own: Vec<&Row> = rows.iter().take_while(|row| number_in(&row.key) == number).collect();
        let mut deliveries = Vec::new();
        for row in &own {
            deliveries.extend(read::<Vec<Delivery>>(row)?.1);
        }
        let is_more = own.len() == 5;
        let next = own.last().filter(|_| is_more).map(|row| Place(row.key.to_vec()));
        Ok(Deliveries { deliveries, next })
    }
}

fn next(rows: &[Row]) -> Option<Place> {
    rows.last().filter(|_| rows.len() >= PAGE as usize).map(|row| Place(row.key.to_vec()))
}
