//! The moves of an item: from a delay to the line, from the line to where it runs, and from there away or to
//! a retry.

use drystone_runtime::{Mark, Range, Row, Status as Phase, Version};
use serde::Serialize;
use serde_json::{json, value::RawValue};

use super::{
    Options, Record,
    item::Kept,
    once,
    place::{AGAIN, DELAYED, LINE, Place, RETRY, due, due_key, number_key},
    record::{AHEAD, Class, Running},
    turns::{DRAIN, put_soon, waiting},
};
use crate::{
    Failure, Timestamp,
    context::marked_id,
    d, decode, encode,
    kind::{Stop, Turn},
    kinds::{PastError, dead, past::remember},
    planted::Bug,
};

/// How many delayed items join the line in one turn.
const SLICE: usize = 100;

impl Options {
    /// Moves due items on, starts items that may run, and sets alarm and status from the record.
    pub(super) fn settle(&self, turn: &mut Turn<'_, Record>) -> Result<(), Stop> {
        ripen(turn)?;
        let is_more = self.begin(turn)?;
        once::fade(turn)?;
        let now: Timestamp = turn.now.into();
        let record = &mut turn.record;
        let held_up = record.begin_held(now);
        record.delayed.settled();
        record.retrying.settled();
        if record.depth() == 0 {
            // Without rows the record may forget how far the line has been read.
            record.line.clear();
        }
        // A due retry that finds no free place is started by the end of a running item, so it needs no
        // alarm.
        let retry = record.retrying.at.filter(|at| *at > now && !record.paused);
        let times = [record.delayed.at, retry, held_up, record.fade_at, is_more.then_some(now)];
        let alarm = times.into_iter().flatten().min();
        let status = self.phase(record);
        turn.set_alarm(alarm.map(Into::into));
        turn.set_status(status);
        Ok(())
    }

    fn phase(&self, record: &Record) -> Phase {
        match record {
            _ if record.running_now(self.places()).next().is_some() => Phase::live("processing"),
            _ if record.depth() == 0 => Phase::resting("empty"),
            _ if record.paused => Phase::resting("paused"),
            _ => Phase::live("waiting"),
        }
    }

    /// Starts items while there are free places. Returns whether a place is left for items that no read has
    /// brought yet.
    fn begin(&self, turn: &mut Turn<'_, Record>) -> Result<bool, Stop> {
        let free = self.places().saturating_sub(turn.record.running.len());
        let is_forgotten = Bug::PauseForgotten.planted() && turn.record.retrying.is_due(turn.now.into());
        if turn.record.paused && !is_forgotten || free == 0 {
            return Ok(false);
        }
        let retries = due_retries(turn, free)?;
        let mut retried = 0;
        for _ in 0..free {
            let may_retry = retried < retries.len();
            let waits = turn.record.waiting() > 0;
            let retries_now = may_retry && (!waits || !turn.record.retried_last);
            if retries_now {
                begin_again(turn, retries[retried])?;
                retried += 1;
            } else if !waits || !begin_next(turn)? {
                break;
            }
            turn.record.retried_last = retries_now;
        }
        if retried > 0 {
            let next = all_retries(turn, free)?.get(retried).map(due).transpose()?;
            turn.record.retrying.take(retried, next.map(|(at, _)| at.into()));
        }
        let is_free = turn.record.running.len() < self.places();
        Ok(is_free && turn.record.waiting() > 0)
    }

    /// Handles a failed execution: the item is retried later, or given up.
    pub(super) fn failed(&self, turn: &mut Turn<'_, Record>, index: usize, error: &Failure) -> Result<(), Stop> {
        let running = turn.record.running[index];
        let (number, attempt) = (running.number(), running.attempt());
        let Some(pause) = self.attempts.pause_after(attempt, number) else { return died(turn, index, error) };
        let mut kept = row_of(turn, &running)?;
        // Later than now, however short the pause, because this turn cannot read the rows that it writes.
        let at = turn.now.after(pause.max(d!("1ms")));
        kept.fail(attempt, error, turn.now.into());
        remember(&mut turn.record.errors, error, turn.now.into());
        let row = encode(&kept).map_err(Stop::Malformed)?;
        take_away(turn, &running);
        if self.strict_order && !Bug::QueueOrderForgotten.planted() {
            put_soon(turn, AGAIN, number_key(number), row);
            let not_before = Some(at.into());
            turn.record.running[index] = Running::Again { number, attempt: attempt + 1, not_before };
        } else {
            turn.put(RETRY, due_key(at, number), row);
            turn.record.running.remove(index);
            turn.record.retrying.add(at.into());
        }
        let retry_at: Timestamp = at.into();
        let told = json!({ "number": number, "attempt": attempt, "error": error, "retry_at": retry_at });
        turn.emit("queue.failed", &told);
        Ok(())
    }
}

/// Moves delayed items that are due to the line.
fn ripen(turn: &mut Turn<'_, Record>) -> Result<(), Stop> {
    if !turn.record.delayed.is_due(turn.now.into()) {
        return Ok(());
    }
    let rows = turn.rows(Range::first(DELAYED, SLICE as u32 + 1))?;
    let mut joined = 0;
    for row in rows.iter().take(SLICE) {
        let (at, number) = due(row)?;
        if at > turn.now {
            break;
        }
        let kept: Kept = decode(&row.body).map_err(Stop::Malformed)?;
        let place = turn.record.join(kept.priority, number);
        if !Bug::JoinedTwice.planted() {
            turn.remove(DELAYED, row.key.clone());
        }
        put_soon(turn, LINE, place.key(), row.body.clone());
        joined += 1;
    }
    let next = rows.get(joined).map(due).transpose()?;
    turn.record.delayed.take(joined, next.map(|(at, _)| at.into()));
    Ok(())
}

