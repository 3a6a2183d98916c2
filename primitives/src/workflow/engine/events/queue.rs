//! The event queues of a run. Events are queued by type, and each event is taken once, by one wait (V).

use std::collections::VecDeque;

use drystone_runtime::{Millis, Name, Range, Row};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    decode_part, encode,
    event::Keep,
    planted::Bug,
    system::topics::EVENT_BYTES_MAX,
    workflow::{
        EventCode, SendError, Sent, Workflow,
        engine::{
            memory::{Front, Memory},
            turn::{BYTES_MAX, Halt, Seen, Turning, is_of},
        },
        record::{
            Record,
            pending::{Awaited, Pending, Stage, Waiting},
        },
        replay::journal::{self, Entry, What},
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

/// Requests the rows for a turn that polls the body. They are read before anything is changed: a turn that
/// asked for rows later would lose the body which it has taken from memory.
pub(in crate::workflow::engine) fn ready(memory: &mut Memory, seen: Seen<'_>) -> Result<(), Halt> {
    ready_if(memory, seen, |_| true)
}

/// Like `ready`, for an event that arrives: the body is polled only if something is due then (V4).
pub(in crate::workflow::engine) fn ready_for_event<W: Workflow>(
    memory: &mut Memory,
    seen: Seen<'_>,
    (event, body): (&str, &RawValue),
) -> Result<(), Halt> {
    let key = || {
        let code = W::SCRIPT.events.iter().find(|code| code.name == event)?;
        (code.read)(body.get().as_bytes()).ok().flatten()
    };
    ready_if(memory, seen, |record| record.untold > 0 || may_be_due(record, (event, key), seen.now))
}

/// Whether one more of these events may satisfy a wait, or something else is due.
fn may_be_due(record: &Record, (event, key): (&str, impl Fn() -> Option<String>), now: Millis) -> bool {
    let count = record.queues.get(event).map_or(0, |queue| queue.count) + 1;
    let is_hit = |awaited: &Awaited| {
        let is_enough = awaited.event == event && count >= u64::from(awaited.count);
        is_enough && (awaited.key.is_none() || awaited.key == key())
    };
    let may_be = |pending: &Pending| match &pending.what {
        Waiting::Step(_) => false,
        Waiting::Event(awaited) if is_hit(awaited) => true,
        _ => pending.due_at().is_some_and(|at| at <= now.0),
    };
    record.pending().any(may_be)
}

fn ready_if(memory: &mut Memory, seen: Seen<'_>, polls: impl FnOnce(&Record) -> bool) -> Result<(), Halt> {
    let Some(entity) = seen.entity else { return Ok(()) };
    let (record, live, fronts) = memory.at_hand(&entity.head).map_err(Halt::Park)?;
    let last = |front: &VecDeque<Front>| front.back().map(|front| front.number);
    let mut wanted = pages(record, |event| fronts.get(event).map_or((0, None), |front| (front.len(), last(front))));
    let is_polled = record.goes_on() && !record.winds_down() && !record.is_held();
    if is_polled && !live.is_some_and(|live| is_of(live, record)) && polls(record) {
        wanted.extend(record.unread());
    }
    wanted.extend(crate::workflow::engine::outbox::next_row(record));
    wanted.retain(|range| seen.rows.get(range).is_none());
    if wanted.is_empty() { Ok(()) } else { Err(Halt::Read(wanted)) }
}

/// Returns the next pages of the queues that have few events in memory.
fn pages(record: &Record, front: impl Fn(&str) -> (usize, Option<u64>)) -> Vec<Range> {
    if !record.goes_on() {
        return Vec::new();
    }
    let low = record.queues.iter().filter_map(|(event, queue)| {
        let (count, last) = front(event);
        (count < LOW && (count as u64) < queue.count).then(|| page(record.drops, event, last))
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

/// An operation that is due now: an index into `pending`, and the events for the operation.
pub(in crate::workflow::engine) struct Ready {
    index: usize,
    hit: Option<Hit>,
}

/// The time since which an operation is due, and the events that it takes.
struct Due {
    at: i64,
    hit: Option<Hit>,
    /// Whether the topic must first confirm that nothing was published before the deadline. Until then
    /// nothing happens that was due later (T4).
    is_held: bool,
}

impl Due {
    fn of(at: i64) -> Self {
        Self { at, hit: None, is_held: false }
    }
}

impl Ready {
    /// Returns how many rows of a queue the operation takes.
    pub(in crate::workflow::engine) fn rows(&self) -> usize {
        self.hit.as_ref().map_or(0, |hit| hit.numbers.len())
    }
}

/// The events that a wait can take now, and when the last of them was sent.
struct Hit {
    numbers: Vec<u64>,
    events: Vec<Box<RawValue>>,
    at: i64,
}

impl<W: Workflow> Turning<'_, W> {
    /// Queues an event, where a wait for it finds it. Returns the number of the event.
    pub(in crate::workflow::engine) fn send(&mut self, event: &str, body: &RawValue) -> Result<u64, Halt> {
        let code = Self::accepted(event)?;
        let malformed = |reason| SendError::Malformed { event: event.to_owned(), reason };
        let key = (code.read)(body.get().as_bytes()).map_err(malformed).map_err(refused)?;
        check_length(event, key.as_ref(), body)?;
        if let Some(end) = self.record.end.as_ref().filter(|_| !Bug::EndedTakesEvents.planted()) {
            return Err(refused(SendError::Terminated { status: end.phase.word().to_owned() }));
        }
        self.expire(event)?;
        let count = self.record.queues.get(event).map_or(0, |queue| queue.count);
        let (is_first, is_latest) = (code.options.keep == Keep::First, code.options.keep == Keep::Latest);
        if count > 0 && is_first {
            self.overwritten(event);
            return Ok(self.fronts.get(event).and_then(|front| front.front()).map_or(0, |front| front.number));
        }
        if count > 0 && is_latest {
            self.overwrite(event);
        } else if count >= code.options.max_queued {
            let limit = code.options.max_queued;
            return Err(refused(SendError::Full { event: event.to_owned(), limit }));
        }
        if self.swallows(event) {
            return Ok(self.record.events);
        }
        self.queue(event, key, (body, self.seen.now.0))
    }

    /// A planted bug: whether a wait that has timed out takes the event.
    fn swallows(&mut self, event: &str) -> bool {
        if !Bug::TimeoutSwallows.planted() {
            return false;
        }
        let timed_out = self.record.queues.get_mut(event).filter(|queue| queue.expired >= SWALLOWING);
        timed_out.is_some_and(|queue| {
            queue.expired -= SWALLOWING;
            true
        })
    }

    pub(in crate::workflow::engine) fn accepted(event: &str) -> Result<&'static EventCode, Halt> {
        let events = W::SCRIPT.events;
        events.iter().find(|code| code.name == event).ok_or_else(|| {
            let accepted = events.iter().map(|code| code.name.to_owned()).collect();
            refused(SendError::NotAccepted { event: event.to_owned(), accepted })
        })
    }

    /// Queues an event that was sent or published at `at`. Returns its number.
    pub(in crate::workflow::engine) fn queue(
        &mut self,
        event: &str,
        key: Option<String>,
        (body, at): (&RawValue, i64),
    ) -> Result<u64, Halt> {
        self.record.events += 1;
        let number = self.record.events;
        let now = self.seen.now.0;
        let queued = Queued { at, came: (at != now).then_some(now), key, event: body.to_owned() };
        let body = encode(&queued).map_err(Halt::Malformed)?;
        let queue = self.record.queues.entry(event.to_owned()).or_default();
        let front = self.fronts.entry(event.to_owned()).or_default();
        // A front is the beginning of its queue without gaps, so an event joins it only if the front is the
        // whole queue.
        if front.len() as u64 == queue.count && front.len() < PAGE as usize {
            front.push_back(Front { number, body: body.clone() });
        }
        queue.count += 1;
        let waits = |pending: &Pending| matches!(&pending.what, Waiting::Event(awaited) if awaited.event == event);
        if Bug::TakenBeforeRecorded.planted() && self.record.pending().any(waits) {
            self.is_more = true;
            return Ok(number);
        }
        let lane = lane(self.record.drops, event);
        self.commit.put.push(Row { lane, key: journal::row_key(number), body });
        Ok(number)
    }

    /// Removes the single event of a queue, to make room for a later one.
    fn overwrite(&mut self, event: &str) {
        let number = self.fronts.get(event).and_then(|front| front.front()).map(|front| front.number);
        if let Some(number) = number {
            self.taken(event, &[number]);
            self.overwritten(event);
        }
    }

    /// Counts an event that was overwritten, and notifies the listeners.
    fn overwritten(&mut self, event: &str) {
        self.record.queues.entry(event.to_owned()).or_default().overwritten += 1;
        self.tell_listeners("workflow.overwritten", &[("event", event.into())]);
    }

    /// Returns the answer to the sender: the number of the event, and whether the event was taken at once.
    pub(in crate::workflow::engine) fn sent(&self, number: u64, event: &str) -> Sent {
        let waits = self.fronts.get(event).is_some_and(|front| front.iter().any(|front| front.number == number));
        let (lane, key) = (lane(self.record.drops, event), journal::row_key(number));
        let is_put = self.commit.put.iter().any(|row| row.lane == lane && row.key == key);
        Sent { number, taken: !waits && !is_put }
    }

    /// Loads the next rows of the queues that have few events in memory.
    pub(in crate::workflow::engine) fn prefetch(&mut self) -> Result<(), Halt> {
        let known = |event: &str| (self.fronts.get(event).map_or(0, VecDeque::len), self.last_read(event));
        let low = pages(&self.record, known);
        for range in low {
            let event = event_of(range.lane.as_str()).to_owned();
            self.extend(&event, &range)?;
        }
        Ok(())
    }

    /// Loads the first rows of a queue, if none is in memory.
    fn load(&mut self, event: &str) -> Result<(), Halt> {
        let has_some = self.fronts.get(event).is_some_and(|front| !front.is_empty());
        if has_some || self.record.queues.get(event).is_none_or(|queue| queue.count == 0) {
            return Ok(());
        }
        self.extend(event, &page(self.record.drops, event, self.last_read(event)))
    }

    /// Returns the last known event of a queue. Events that this turn has removed count, because their rows
    /// are still stored and must not be loaded again.
    fn last_read(&self, event: &str) -> Option<u64> {
        let lane = lane(self.record.drops, event);
        let removed = self.commit.remove.iter().filter(|(of, _)| *of == lane).map(|(_, key)| number_in(key));
        removed.chain(self.fronts.get(event).and_then(|front| front.back()).map(|front| front.number)).max()
    }

    /// Loads a range of rows into the front of a queue. Rows put by this turn follow the stored rows.
    fn extend(&mut self, event: &str, range: &Range) -> Result<(), Halt> {
        let (rows, last) = (self.rows(range)?, self.last_read(event));
        let put = self.commit.put.iter().filter(|row| row.lane == range.lane && rows.len() < PAGE as usize);
        let known = |row: &&Row| last.is_none_or(|last| number_in(&row.key) > last);
        let rows = rows.iter().chain(put).filter(known);
        let rows: Vec<_> = rows.map(|row| Front { number: number_in(&row.key), body: row.body.clone() }).collect();
        self.fronts.entry(event.to_owned()).or_default().extend(rows);
        Ok(())
    }

    /// Returns the operation that was due first, if one is due (V6). Its events are not taken yet.
    pub(in crate::workflow::engine) fn next_ready(&mut self) -> Result<Option<Ready>, Halt> {
        // As long as expired events are left, the events behind them are unknown.
        if !self.expire_awaited()? {
            return Ok(None);
        }
        let mut first: Option<(i64, usize, Option<Hit>)> = None;
        let mut held = (i64::MAX, usize::MAX);
        for index in 0..self.record.pending.len() {
            match self.due(index)? {
                Some(Due { at, is_held: true, .. }) => held = held.min((at, index)),
                Some(Due { at, hit, .. }) if first.as_ref().is_none_or(|(earliest, ..)| at < *earliest) => {
                    first = Some((at, index, hit));
                }
                _ => {}
            }
        }
        let first = first.filter(|(at, index, _)| (*at, *index) < held);
        Ok(first.map(|(_, index, hit)| Ready { index, hit }))
    }

    /// Returns since when a pending operation is due, if it is due.
    fn due(&mut self, index: usize) -> Result<Option<Due>, Halt> {
        let now = self.seen.now;
        let pending = &self.record.pending[index];
        Ok(match &pending.what {
            Waiting::Step(_) | Waiting::Until => None,
            Waiting::Sleep(until) => is_over(*until, now).then(|| Due::of(*until)),
            // A detached child is not awaited, so the operation is done when the child has begun.
            Waiting::Child(childing) => (childing.is_detached && childing.input.is_none()).then(|| Due::of(now.0)),
            Waiting::Event(awaited) => {
                let is_known = matches!(pending.stage(), Some(Stage::Watched | Stage::Leaving));
                let until = awaited.until.map(|(until, _)| until).filter(|until| *until <= now.0);
                // An event that came after the deadline is for the next wait, even if no turn has handled
                // the deadline yet. But an event that is there before the wait begins is not late.
                let latest = until.filter(|_| !self.fresh.contains(&pending.op));
                let awaited = awaited.clone();
                let hit = self.hit(&awaited)?.filter(|hit| latest.is_none_or(|latest| hit.at <= latest));
                match (hit, until) {
                    (Some(hit), _) => Some(Due { at: hit.at, hit: Some(hit), is_held: false }),
                    // An event that was published before the deadline may still be in flight.
                    (None, Some(until)) => {
                        Some(Due { is_held: is_known && !Bug::DeadlineFirst.planted(), ..Due::of(until) })
                    }
                    (None, None) => None,
                }
            }
        })
    }

    /// Builds the entry of an operation that is due, and takes its events.
    pub(in crate::workflow::engine) fn entry_of(&mut self, Ready { index, hit }: Ready) -> Entry {
        let pending = self.record.pending[index].clone();
        let what = match (&pending.what, hit) {
            (Waiting::Event(awaited), Some(Hit { numbers, events, .. })) => {
                let entry = Entry::new(&pending.op, pending.hash, self.seen.now, What::Events(events));
                // An entry that is too long for the journal ends the run, and its events then stay unread
                // like all others (D1).
                if !is_too_long(&entry) {
                    self.leave_topic(&pending, false);
                    if !Bug::EventStays.planted() {
                        self.taken(&awaited.event, &numbers);
                    }
                }
                return entry;
            }
            (Waiting::Event(awaited), None) => {
                if Bug::TimeoutSwallows.planted() {
                    self.record.queues.entry(awaited.event.clone()).or_default().expired += SWALLOWING;
                }
                What::TimedOut(awaited.until.map_or(0, |(_, after)| after))
            }
            (Waiting::Child(childing), _) => What::Ok(childing.key.shown()),
            (Waiting::Sleep(_) | Waiting::Step(_) | Waiting::Until, _) => What::Woke,
        };
        Entry::new(&pending.op, pending.hash, self.seen.now, what)
    }

    /// Returns the oldest events that satisfy a wait, if there are enough.
    fn hit(&mut self, awaited: &Awaited) -> Result<Option<Hit>, Halt> {
        let event = awaited.event.as_str();
        let Some(count) = self.record.queues.get(event).map(|queue| queue.count).filter(|count| *count > 0) else {
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
                self.extend(event, &page(self.record.drops, event, self.last_read(event)))?;
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

    /// Removes expired events, counts them and notifies the listeners (V9). Returns whether all of them are
    /// gone: a turn removes a limited number, and leaves the rest to the next turn.
    fn expire(&mut self, event: &str) -> Result<bool, Halt> {
        let Ok(code) = Self::accepted(event) else { return Ok(true) };
        let before = self.seen.now.0.saturating_sub(i64::try_from(code.options.expires_ms).unwrap_or(i64::MAX));
        let mut count: u64 = 0;
        let is_done = loop {
            self.load(event)?;
            let Some(front) = self.fronts.get(event).and_then(|front| front.front()) else { break true };
            let queued: Queued = decode_part("event", &front.body).map_err(Halt::Park)?;
            if queued.since() > before {
                break true;
            }
            if self.is_enough(1) {
                self.is_more = true;
                break false;
            }
            let number = front.number;
            self.taken(event, &[number]);
            if !Bug::ExpiredUncounted.planted() {
                self.record.queues.entry(event.to_owned()).or_default().expired += 1;
            }
            count += 1;
        };
        if count > 0 {
            self.tell_listeners("workflow.expired", &[("event", event.into()), ("count", count.into())]);
        }
        Ok(is_done)
    }

    /// Removes the expired events of every type that the run waits for.
    fn expire_awaited(&mut self) -> Result<bool, Halt> {
        for index in 0..self.record.pending.len() {
            let Waiting::Event(awaited) = &self.record.pending[index].what else { continue };
            let event = awaited.event.clone();
            if !self.expire(&event)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Removes events from their queue.
    pub(in crate::workflow::engine) fn taken(&mut self, event: &str, numbers: &[u64]) {
        if let Some(front) = self.fronts.get_mut(event) {
            front.retain(|front| !numbers.contains(&front.number));
        }
        if let Some(queue) = self.record.queues.get_mut(event) {
            queue.count = queue.count.saturating_sub(numbers.len() as u64);
            if queue.count == 0 && !queue.has_lost() {
                self.record.queues.remove(event);
            }
        }
        for number in numbers {
            self.remove_row((lane(self.record.drops, event), journal::row_key(*number)));
        }
    }
}

/// Whether events are too long for one entry. Short events are not encoded to find that out, and most are
/// short.
fn is_too_long(entry: &Entry) -> bool {
    let What::Events(events) = &entry.what else { return false };
    let bytes: usize = events.iter().map(|event| event.get().len()).sum();
    bytes > BYTES_MAX / 2 && entry.written().is_ok_and(|written| written.len() > BYTES_MAX)
}

/// Returns the number in the key of an event's row.
pub(in crate::workflow::engine) fn number_in(key: &[u8]) -> u64 {
    key.try_into().map_or(0, u64::from_be_bytes)
}

fn is_over(until: i64, now: Millis) -> bool {
    let early = if Bug::WokenEarly.planted() { 50 } else { 0 };
    until <= now.0.saturating_add(early)
}

/// Refuses an event that would be too long for the journal or for a dead letter. Both write something around
/// the event, and repeat its key.
fn check_length(event: &str, key: Option<&String>, body: &RawValue) -> Result<(), Halt> {
    let of_key = key.and_then(|key| encode(key).ok()).map_or(0, |key| key.len());
    let bytes = body.get().len() + of_key;
    if bytes <= EVENT_BYTES_MAX {
        return Ok(());
    }
    let (bytes, limit) = (bytes as u64, EVENT_BYTES_MAX as u64);
    Err(refused(SendError::TooLarge { event: event.to_owned(), bytes, limit }))
}

/// Returns a typed error for the sender of an event.
#[expect(clippy::needless_pass_by_value, reason = "an error is handed over")]
pub(in crate::workflow::engine) fn refused(error: SendError) -> Halt {
    encode(&error).map_or_else(Halt::Malformed, Halt::Failed)
}
