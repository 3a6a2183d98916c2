//! The verbs of a queue, as turns.

use bytes::Bytes;
use drystone_runtime::{Error, Limit, Range, Row, RowKey};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    Enqueue, EnqueuedMany, Full, Options, Peeked, Record,
    item::Kept,
    once,
    place::{DELAYED, LINE, Place, due_key},
    record::Class,
};
use crate::{
    Params, decode, encode,
    kind::{Answer, Stop, Turn},
    planted::Bug,
};

/// The longest item. A dead item is one message together with its errors, so it must be shorter than a
/// message.
const ITEM_BYTES_MAX: usize = (1 << 20) - (32 << 10);

/// The most items that `peek` shows.
const PEEK_MAX: u32 = 100;

/// The name under which callers of `drain` are held.
pub(super) const DRAIN: &str = "drain";

/// An item, as the dead letters return it for a replay.
#[derive(Deserialize, Serialize)]
struct Replayed {
    id: String,
    #[serde(default)]
    priority: u8,
    item: Box<RawValue>,
}

impl Options {
    pub(super) fn enqueue(&self, turn: &mut Turn<'_, Record>, body: &[u8]) -> Result<Answer, Stop> {
        let (items, how): (Vec<Box<RawValue>>, Enqueue) = Params::two(body).map_err(Stop::Malformed)?;
        items.iter().try_for_each(|item| check(turn, item))?;
        if let Some(dedup) = &how.dedup
            && let Some(before) = once::before(turn, dedup)?
        {
            let once::Before { first, count, .. } = before;
            return Answer::value(&EnqueuedMany { first, count, position: None, is_new: false });
        }
        let (first, count) = (turn.record.last + 1, items.len() as u64);
        self.check_depth(&turn.record, count)?;
        let position = how.wait().is_none().then(|| turn.record.ahead_of(how.priority));
        for item in items {
            let kept = Kept::new(item, how.priority, turn.now.into(), turn.mark());
            put(turn, &kept, &how)?;
        }
        if let Some(dedup) = &how.dedup {
            once::remember(turn, dedup, (first, count))?;
        }
        self.settle(turn)?;
        Answer::value(&EnqueuedMany { first, count, position, is_new: true })
    }

    /// Replays an item that was a dead letter: puts it at the end of the line, under its old id.
    pub(super) fn replay(&self, turn: &mut Turn<'_, Record>, body: &[u8]) -> Result<Answer, Stop> {
        let Replayed { id, priority, item } = Params::one(body).map_err(Stop::Malformed)?;
        check(turn, &item)?;
        self.check_depth(&turn.record, 1)?;
        let kept = Kept { id: Some(id), ..Kept::new(item, priority, turn.now.into(), turn.mark()) };
        put(turn, &kept, &Enqueue::new().priority(priority))?;
        let number = turn.record.last;
        self.settle(turn)?;
        Answer::value(&number)
    }

    /// Refuses `count` more items if there is no room for them (Q5).
    fn check_depth(&self, record: &Record, count: u64) -> Result<(), Stop> {
        if record.depth() + count > self.max_depth && !Bug::DepthForgotten.planted() {
            return Err(Stop::failed(&Full { limit: self.max_depth }));
        }
        Ok(())
    }

    pub(super) fn pause(&self, turn: &mut Turn<'_, Record>, paused: bool) -> Result<Answer, Stop> {
        let changed = turn.record.paused != paused;
        turn.record.paused = paused;
        self.settle(turn)?;
        Answer::value(&changed)
    }

    pub(super) fn drain(turn: &Turn<'_, Record>) -> Answer {
        if turn.record.is_drained() { Answer::done() } else { Answer::Held(DRAIN.into()) }
    }

    pub(super) fn peek(turn: &Turn<'_, Record>, body: &[u8]) -> Result<Answer, Stop> {
        let count = Params::one::<u32>(body).map_err(Stop::Malformed)?.min(PEEK_MAX);
        let mut shown = Vec::new();
        for class in turn.record.line.iter().filter(|class| class.len() > 0) {
            let missing = count - shown.len() as u32;
            if missing == 0 {
                break;
            }
            for row in turn.rows(waiting(class, missing))? {
                let Place { priority, number, .. } = Place::of(row)?;
                if priority == class.priority {
                    let Kept { at, item, .. } = decode(&row.body).map_err(Stop::Malformed)?;
                    shown.push(Peeked { number, priority, enqueued_at: at, value: item });
                }
            }
        }
        encode(&shown).map(Answer::Now).map_err(Stop::Malformed)
    }
}

/// Returns the range of the waiting items of one priority. Items of lower priority may follow in it.
pub(super) fn waiting(class: &Class, limit: u32) -> Range {
    let from = match (class.ahead.first(), class.begun) {
        (Some(first), _) => Some(first.key()),
        (None, Some(begun)) => Some(begun.after()),
        (None, None) => Some(Place { priority: class.priority, joined: 0, number: 0 }.key()),
    };
    Range { from, ..Range::first(LINE, limit) }
}

/// Gives an item the next number, and puts its row into the line or among the delayed items.
fn put(turn: &mut Turn<'_, Record>, kept: &Kept, how: &Enqueue) -> Result<(), Stop> {
    let row = encode(kept).map_err(Stop::Malformed)?;
    turn.record.last += 1;
    let number = turn.record.last;
    match how.wait() {
        Some(delay) => {
            let at = turn.now.after(delay);
            turn.record.delayed.add(at.into());
            turn.put(DELAYED, due_key(at, number), row);
        }
        None => {
            let place = turn.record.join(kept.priority, number);
            put_soon(turn, LINE, place.key(), row);
        }
    }
    Ok(())
}

/// Puts the row of an item that may start soon, and remembers the row so that the start needs no read.
pub(super) fn put_soon(turn: &mut Turn<'_, Record>, lane: &'static str, key: RowKey, body: Bytes) {
    turn.remember(Row { lane: lane.into(), key: key.clone(), body: body.clone() });
    turn.put(lane, key, body);
}

/// Refuses an item that the hook cannot take, or that is too long for a dead letter.
fn check(turn: &Turn<'_, Record>, item: &RawValue) -> Result<(), Stop> {
    let (found, limit) = (item.get().len(), ITEM_BYTES_MAX);
    if found > limit {
        return Err(Stop::Refuse(Error::TooLarge { what: Limit::PayloadBytes, found, limit }));
    }
    turn.check_item(item.get().as_bytes())
}
