//! The turns of a buffer.

use bytes::Bytes;
use drystone_runtime::{Mark, Status as Phase, Version};
use serde::{Deserialize, Serialize};
use serde_json::{json, value::RawValue};

use super::{
    Added, Capped, FlushResult, Flushed, Full, Options, Reason, Record, lane,
    record::{CLOSED_MAX, Closed, Held, Open, earlier},
};
use crate::{
    Failure, Params, Timestamp, decode,
    kind::{Answer, Items, Stop, Turn},
    kinds::{PastError, dead},
    planted::Bug,
};

impl Options {
    pub(super) fn add(&self, turn: &mut Turn<'_, Record>, body: &[u8]) -> Result<Answer, Stop> {
        let item: Box<RawValue> = Params::one(body).map_err(Stop::Malformed)?;
        let item = item.get().as_bytes();
        self.close_if_ripe(turn);
        // The code was changed, and only one of old and new code folds: the open batch is closed as it is.
        if !turn.record.open.is_empty() && turn.record.open.folded.is_some() != turn.has_reduce() {
            close(turn, Reason::Deadline);
        }
        if turn.has_reduce() {
            self.fold(turn, item)?;
        } else {
            self.append(turn, item)?;
        }
        let now: Timestamp = turn.now.into();
        let open = &mut turn.record.open;
        if open.count == 1 || self.reset_on_add {
            open.since = now;
        }
        let is_full = open.count >= self.max_items;
        let added = Added { buffered: open.count, flushes_at: if is_full { now } else { open.flushes_at(self) } };
        if is_full && Bug::ClosedInAnotherCommit.planted() {
            let now = turn.now;
            turn.set_alarm(Some(now));
            turn.set_status(Phase::live("buffering"));
            return Answer::value(&added);
        }
        self.settle(turn);
        Answer::value(&added)
    }

    fn append(&self, turn: &mut Turn<'_, Record>, item: &[u8]) -> Result<(), Stop> {
        turn.check_item(item)?;
        let bytes = item.len() as u64;
        self.check_room(&turn.record, bytes)?;
        let (number, index) = (open_number(turn), turn.record.open.count);
        if !Bug::AcknowledgedBefore.planted() || index == 0 {
            turn.put(lane(number), index.to_be_bytes().to_vec(), Bytes::copy_from_slice(item));
        }
        turn.record.open.count += 1;
        turn.record.open.bytes += bytes;
        Ok(())
    }

    fn fold(&self, turn: &mut Turn<'_, Record>, item: &[u8]) -> Result<(), Stop> {
        let before = turn.record.open.folded.as_ref().map(|folded| folded.get().as_bytes());
        let folded: Box<RawValue> = decode(&turn.reduce(before, item)?).map_err(Stop::Malformed)?;
        let bytes = folded.get().len() as u64;
        self.check_room(&turn.record, bytes.saturating_sub(turn.record.open.bytes))?;
        open_number(turn);
        let open = &mut turn.record.open;
        (open.folded, open.bytes) = (Some(folded), bytes);
        open.count += 1;
        Ok(())
    }

    /// Refuses an item of `bytes` bytes if there is no room for it (B8).
    fn check_room(&self, record: &Record, bytes: u64) -> Result<(), Stop> {
        let (items, stored_bytes) = record.stored();
        let full = |what, limit| Err(Stop::failed(&Full { what, limit }));
        match record {
            _ if items >= self.max_stored => full(Capped::Items, self.max_stored),
            _ if stored_bytes + bytes > self.max_stored_bytes => full(Capped::Bytes, self.max_stored_bytes),
            // A full batch is open only because there was no room to close it.
            _ if record.open.count >= self.max_items => full(Capped::Batches, CLOSED_MAX as u64),
            _ => Ok(()),
        }
    }

    pub(super) fn flush(&self, turn: &mut Turn<'_, Record>) -> Result<Answer, Stop> {
        let record = &mut turn.record;
        let number = match record.closed.last() {
            _ if !record.open.is_empty() => record.open.number,
            Some(last) => last.number,
            None => return Answer::value(&Flushed { count: 0, result: FlushResult::Flushed }),
        };
        record.open.asked = !record.open.is_empty();
        self.settle(turn);
        Ok(Answer::Held(lane(number).into()))
    }