/// Returns the items that wait for a retry, as many as there are free places, and one more.
fn all_retries<'a>(turn: &Turn<'a, Record>, free: usize) -> Result<&'a [Row], Stop> {
    turn.rows(Range::first(RETRY, free as u32 + 1))
}

/// Returns the items that are due for a retry.
fn due_retries<'a>(turn: &Turn<'a, Record>, free: usize) -> Result<Vec<&'a Row>, Stop> {
    if !turn.record.retrying.is_due(turn.now.into()) && !Bug::RetriedEarly.planted() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for row in all_retries(turn, free)?.iter().take(free) {
        if due(row)?.0 > turn.now && !Bug::RetriedEarly.planted() {
            break;
        }
        found.push(row);
    }
    Ok(found)
}

fn begin_again(turn: &mut Turn<'_, Record>, row: &Row) -> Result<(), Stop> {
    let (_, number) = due(row)?;
    let kept: Kept = decode(&row.body).map_err(Stop::Malformed)?;
    let attempt = kept.failed + u32::from(!Bug::AttemptsForgotten.planted());
    turn.remove(RETRY, row.key.clone());
    put_soon(turn, AGAIN, number_key(number), row.body.clone());
    turn.record.running.push(Running::Again { number, attempt, not_before: None });
    Ok(())
}

/// Starts the first waiting item. Returns `false` if its row was written by this turn and cannot be read
/// yet.
fn begin_next(turn: &mut Turn<'_, Record>) -> Result<bool, Stop> {
    let Some(class) = turn.record.next_class() else { return Ok(false) };
    if class.ahead.is_empty() {
        let (range, priority) = (waiting(class, AHEAD as u32), class.priority);
        let rows = turn.rows(range)?;
        let places = rows.iter().map(Place::of).collect::<Result<Vec<_>, _>>()?;
        rows.iter().for_each(|row| turn.remember(row.clone()));
        let Some(class) = turn.record.next_class() else { return Ok(false) };
        let passed_over = usize::from(Bug::PassedOver.planted());
        class.ahead = places.into_iter().filter(|place| place.priority == priority).skip(passed_over).collect();
        class.beyond = class.beyond.saturating_sub(class.ahead.len() as u64);
    }
    let Some(place) = turn.record.next_class().and_then(Class::begin) else { return Ok(false) };
    turn.record.running.push(Running::First(place));
    Ok(true)
}

/// Ends a processed item: its row is removed by the commit that records the success (Q2).
pub(super) fn succeeded(turn: &mut Turn<'_, Record>, index: usize) {
    let running = turn.record.running.remove(index);
    turn.record.done += 1;
    if !Bug::ItemKept.planted() {
        take_away(turn, &running);
    }
    is_over(turn);
}

/// Gives an item up: it becomes a dead letter.
pub(super) fn died(turn: &mut Turn<'_, Record>, index: usize, error: &Failure) -> Result<(), Stop> {
    let running = turn.record.running[index];
    let mut kept = row_of(turn, &running)?;
    kept.fail(running.attempt(), error, turn.now.into());
    remember(&mut turn.record.errors, error, turn.now.into());
    turn.record.running.remove(index);
    turn.record.dead += 1;
    take_away(turn, &running);
    let number = running.number();
    if !Bug::ItemBuried.planted() {
        bury(turn, &running, kept, error);
    }
    is_over(turn);
    turn.emit("queue.dead", &json!({ "number": number, "attempts": running.attempt(), "error": error }));
    Ok(())
}

/// Sends an item to the dead letters.
fn bury(turn: &mut Turn<'_, Record>, running: &Running, kept: Kept, error: &Failure) {
    #[derive(Serialize)]
    struct Dead {
        id: String,
        number: u64,
        priority: u8,
        errors: Vec<PastError>,
        item: Box<RawValue>,
    }
    let (Some(definition), Some(own)) = (turn.definition(), turn.id()) else { return };
    let Kept { priority, id, errors, item, mark, .. } = kept;
    let id = id.unwrap_or_else(|| item_id(definition, own, mark, running.number()));
    let item = Dead { id, number: running.number(), priority, errors, item };
    if let Some(message) = dead::message(turn, ("queue", "item"), (running.attempt(), error), item) {
        turn.send(message);
    }
}

/// Returns the id of an item for other systems: the work id of its execution.
fn item_id(definition: &str, own: Version, mark: Option<Mark>, number: u64) -> String {
    marked_id(&format!("{definition}-{:x}", own.0), mark, &format!("process/{number}"))
}

/// Answers the callers of `drain` if no item is left.
fn is_over(turn: &mut Turn<'_, Record>) {
    if turn.record.is_drained() {
        turn.answer_all(DRAIN, &());
    }
}

fn row_of(turn: &Turn<'_, Record>, running: &Running) -> Result<Kept, Stop> {
    let spot = running.spot();
    let row = turn.rows(spot.range())?.first().filter(|row| row.key == spot.key);
    let row = row.ok_or_else(|| Stop::Malformed(format!("the row of item {} is not there", running.number())))?;
    decode(&row.body).map_err(Stop::Malformed)
}

fn take_away(turn: &mut Turn<'_, Record>, running: &Running) {
    let spot = running.spot();
    turn.remove(spot.lane, spot.key);
}
