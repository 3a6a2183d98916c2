//! The events that a run accepts, and the operations that are due: events are queued where a wait finds them,
//! and of all that is due the first is delivered first (V6).

use drystone_runtime::Millis;
use serde_json::value::RawValue;

use super::queue::Hit;
use crate::{
    encode,
    event::Keep,
    planted::Bug,
    system::topics::EVENT_BYTES_MAX,
    workflow::{
        EventCode, SendError, Workflow,
        engine::turn::{BYTES_MAX, Halt, Turning},
        record::pending::{Pending, Stage, Waiting},
        replay::journal::{Entry, What},
    },
};

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
        let count = self.queues().count(event);
        let (is_first, is_latest) = (code.options.keep == Keep::First, code.options.keep == Keep::Latest);
        if count > 0 && is_first {
            let mut queues = self.queues();
            queues.overwritten(event);
            return Ok(queues.first(event).unwrap_or(0));
        }
        if count > 0 && is_latest {
            self.queues().overwrite(event);
        } else if count >= code.options.max_queued {
            let limit = code.options.max_queued;
            return Err(refused(SendError::Full { event: event.to_owned(), limit }));
        }
        if self.queues().swallows(event) {
            return Ok(self.record.events);
        }
        self.queue(event, key, (body, self.seen.now.0))
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
        sent: (&RawValue, i64),
    ) -> Result<u64, Halt> {
        let waits = |pending: &Pending| matches!(&pending.what, Waiting::Event(awaited) if awaited.event == event);
        let is_put = !(Bug::TakenBeforeRecorded.planted() && self.record.pending().any(waits));
        if !is_put {
            self.leave_rest();
        }
        self.queues().push(event, key, sent, is_put)
    }

    /// Loads the next rows of the queues that have few events in memory, if the body may take events.
    pub(in crate::workflow::engine) fn prefetch(&mut self) -> Result<(), Halt> {
        if self.record.goes_on() { self.queues().prefetch() } else { Ok(()) }
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
                let hit = self.queues().hit(&awaited)?.filter(|hit| latest.is_none_or(|latest| hit.at <= latest));
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
                    self.topic_waits().leave(&pending, false);
                    if !Bug::EventStays.planted() {
                        self.queues().taken(&awaited.event, &numbers);
                    }
                }
                return entry;
            }
            (Waiting::Event(awaited), None) => {
                if Bug::TimeoutSwallows.planted() {
                    self.queues().swallow_next(&awaited.event);
                }
                What::TimedOut(awaited.until.map_or(0, |(_, after)| after))
            }
            (Waiting::Child(childing), _) => What::Ok(childing.key.shown()),
            (Waiting::Sleep(_) | Waiting::Step(_) | Waiting::Until, _) => What::Woke,
        };
        Entry::new(&pending.op, pending.hash, self.seen.now, what)
    }

    /// Removes the expired events of a type. Returns whether all of them are gone.
    fn expire(&mut self, event: &str) -> Result<bool, Halt> {
        let Ok(code) = Self::accepted(event) else { return Ok(true) };
        let before = self.seen.now.0.saturating_sub(i64::try_from(code.options.expires_ms).unwrap_or(i64::MAX));
        let is_done = self.queues().expire(event, before)?;
        if !is_done {
            self.leave_rest();
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
}

/// Whether events are too long for one entry. Short events are not encoded to find that out, and most are
/// short.
fn is_too_long(entry: &Entry) -> bool {
    let What::Events(events) = &entry.what else { return false };
    let bytes: usize = events.iter().map(|event| event.get().len()).sum();
    bytes > BYTES_MAX / 2 && entry.written().is_ok_and(|written| written.len() > BYTES_MAX)
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
