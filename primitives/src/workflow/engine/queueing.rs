//! Events: queued by type, taken by waits, each once (V).

use std::collections::VecDeque;

use drystone_runtime::{Millis, Name, Range, Row};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    super::{
        EventCode, SendError, Sent, Workflow,
        event::Keep,
        journal::{self, Entry, What},
        pending::{Awaited, Pending, Stage, Waiting},
        record::Record,
    },
    memory::{Front, Memory},
    turning::{BYTES_MAX, Halt, Seen, Turning, is_of},
};
use crate::{decode_part, encode, planted::Bug, topics::EVENT_BYTES_MAX};

/// An event in its queue.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Queued {
    /// When it was sent or published: what it is ordered by.
    pub(super) at: i64,
    /// When it came to the run, if it was published: it may have been under way for longer than events are queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    came: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<String>,
    pub(super) event: Box<RawValue>,
}

/// Rows of a queue that are read at once, and how few of them may be at hand.
const PAGE: u32 = 64;
const LOW: usize = 16;

/// What marks a queue whose next event is swallowed, if that bug is planted.
const SWALLOWING: u64 = 1 << 40;

impl Queued {
    /// Since when it waits to be taken.
    fn since(&self) -> i64 {
        self.came.filter(|_| !Bug::ExpiredOnArrival.planted()).unwrap_or(self.at)
    }
}

/// What a turn will need that polls the body: read before anything is done, so that what is in memory stays.
pub(super) fn ready(memory: &mut Memory, seen: Seen<'_>) -> Result<(), Halt> {
    ready_if(memory, seen, |_| true)
}

/// The same of an event that comes: the body is polled only if something is due for it then (V4).
pub(super) fn ready_for_event<W: Workflow>(
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

/// Whether one more of these events may be what somebody waits for, or something is due besides.
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
    wanted.extend(super::owing::next_row(record));
    wanted.retain(|range| seen.rows.get(range).is_none());
    if wanted.is_empty() { Ok(()) } else { Err(Halt::Read(wanted)) }
}

/// The pages of the queues of which little is at hand.
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

/// The rows of a queue behind those that are known.
fn page(drops: u32, event: &str, last: Option<u64>) -> Range {
    let from = last.map_or(0, |last| last + 1);
    Range { from: Some(journal::row_key(from)), ..Range::first(lane(drops, event), PAGE) }
}

/// So many of what is queued of an event, behind a number.
pub(super) fn behind(drops: u32, event: &str, after: u64, limit: u32) -> Range {
    Range { from: Some(journal::row_key(after.saturating_add(1))), ..Range::first(lane(drops, event), limit) }
}

/// The lane of an event's queue. A lane that was dropped is never used again: after each time there are others.
pub(super) fn lane(drops: u32, event: &str) -> Name {
    if drops == 0 { Name::from(format!("event/{event}")) } else { Name::from(format!("event~{drops}/{event}")) }
}

/// The event whose lane it is.
fn event_of(lane: &str) -> &str {
    lane.split_once('/').map_or(lane, |(_, event)| event)
}

/// What is due now: which of the pending, and the events that it takes.
pub(super) struct Ready {
    index: usize,
    hit: Option<Hit>,
}

/// Since when something is due, and the events that it takes.
struct Due {
    at: i64,
    hit: Option<Hit>,
    /// Whether it must first be known that nothing was published before: until then nothing happens that was due later (T4).
    is_held: bool,
}

impl Due {
    fn of(at: i64) -> Self {
        Self { at, hit: None, is_held: false }
    }
}

impl Ready {
    /// How many rows it takes from a queue.
    pub(super) fn rows(&self) -> usize {
        self.hit.as_ref().map_or(0, |hit| hit.numbers.len())
    }
}

/// What can be taken now: which events, and when the last of them was sent.
struct Hit {
    numbers: Vec<u64>,
    events: Vec<Box<RawValue>>,
    at: i64,
}

