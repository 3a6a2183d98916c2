//! W1, L4, L5, H2: entries are added at the end of a journal. No entry is left out, changed or removed, and
//! the model accepts each. A generation begins as it was asked to.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::{Writing, events, run_turns::is_undo};
use crate::sim::{
    recording::{
        log::Class,
        witness::{Run, state_of},
    },
    workflows::{self, End, Entry, Life, Phase, What, Wrong},
};

/// Feeds the entries that a write adds to the journal to the model.
pub(in crate::sim::check) fn told(writing: &Writing<'_>, run: &mut Run) {
    let record = &writing.change.record;
    let is_another = run.life.is_none() || record.generation != run.record.generation;
    let told = if is_another { generation(writing, run) } else { entries(writing, run) };
    if let Err(Wrong(class, law, why)) = told {
        return writing.check(false, class, law, || why);
    }
    let (counted, found) = (record.entries, run.journal.len() as u64);
    writing.check(counted == found, Class::Lost, "W1", || format!("counts {counted} entries and has {found}"));
}

/// The rows that a write puts into the journal of its record.
fn rows<'a>(writing: &'a Writing<'_>) -> impl Iterator<Item = (u64, Option<&'a Bytes>)> {
    let lane = writing.change.record.journal();
    let own = writing.change.journal.iter().filter(move |(of, ..)| *of == lane);
    own.map(|(_, number, body)| (*number, body.as_ref()))
}

/// Feeds the new entries of the same generation to the model.
fn entries(writing: &Writing<'_>, run: &mut Run) -> Result<(), Wrong> {
    begin_late(writing, run);
    for (number, body) in rows(writing) {
        let count = run.journal.len() as u64;
        let Some(body) = body.filter(|_| number == count) else {
            return Err(Wrong(Class::Lost, "W1", format!("writes {body:?} as entry {number} of {count}")));
        };
        run.journal.push(body.clone());
        entry(writing, run, body)?;
    }
    begin_late(writing, run);
    Ok(())
}

/// Begins the body of a deferred generation in the model. Its first poll has happened if the body has
/// changed its state, or if the run is stopped.
fn begin_late(writing: &Writing<'_>, run: &mut Run) {
    let has_begun = has_left_something(writing);
    let is_stopped = writing.change.record.stopped.is_some();
    if let Some(life) = run.life.as_mut().filter(|life| life.phase == Phase::Deferred)
        && (has_begun || is_stopped)
    {
        life.first_poll();
    }
}

fn has_left_something(writing: &Writing<'_>) -> bool {
    state_of(writing.entity).is_some_and(|state| state.cleanup.is_some())
}

/// Feeds the journal of a new generation to the model. The new generation may keep a part of the old
/// journal. Entries that the old generation recorded in the same write went with its lanes and cannot be
/// seen.
fn generation(writing: &Writing<'_>, run: &mut Run) -> Result<(), Wrong> {
    let record = &writing.change.record;
    let journal = journal(writing, run)?;
    let read = |body: &Bytes| Run::entry(body).map_err(|why| Wrong(Class::Broken, "W1", why));
    let first = journal.first().ok_or_else(|| Wrong(Class::Lost, "W1", "has no journal".to_owned()))?;
    let first = read(first)?;
    is_asked_for(run, &first)?;
    keeps_nothing_undone(run, record.kept)?;
    run.root = run.root.or_else(|| first.trip().filter(|_| record.generation == 1).map(|trip| trip.number));
    if let Some(old) = run.life.take() {
        count(writing, &old, &first);
    }
    let mut life = Life::begin(record.seed, &first, (record.kept > 0).then_some(record.started_at))?;
    // A deferred generation may have been cancelled or terminated in the same write, before its first poll.
    let is_stopped_early = match journal.get(1) {
        Some(second) => matches!(read(second)?.what, What::CancelAsked | What::Ended(End::Terminated)),
        None => false,
    };
    if !record.is_deferred() && (has_left_something(writing) || !is_stopped_early) {
        life.first_poll();
    }
    (run.life, run.journal) = (Some(life), Vec::new());
    for (number, body) in journal.iter().enumerate() {
        run.journal.push(body.clone());
        let is_kept = (number as u64) < record.kept;
        if let Some(life) = run.life.as_mut().filter(|_| !is_kept) {
            life.ground.told_again = None;
        }
        match number {
            0 => {}
            _ if is_kept => drop(life_of(run)?.entry(&read(body)?)?),
            _ => entry(writing, run, body)?,
        }
    }
    life_of(run)?.ground.told_again = None;
    Ok(())
}

fn life_of(run: &mut Run) -> Result<&mut Life, Wrong> {
    run.life.as_mut().ok_or_else(|| Wrong(Class::Lost, "W1", "has not begun".to_owned()))
}

