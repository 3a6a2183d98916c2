//! The event queues of a run. Events are queued by type, and each event is taken once, by one wait (V).

use std::collections::{BTreeMap, VecDeque};

use drystone_runtime::{Millis, Name, Range, Row, Rows};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    decode_part, encode,
    planted::Bug,
    workflow::{
        Sent, Workflow,
        engine::{
            memory::{Front, Fronts},
            turn::{Halt, Turning},
            turn_commit::TurnCommit,
        },
        record::{Queue, pending::Awaited},
        replay::journal,
    },
};

/// The stored form of a queued event.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::workflow::engine) struct Queued {
    /// When the event was sent or published. Deadlines are compared with this time.
    pub(in crate::workflow::engine) at: i64,
    /// When a published event came to the run. The event may have been in flight for longer than events are
    /// queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    came: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::workflow::engine) key: Option<String>,
    pub(in crate::workflow::engine) event: Box<RawValue>,
}

/// The rows of a queue that one read returns, and the number in memory below which the next page is read.
const PAGE: u32 = 64;
const LOW: usize = 16;

/// Marks a queue whose next event is swallowed, if that bug is planted.
const SWALLOWING: u64 = 1 << 40;

impl Queued {
    /// Returns the time since which the event waits to be taken.
    fn since(&self) -> i64 {
        self.came.filter(|_| !Bug::ExpiredOnArrival.planted()).unwrap_or(self.at)
    }
}

/// Returns the next pages of the queues that have few events in memory.
pub(super) fn pages(
    queues: &BTreeMap<String, Queue>,
    drops: u32,
    front: impl Fn(&str) -> (usize, Option<u64>),
) -> Vec<Range> {
    let low = queues.iter().filter_map(|(event, queue)| {
        let (count, last) = front(event);
        (count < LOW && (count as u64) < queue.count).then(|| page(drops, event, last))
    });
    low.collect()
}

/// Returns the range of rows behind the last known event of a queue.
fn page(drops: u32, event: &str, last: Option<u64>) -> Range {
    let from = last.map_or(0, |last| last + 1);
    Range { from: Some(journal::row_key(from)), ..Range::first(lane(drops, event), PAGE) }
}

/// Returns the range of up to `limit` queued events behind the number `after`.
pub(in crate::workflow::engine) fn behind(drops: u32, event: &str, after: u64, limit: u32) -> Range {
    Range { from: Some(journal::row_key(after.saturating_add(1))), ..Range::first(lane(drops, event), limit) }
}

/// Returns the lane of an event's queue. A dropped lane is never used again, so its name has the number of
/// drops.
pub(in crate::workflow::engine) fn lane(drops: u32, event: &str) -> Name {
    if drops == 0 { Name::from(format!("event/{event}")) } else { Name::from(format!("event~{drops}/{event}")) }
}

/// Returns the event type whose queue lies in this lane.
fn event_of(lane: &str) -> &str {
    lane.split_once('/').map_or(lane, |(_, event)| event)
}

/// The events that a wait can take now, and when the last of them was sent.
pub(super) struct Hit {
    pub(super) numbers: Vec<u64>,
    pub(super) events: Vec<Box<RawValue>>,
    pub(super) at: i64,
}

/// The event queues of a run, and the events at their heads that are in memory.
pub(in crate::workflow::engine) struct EventQueues<'t> {
    queues: &'t mut BTreeMap<String, Queue>,
    /// The number of the last event.
    last: &'t mut u64,
    fronts: &'t mut Fronts,
    commit: &'t mut TurnCommit,
    rows: &'t Rows,
    /// How often all queued events were dropped.
    drops: u32,
    now: Millis,
}

impl<W: Workflow> Turning<'_, W> {
    pub(in crate::workflow::engine) fn queues(&mut self) -> EventQueues<'_> {
        let record = &mut *self.record;
        EventQueues {
            queues: &mut record.queues,
            last: &mut record.events,
            fronts: &mut self.fronts,
            commit: &mut self.commit,
            rows: self.seen.rows,
            drops: record.drops,
            now: self.seen.now,
        }
    }
}