impl<W: Workflow> Turning<'_, W> {
    /// Takes an event in: it is queued, and whoever waits for it finds it there.
    pub(super) fn send(&mut self, event: &str, body: &RawValue) -> Result<u64, Halt> {
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

    /// Whether a wait that has timed out takes it: a bug that can be planted.
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

    pub(super) fn accepted(event: &str) -> Result<&'static EventCode, Halt> {
        let events = W::SCRIPT.events;
        events.iter().find(|code| code.name == event).ok_or_else(|| {
            let accepted = events.iter().map(|code| code.name.to_owned()).collect();
            refused(SendError::NotAccepted { event: event.to_owned(), accepted })
        })
    }

    /// Queues an event of this time.
    pub(super) fn queue(
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
        // Only what is all of a queue, or its beginning, is a front of it.
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

    /// The single event that is kept makes room for a later one.
    fn overwrite(&mut self, event: &str) {
        let number = self.fronts.get(event).and_then(|front| front.front()).map(|front| front.number);
        if let Some(number) = number {
            self.taken(event, &[number]);
            self.overwritten(event);
        }
    }

    /// Of two events one alone is kept: the other is counted, and told.
    fn overwritten(&mut self, event: &str) {
        self.record.queues.entry(event.to_owned()).or_default().overwritten += 1;
        self.tell_listeners("workflow.overwritten", &[("event", event.into())]);
    }

    /// What was sent, as its sender is told.
    pub(super) fn sent(&self, number: u64, event: &str) -> Sent {
        let waits = self.fronts.get(event).is_some_and(|front| front.iter().any(|front| front.number == number));
        let (lane, key) = (lane(self.record.drops, event), journal::row_key(number));
        let is_put = self.commit.put.iter().any(|row| row.lane == lane && row.key == key);
        Sent { number, taken: !waits && !is_put }
    }

    /// Rows of queues of which little is at hand.
    pub(super) fn prefetch(&mut self) -> Result<(), Halt> {
        let known = |event: &str| (self.fronts.get(event).map_or(0, VecDeque::len), self.last_read(event));
        let low = pages(&self.record, known);
        for range in low {
            let event = event_of(range.lane.as_str()).to_owned();
            self.extend(&event, &range)?;
        }
        Ok(())
    }

    /// The first rows of a queue, if none is at hand.
    fn load(&mut self, event: &str) -> Result<(), Halt> {
        let has_some = self.fronts.get(event).is_some_and(|front| !front.is_empty());
        if has_some || self.record.queues.get(event).is_none_or(|queue| queue.count == 0) {
            return Ok(());
        }
        self.extend(event, &page(self.record.drops, event, self.last_read(event)))
    }

    /// The last event that is known of a queue. What this turn has removed is still stored, and must not come back.
    fn last_read(&self, event: &str) -> Option<u64> {
        let lane = lane(self.record.drops, event);
        let removed = self.commit.remove.iter().filter(|(of, _)| *of == lane).map(|(_, key)| number_in(key));
        removed.chain(self.fronts.get(event).and_then(|front| front.back()).map(|front| front.number)).max()
    }

    /// Rows behind those that are known; behind those that are stored are those that this very turn has put.
    fn extend(&mut self, event: &str, range: &Range) -> Result<(), Halt> {
        let (rows, last) = (self.rows(range)?, self.last_read(event));
        let put = self.commit.put.iter().filter(|row| row.lane == range.lane && rows.len() < PAGE as usize);
        let known = |row: &&Row| last.is_none_or(|last| number_in(&row.key) > last);
        let rows = rows.iter().chain(put).filter(known);
        let rows: Vec<_> = rows.map(|row| Front { number: number_in(&row.key), body: row.body.clone() }).collect();
        self.fronts.entry(event.to_owned()).or_default().extend(rows);
        Ok(())
    }

    /// What has happened and was not told yet: of what is due, what was due first (V6). Nothing is taken by that.
    pub(super) fn next_ready(&mut self) -> Result<Option<Ready>, Halt> {
        // As long as some are left that have expired, nobody knows what is behind them.
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

    /// Since when something is due of what is pending, if it is.
    fn due(&mut self, index: usize) -> Result<Option<Due>, Halt> {
        let now = self.seen.now;
        let pending = &self.record.pending[index];
        Ok(match &pending.what {
            Waiting::Step(_) | Waiting::Until => None,
            Waiting::Sleep(until) => is_over(*until, now).then(|| Due::of(*until)),
            // One that nobody waits for has done its part when it was begun.
            Waiting::Child(childing) => (childing.is_detached && childing.input.is_none()).then(|| Due::of(now.0)),
            Waiting::Event(awaited) => {
                let is_known = matches!(pending.stage(), Some(Stage::Watched | Stage::Leaving));
                let until = awaited.until.map(|(until, _)| until).filter(|until| *until <= now.0);
                // One that came after the deadline is for the next wait, also if nobody has looked at the deadline yet; but what is there
                // before the wait is not late.
                let latest = until.filter(|_| !self.fresh.contains(&pending.op));
                let awaited = awaited.clone();
                let hit = self.hit(&awaited)?.filter(|hit| latest.is_none_or(|latest| hit.at <= latest));
                match (hit, until) {
                    (Some(hit), _) => Some(Due { at: hit.at, hit: Some(hit), is_held: false }),
                    // An event may be on its way that was published before.
                    (None, Some(until)) => {
                        Some(Due { is_held: is_known && !Bug::DeadlineFirst.planted(), ..Due::of(until) })
                    }
                    (None, None) => None,
                }
            }
        })
    }

    /// The entry of what is due; the events that it has are taken.
    pub(super) fn entry_of(&mut self, Ready { index, hit }: Ready) -> Entry {
        let pending = self.record.pending[index].clone();
        let what = match (&pending.what, hit) {
            (Waiting::Event(awaited), Some(Hit { numbers, events, .. })) => {
                let entry = Entry::new(&pending.op, pending.hash, self.seen.now, What::Events(events));
                // What is too long for the journal ends the run, and the events are as unread as all others then (D1).
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

    /// The events that a wait can take now, the oldest first.
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

    /// Events that nobody took in time are gone, counted, and told (V9); whether all of them are: what one turn may not remove is for
    /// another.
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

    /// The same of all events that are waited for.
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

    /// These events are in their queue no more.
    pub(super) fn taken(&mut self, event: &str, numbers: &[u64]) {
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

/// Whether events are too long for one entry. Mostly that need not be measured, for few events are long.
fn is_too_long(entry: &Entry) -> bool {
    let What::Events(events) = &entry.what else { return false };
    let bytes: usize = events.iter().map(|event| event.get().len()).sum();
    bytes > BYTES_MAX / 2 && entry.written().is_ok_and(|written| written.len() > BYTES_MAX)
}

/// The number in the key of an event's row.
pub(super) fn number_in(key: &[u8]) -> u64 {
    key.try_into().map_or(0, u64::from_be_bytes)
}

fn is_over(until: i64, now: Millis) -> bool {
    let early = if Bug::WokenEarly.planted() { 50 } else { 0 };
    until <= now.0.saturating_add(early)
}

/// Refuses an event that could not be journalled, or not be buried: both write something around it, and its key once more.
fn check_length(event: &str, key: Option<&String>, body: &RawValue) -> Result<(), Halt> {
    let of_key = key.and_then(|key| encode(key).ok()).map_or(0, |key| key.len());
    let bytes = body.get().len() + of_key;
    if bytes <= EVENT_BYTES_MAX {
        return Ok(());
    }
    let (bytes, limit) = (bytes as u64, EVENT_BYTES_MAX as u64);
    Err(refused(SendError::TooLarge { event: event.to_owned(), bytes, limit }))
}

/// An error of ours for whoever sends.
#[expect(clippy::needless_pass_by_value, reason = "an error is handed over")]
pub(super) fn refused(error: SendError) -> Halt {
    encode(&error).map_or_else(Halt::Malformed, Halt::Failed)
}