    pub(super) fn clear(&self, turn: &mut Turn<'_, Record>) -> Result<Answer, Stop> {
        let flying = turn.record.flying(self.strict_order, turn.now.into()).map(|flying| flying.number);
        let flying = flying.filter(|_| !Bug::FlightCleared.planted());
        let open = std::mem::take(&mut turn.record.open);
        let (kept, cleared): (Vec<_>, Vec<_>) =
            std::mem::take(&mut turn.record.closed).into_iter().partition(|closed| Some(closed.number) == flying);
        turn.record.closed = kept;
        for closed in &cleared {
            let_go(turn, closed);
            answer(turn, (closed.number, closed.count), FlushResult::Cleared);
        }
        // An open batch with a folded value has no rows yet.
        if !open.is_empty() && open.folded.is_none() {
            turn.drop_lane(lane(open.number), false);
        }
        if open.asked {
            answer(turn, (open.number, open.count), FlushResult::Cleared);
        }
        let count = open.count + cleared.iter().map(|closed| closed.count).sum::<u64>();
        if count > 0 {
            turn.emit("buffer.cleared", &json!({ "count": count }));
        }
        self.settle(turn);
        Answer::value(&count)
    }

    /// Replays a batch that was a dead letter.
    pub(super) fn replay(&self, turn: &mut Turn<'_, Record>, body: &[u8]) -> Result<Answer, Stop> {
        let replayed: Replayed = Params::one(body).map_err(Stop::Malformed)?;
        if !turn.record.has_room_for_a_batch() {
            return Err(Stop::failed(&Full { what: Capped::Batches, limit: CLOSED_MAX as u64 }));
        }
        let Replayed { of, lane, count, bytes, mark } = replayed;
        let number = turn.record.next_number();
        let at = turn.now.into();
        if Bug::ReleasedBefore.planted() {
            turn.release(Version(of), lane.clone());
        }
        let held = Some(Held { of, lane, mark });
        let mark = Some(turn.mark());
        turn.record.closed.push(Closed { number, count, bytes, reason: Reason::Replay, at, attempts: 0, held, mark });
        self.settle(turn);
        Answer::value(&number)
    }

    pub(super) fn failed(&self, turn: &mut Turn<'_, Record>, index: usize, error: &Failure) {
        let now = turn.now;
        let closed = &mut turn.record.closed[index];
        let (number, attempts) = (closed.number, closed.attempts);
        let pause = self.attempts.pause_after(attempts, number);
        let Some(pause) = pause else { return died(turn, index, error) };
        closed.at = now.after(pause).into();
        let retry_at = closed.at;
        if Bug::ItemsDroppedBefore.planted() {
            turn.drop_lane(lane(number), false);
        }
        turn.record.has_failed(number, error, now.into());
        let told = json!({ "batch": number, "attempt": attempts, "error": error, "retry_at": retry_at });
        turn.emit("buffer.failed", &told);
    }

    /// Closes the open batch if it is due, and sets alarm and status from the record.
    pub(super) fn settle(&self, turn: &mut Turn<'_, Record>) {
        self.close_if_ripe(turn);
        let (now, record) = (turn.now.into(), &turn.record);
        // Without room for a closed batch no alarm is needed: the turn that makes room also closes the open
        // batch.
        let waits = !record.open.is_empty() && record.has_room_for_a_batch();
        let deadline = waits.then(|| record.open.flushes_at(self));
        let alarm = earlier(deadline, record.next_try(now));
        let status = match record {
            _ if record.flying(self.strict_order, now).is_some() => Phase::live("flushing"),
            _ if !record.closed.is_empty() => Phase::live("retrying"),
            _ if !record.open.is_empty() => Phase::live("buffering"),
            _ => Phase::resting("empty"),
        };
        turn.set_alarm(alarm);
        turn.set_status(status);
    }

    fn close_if_ripe(&self, turn: &mut Turn<'_, Record>) {
        let ripe = turn.record.open.is_ripe(self, turn.now.into());
        if let Some(reason) = ripe.filter(|_| turn.record.has_room_for_a_batch()) {
            close(turn, reason);
        }
    }
}