impl EventQueues<'_> {
    /// Returns how many events of this type are queued.
    pub(super) fn count(&self, event: &str) -> u64 {
        self.queues.get(event).map_or(0, |queue| queue.count)
    }

    /// Returns the number of the first event of a queue, if it is in memory.
    pub(super) fn first(&self, event: &str) -> Option<u64> {
        self.fronts.get(event).and_then(|front| front.front()).map(|front| front.number)
    }

    fn read(&self, range: &Range) -> Result<&[Row], Halt> {
        self.rows.get(range).ok_or_else(|| Halt::Read(vec![range.clone()]))
    }

    /// Adds an event that was sent or published at `at`. Returns its number. Without `is_put`, which is a
    /// planted bug, its row is not put.
    pub(super) fn push(
        &mut self,
        event: &str,
        key: Option<String>,
        (body, at): (&RawValue, i64),
        is_put: bool,
    ) -> Result<u64, Halt> {
        *self.last += 1;
        let (number, now) = (*self.last, self.now.0);
        let queued = Queued { at, came: (at != now).then_some(now), key, event: body.to_owned() };
        let body = encode(&queued).map_err(Halt::Malformed)?;
        let queue = self.queues.entry(event.to_owned()).or_default();
        let front = self.fronts.entry(event.to_owned()).or_default();
        // A front is the beginning of its queue without gaps, so an event joins it only if the front is the
        // whole queue.
        if front.len() as u64 == queue.count && front.len() < PAGE as usize {
            front.push_back(Front { number, body: body.clone() });
        }
        queue.count += 1;
        if is_put {
            self.commit.put((lane(self.drops, event), journal::row_key(number)), body);
        }
        Ok(number)
    }

    /// A planted bug: the next event of this type is swallowed.
    pub(super) fn swallow_next(&mut self, event: &str) {
        self.queues.entry(event.to_owned()).or_default().expired += SWALLOWING;
    }

    /// A planted bug: whether a wait that has timed out takes the event.
    pub(super) fn swallows(&mut self, event: &str) -> bool {
        if !Bug::TimeoutSwallows.planted() {
            return false;
        }
        let timed_out = self.queues.get_mut(event).filter(|queue| queue.expired >= SWALLOWING);
        timed_out.is_some_and(|queue| {
            queue.expired -= SWALLOWING;
            true
        })
    }

    /// Removes the single event of a queue, to make room for a later one.
    pub(super) fn overwrite(&mut self, event: &str) {
        let number = self.fronts.get(event).and_then(|front| front.front()).map(|front| front.number);
        if let Some(number) = number {
            self.taken(event, &[number]);
            self.overwritten(event);
        }
    }

    /// Counts an event that was overwritten, and notifies the listeners.
    pub(super) fn overwritten(&mut self, event: &str) {
        self.queues.entry(event.to_owned()).or_default().overwritten += 1;
        self.commit.emit("workflow.overwritten", &[("event", event.into())]);
    }

    /// Returns the answer to the sender: the number of the event, and whether the event was taken at once.
    pub(in crate::workflow::engine) fn sent(&self, number: u64, event: &str) -> Sent {
        let waits = self.fronts.get(event).is_some_and(|front| front.iter().any(|front| front.number == number));
        let is_put = self.commit.puts(&(lane(self.drops, event), journal::row_key(number)));
        Sent { number, taken: !waits && !is_put }
    }

    /// Loads the first rows of a queue, if none is in memory.
    fn load(&mut self, event: &str) -> Result<(), Halt> {
        let has_some = self.fronts.get(event).is_some_and(|front| !front.is_empty());
        if has_some || self.queues.get(event).is_none_or(|queue| queue.count == 0) {
            return Ok(());
        }
        self.extend(event, &page(self.drops, event, self.last_read(event)))
    }

    /// Returns the last known event of a queue. Events that this turn has removed count, because their rows
    /// are still stored and must not be loaded again.
    fn last_read(&self, event: &str) -> Option<u64> {
        let lane = lane(self.drops, event);
        let removed = self.commit.removed_of(&lane).map(|key| number_in(key));
        removed.chain(self.fronts.get(event).and_then(|front| front.back()).map(|front| front.number)).max()
    }

    /// Loads a range of rows into the front of a queue. Rows put by this turn follow the stored rows.
    fn extend(&mut self, event: &str, range: &Range) -> Result<(), Halt> {
        let (rows, last) = (self.read(range)?, self.last_read(event));
        let put = self.commit.rows_put().iter().filter(|row| row.lane == range.lane && rows.len() < PAGE as usize);
        let known = |row: &&Row| last.is_none_or(|last| number_in(&row.key) > last);
        let rows = rows.iter().chain(put).filter(known);
        let rows: Vec<_> = rows.map(|row| Front { number: number_in(&row.key), body: row.body.clone() }).collect();
        self.fronts.entry(event.to_owned()).or_default().extend(rows);
        Ok(())
    }

    /// Returns the oldest events that satisfy a wait, if there are enough.
    pub(super) fn hit(&mut self, awaited: &Awaited) -> Result<Option<Hit>, Halt> {
        let event = awaited.event.as_str();
        let Some(count) = self.queues.get(event).map(|queue| queue.count).filter(|count| *count > 0) else {
            return Ok(None);
        };
        if count < u64::from(awaited.count) {
            return Ok(None);
        }
        if Bug::NewestFirst.planted()
            && let Some(front) = self.fronts.get_mut(event).filter(|front| front.len() as u64 == count)
        {
            front.make_contiguous().sort_by_key(|front| std::cmp::Reverse(front.number));
        }
        let mut hit = Hit { numbers: Vec::new(), events: Vec::new(), at: 0 };
        let mut looked = 0;
        loop {
            let Some(front) = self.fronts.get(event).and_then(|front| front.get(looked)) else {
                if looked as u64 >= count {
                    return Ok(None);
                }
                self.extend(event, &page(self.drops, event, self.last_read(event)))?;
                if self.fronts.get(event).is_none_or(|front| front.len() <= looked) {
                    return Ok(None);
                }
                continue;
            };
            looked += 1;
            let queued: Queued = decode_part("event", &front.body).map_err(Halt::Park)?;
            if awaited.key.is_none() || awaited.key == queued.key || Bug::KeyIgnored.planted() {
                hit.numbers.push(front.number);
                hit.events.push(queued.event);
                hit.at = hit.at.max(queued.at);
            }
            if hit.numbers.len() >= awaited.count as usize {
                return Ok(Some(hit));
            }
        }
    }

    /// Loads the next rows of the queues that have few events in memory.
    pub(super) fn prefetch(&mut self) -> Result<(), Halt> {
        let known = |event: &str| (self.fronts.get(event).map_or(0, VecDeque::len), self.last_read(event));
        for range in pages(self.queues, self.drops, known) {
            let event = event_of(range.lane.as_str()).to_owned();
            self.extend(&event, &range)?;
        }
        Ok(())
    }

    /// Removes events that were queued before a time, counts them and notifies the listeners (V9). Returns
    /// whether all of them are gone: a turn removes a limited number, and leaves the rest to the next turn.
    pub(super) fn expire(&mut self, event: &str, before: i64) -> Result<bool, Halt> {
        let mut count: u64 = 0;
        let is_done = loop {
            self.load(event)?;
            let Some(front) = self.fronts.get(event).and_then(|front| front.front()) else { break true };
            let queued: Queued = decode_part("event", &front.body).map_err(Halt::Park)?;
            if queued.since() > before {
                break true;
            }
            if self.commit.is_enough(1) {
                break false;
            }
            let number = front.number;
            self.taken(event, &[number]);
            if !Bug::ExpiredUncounted.planted() {
                self.queues.entry(event.to_owned()).or_default().expired += 1;
            }
            count += 1;
        };
        if count > 0 {
            self.commit.emit("workflow.expired", &[("event", event.into()), ("count", count.into())]);
        }
        Ok(is_done)
    }

    /// Removes events from their queue.
    pub(in crate::workflow::engine) fn taken(&mut self, event: &str, numbers: &[u64]) {
        if let Some(front) = self.fronts.get_mut(event) {
            front.retain(|front| !numbers.contains(&front.number));
        }
        if let Some(queue) = self.queues.get_mut(event) {
            queue.count = queue.count.saturating_sub(numbers.len() as u64);
            if queue.count == 0 && !queue.has_lost() {
                self.queues.remove(event);
            }
        }
        for number in numbers {
            self.commit.remove((lane(self.drops, event), journal::row_key(*number)));
        }
    }

    /// Discards events. They are counted for as long as the run exists.
    pub(in crate::workflow::engine) fn discard(&mut self, event: &str, numbers: &[u64]) {
        let queue = self.queues.entry(event.to_owned()).or_default();
        if !Bug::DiscardedUncounted.planted() {
            queue.discarded += numbers.len() as u64;
        }
        if numbers.is_empty() {
            queue.count = 0;
        }
        self.taken(event, numbers);
        self.commit.emit("workflow.discarded", &[("event", event.into()), ("count", numbers.len().into())]);
    }

    /// Drops all events with their lanes. They are counted, and listeners are notified. Returns whether there
    /// were any.
    pub(in crate::workflow::engine) fn drop_all(self) -> bool {
        let mut has_dropped = false;
        for (event, queue) in self.queues.iter_mut().filter(|(_, queue)| queue.count > 0) {
            self.commit.drop_lane(lane(self.drops, event));
            let count = std::mem::take(&mut queue.count);
            queue.discarded += count;
            self.commit.emit("workflow.discarded", &[("event", event.as_str().into()), ("count", count.into())]);
            has_dropped = true;
        }
        if has_dropped {
            self.fronts.clear();
        }
        has_dropped
    }
}

/// Returns the number in the key of an event's row.
pub(in crate::workflow::engine) fn number_in(key: &[u8]) -> u64 {
    key.try_into().map_or(0, u64::from_be_bytes)
}
