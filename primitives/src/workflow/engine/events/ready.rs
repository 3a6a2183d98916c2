//! The rows that a turn needs before it polls the body.

use std::collections::VecDeque;

use drystone_runtime::Millis;
use serde_json::value::RawValue;

use super::queue::pages;
use crate::workflow::{
    Workflow,
    engine::{
        memory::{Front, Memory},
        outbox,
        turn::{Halt, Seen, is_of},
    },
    record::{
        Record,
        pending::{Awaited, Pending, Waiting},
    },
};

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
    let in_memory = |event: &str| fronts.get(event).map_or((0, None), |front| (front.len(), last(front)));
    let mut wanted = if record.goes_on() { pages(&record.queues, record.drops, in_memory) } else { Vec::new() };
    let is_polled = record.goes_on() && !record.winds_down() && !record.is_held();
    if is_polled && !live.is_some_and(|live| is_of(live, record)) && polls(record) {
        wanted.extend(record.unread());
    }
    wanted.extend(outbox::next_rows(record));
    wanted.retain(|range| seen.rows.get(range).is_none());
    if wanted.is_empty() { Ok(()) } else { Err(Halt::Read(wanted)) }
}