/// Builds the journal of a new generation. The kept part must be unchanged, except for its first entry.
fn journal(writing: &Writing<'_>, run: &Run) -> Result<Vec<Bytes>, Wrong> {
    let record = &writing.change.record;
    let put: BTreeMap<u64, &Bytes> = rows(writing).filter_map(|(number, body)| Some((number, body?))).collect();
    let old: &[Bytes] = if run.record.journal() == record.journal() { &run.journal } else { &[] };
    let entry = |number: u64| {
        let kept = old.get(number as usize);
        let is_changed = number > 0 && number < record.kept && kept.is_some() && put.contains_key(&number);
        let body = put.get(&number).copied().or(kept).filter(|_| !is_changed);
        body.cloned().ok_or_else(|| Wrong(Class::Lost, "L4 W1", format!("loses entry {number} of {}", record.entries)))
    };
    (0..record.entries).map(entry).collect()
}

/// Checks that the new generation was asked for (L4, L5): it has the same trip again, a trip of
/// `continue_as`, or a trip that a caller gave.
fn is_asked_for(run: &Run, first: &Entry) -> Result<(), Wrong> {
    let (Some(old), Some(trip)) = (&run.life, first.trip()) else { return Ok(()) };
    let is_it = |known: &workflows::Trip| known.generations().iter().any(|known| known.number == trip.number);
    let given = || workflows::world().recorder.acted.restarted();
    if is_it(&old.trip) || given().iter().any(is_it) {
        return Ok(());
    }
    Err(Wrong(Class::Broken, "L5", format!("goes on as {trip:?}, and was {:?}", old.trip)))
}

/// Checks that no step is kept whose undo was tried, whether or not the undo succeeded (L4, W9).
fn keeps_nothing_undone(run: &Run, kept: u64) -> Result<(), Wrong> {
    let entries: Vec<Entry> = run.journal.iter().filter_map(|body| Run::entry(body).ok()).collect();
    let undone = |entry: &Entry| entry.op.strip_prefix("undo/").and_then(|op| Some(op.rsplit_once('/')?.0.to_owned()));
    let is_kept = |op: &String| entries.iter().take(kept as usize).any(|entry| entry.op == *op);
    match entries.iter().filter_map(undone).find(is_kept) {
        Some(op) => Err(Wrong(Class::Broken, "L4 W9", format!("keeps `{op}`, which was undone"))),
        None => Ok(()),
    }
}

fn count(writing: &Writing<'_>, old: &Life, first: &Entry) {
    let is_same = first.trip().is_some_and(|trip| trip.number == old.trip.number);
    writing.chronicle.sometimes(match (is_same, writing.change.record.kept > 0) {
        (_, true) => "a run was restarted from one of its steps",
        (true, false) => "a run was restarted",
        (false, false) => "a run went on as another generation",
    });
    if old.is_over() {
        writing.chronicle.sometimes("a run was restarted that had ended");
    }
    if writing.change.record.is_deferred() {
        writing.chronicle.sometimes("a generation waited for a turn of its own");
    }
}

/// Feeds one entry to the model.
fn entry(writing: &Writing<'_>, run: &mut Run, body: &Bytes) -> Result<(), Wrong> {
    let entry = Run::entry(body).map_err(|why| Wrong(Class::Broken, "W1", why))?;
    held(writing, run, &entry)?;
    let life = life_of(run)?;
    let before = life.ground.open.clone();
    let op = life.entry(&entry)?;
    match &entry.what {
        What::Ok(_) if entry.op.contains("call:") => writing.chronicle.sometimes("a till answered a run"),
        What::Ok(_) if entry.op.contains("permit:") => writing.chronicle.sometimes("a run held a permit"),
        What::TimedOut(_) => writing.chronicle.sometimes("a wait timed out"),
        What::Updated(_) => writing.chronicle.sometimes("a run was updated"),
        What::Ok(_) if is_undo(&entry.op) => writing.chronicle.sometimes("a step was undone"),
        What::Failed(_) | What::Fault(_) if is_undo(&entry.op) => {
            writing.chronicle.sometimes("an undo failed for good");
        }
        _ => {}
    }
    if let (Some(op), What::Events(events)) = (op, &entry.what) {
        events::took(writing, run, (&op, entry.at), &before, events)?;
    }
    Ok(())
}

/// Checks that timers and events wait while a run is paused (H2).
fn held(writing: &Writing<'_>, run: &Run, entry: &Entry) -> Result<(), Wrong> {
    let (Some(before), Some(after)) = (&run.record.paused, &writing.change.record.paused) else { return Ok(()) };
    let is_due = matches!(entry.what, What::Woke | What::TimedOut(_) | What::Events(_));
    if before.at == after.at && is_due {
        return Err(Wrong(Class::Broken, "H2", format!("is held, and has {entry:?}")));
    }
    Ok(())
}