/// Closes the open batch, if it has any items.
fn close(turn: &mut Turn<'_, Record>, reason: Reason) {
    if turn.record.open.is_empty() {
        return;
    }
    let Open { number, count, bytes, folded, mark, .. } = std::mem::take(&mut turn.record.open);
    if let Some(folded) = folded {
        turn.put(lane(number), 0_u64.to_be_bytes().to_vec(), Bytes::copy_from_slice(folded.get().as_bytes()));
    }
    let at = turn.now.into();
    turn.record.closed.push(Closed { number, count, bytes, reason, at, attempts: 0, held: None, mark });
}

pub(super) fn flushed(turn: &mut Turn<'_, Record>, index: usize) {
    let closed = turn.record.closed.remove(index);
    turn.record.flushed.add(closed.count);
    let_go(turn, &closed);
    answer(turn, (closed.number, closed.count), FlushResult::Flushed);
    let told = json!({ "count": closed.count, "reason": closed.reason, "batch": closed.number });
    turn.emit("buffer.flushed", &told);
}

/// Gives a batch up: its items stay where they are, and the dead letters hold the lane.
pub(super) fn died(turn: &mut Turn<'_, Record>, index: usize, error: &Failure) {
    let closed = turn.record.closed.remove(index);
    turn.record.dead.add(closed.count);
    turn.record.has_failed(closed.number, error, turn.now.into());
    if Bug::NoDeadLetter.planted() {
        return let_go(turn, &closed);
    }
    dead(turn, &closed, error);
    if closed.held.is_none() {
        turn.drop_lane(lane(closed.number), true);
    }
    answer(turn, (closed.number, closed.count), FlushResult::Dead(error.clone()));
    let told = json!({ "count": closed.count, "reason": closed.reason, "batch": closed.number, "error": error });
    turn.emit("buffer.dead", &told);
}

/// Sends the batch to the dead letters, by reference.
fn dead(turn: &mut Turn<'_, Record>, closed: &Closed, error: &Failure) {
    #[derive(Serialize)]
    struct Dead {
        of: u64,
        lane: String,
        count: u64,
        bytes: u64,
        reason: Reason,
        errors: Vec<PastError>,
        #[serde(skip_serializing_if = "Option::is_none", with = "crate::values::stored::mark")]
        mark: Option<Mark>,
    }
    let Items { of, lane, .. } = closed.items();
    let lane = lane.into_owned();
    let Some(own) = turn.id() else { return };
    let &Closed { count, bytes, reason, attempts, .. } = closed;
    let errors = turn.record.is_over(closed.number);
    let mark = closed.first_mark();
    let batch = Dead { of: of.unwrap_or(own.0), lane, count, bytes, reason, errors, mark };
    if let Some(message) = dead::message(turn, ("buffer", "batch"), (attempts, error), batch) {
        turn.send(message);
    }
}

/// Releases the lanes of batches that were being replayed, because the entity ends.
pub(super) fn release_held(turn: &mut Turn<'_, Record>) {
    for closed in std::mem::take(&mut turn.record.closed) {
        if closed.held.is_some() {
            let_go(turn, &closed);
        }
    }
}

fn let_go(turn: &mut Turn<'_, Record>, closed: &Closed) {
    turn.record.is_over(closed.number);
    match &closed.held {
        Some(Held { of, lane, .. }) => turn.release(Version(*of), lane.clone()),
        None => turn.drop_lane(lane(closed.number), false),
    }
}

/// Answers the callers who asked for the batch to be flushed.
fn answer(turn: &mut Turn<'_, Record>, (number, count): (u64, u64), result: FlushResult) {
    turn.answer_all(lane(number), &Flushed { count, result });
}

/// Returns the number of the open batch, which is drawn with its first item.
fn open_number(turn: &mut Turn<'_, Record>) -> u64 {
    let mark = turn.mark();
    let record = &mut turn.record;
    if record.open.is_empty() {
        record.open.number = record.next_number();
        record.open.mark = Some(mark);
    }
    record.open.number
}

/// A batch, as the dead letters return it for a replay.
#[derive(Deserialize, Serialize)]
struct Replayed {
    of: u64,
    lane: String,
    count: u64,
    bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::values::stored::mark")]
    mark: Option<Mark>,
}
