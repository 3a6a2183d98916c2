//! The place of every event: at each commit an event is in exactly one place (T3, V1, D1).
//!
//! An event that was sent to a run, or that is for a single wait, is one thing: pending, on its way,
//! queued, taken by a wait, dead, or lost and counted. An event of a log stays in the log for all waits.
//! Each run that gets it has a thing of its own, from the time when the event arrives.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use drystone_runtime::{
    Lane, Millis, RowKey, Version,
    store::{After, Write},
};
use serde::Deserialize;
use serde_json::Value;

use super::{
    Lanes,
    said::{Exchange, Post, Said},
    topics::{By, Delivered, Kept, Numbered, number_in},
};
use crate::sim::{
    drawing::roster::{Number, Role},
    recording::log::{Chronicle, Class},
    workflows::Record,
};

/// An event. For an event of a log, also the run whose copy is meant.
pub(super) type Thing = (u64, Option<Number>);

/// The place of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In its topic, for the next wait.
    Pending,
    /// In a message.
    UnderWay,
    /// In the queue of a run.
    Queued(Number),
    /// In the journal of a run, taken by a wait.
    Taken(Number),
    /// In the dead letters, or on its way there.
    Dead,
    /// Lost and counted.
    Counted,
}

/// The places of all events.
#[derive(Default)]
pub struct Whereabouts {
    places: BTreeMap<Thing, Vec<Place>>,
    /// The events of logs, with their topics and numbers.
    logged: BTreeMap<u64, (Version, u64)>,
    /// The events that each wait was ever sent.
    told: BTreeSet<(By, u64)>,
    lost: BTreeMap<Version, BTreeMap<String, Lost>>,
}

/// The numbers of lost events of one type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lost {
    expired: u64,
    discarded: u64,
}

/// An event in the queue of a run.
#[derive(Deserialize)]
struct Queued {
    at: i64,
    #[serde(default)]
    came: Option<i64>,
    event: Numbered,
}

#[derive(Deserialize)]
struct Entry {
    what: Value,
}

/// The type of an event, and the time from which it is queued.
type Since = (String, i64);

/// An event that a write puts into a place or takes from one.
struct Moved {
    thing: Thing,
    /// The type of the event and the time from which it is queued in its run, if it leaves the queue or
    /// comes to the run.
    queued: Option<Since>,
    /// The operation of the wait that gets the event, if it comes from a log.
    to: Option<String>,
}

/// A write of a topic or of a listener.
#[derive(Clone, Copy)]
pub(super) struct Writing<'a> {
    pub(super) chronicle: &'a Chronicle,
    pub(super) member: Number,
    pub(super) role: Role,
    pub(super) write: &'a Write,
    /// The rows before the write.
    pub(super) before: &'a Lanes,
    pub(super) id: Version,
    pub(super) now: Millis,
}

impl Whereabouts {
    /// All events with their places.
    pub fn iter(&self) -> impl Iterator<Item = (&Thing, &[Place])> {
        self.places.iter().map(|(thing, places)| (thing, places.as_slice()))
    }

    /// The places of a run's event.
    pub fn of(&self, value: u64, run: Number) -> &[Place] {
        self.places.get(&self.thing(value, run)).map_or(&[], Vec::as_slice)
    }

    /// Whether an event was ever in any place.
    pub fn knows(&self, value: u64) -> bool {
        self.logged.contains_key(&value) || self.places.contains_key(&(value, None))
    }

    pub(super) fn applied(&mut self, writing: &Writing<'_>, post: &Post, exchange: &Exchange) {
        let mut moved = Vec::new();
        for (said, sent_at) in &exchange.taken {
            moved.extend(self.arrives(writing, said, *sent_at));
        }
        for said in post.sent(exchange) {
            moved.extend(self.leaves(writing, said));
        }
        moved.extend(self.rows(writing));
        self.judge(writing, &moved);
    }

    fn thing(&self, value: u64, run: Number) -> Thing {
        (value, self.logged.contains_key(&value).then_some(run))
    }

    fn comes(&mut self, thing: Thing, place: Place) {
        self.places.entry(thing).or_default().push(place);
    }

    fn goes(&mut self, thing: Thing, place: Place) {
        let places = self.places.entry(thing).or_default();
        if let Some(index) = places.iter().position(|of| *of == place) {
            places.swap_remove(index);
        }
    }

    /// Takes an event in a message that was taken.
    fn arrives(&mut self, writing: &Writing<'_>, said: &Said, sent_at: Millis) -> Option<Moved> {
        let value = said.event()?;
        let delivered = if let Said::Delivered(delivered) = said { Some(delivered) } else { None };
        let queued = delivered.map(|delivered| (delivered.topic.event.clone(), sent_at.0));
        if self.logged.contains_key(&value) {
            let to = delivered.map(|delivered| delivered.to.op.clone());
            return Some(Moved { thing: (value, Some(writing.member)), queued, to });
        }
        self.goes((value, None), Place::UnderWay);
        Some(Moved { thing: (value, None), queued, to: None })
    }

    /// Takes an event in a message that was sent.
    fn leaves(&mut self, writing: &Writing<'_>, said: &Said) -> Option<Moved> {
        let value = said.event()?;
        if let Said::Delivered(delivered) = said {
            self.tells(writing, delivered);
            if delivered.options.deliver == "all" {
                self.logs(writing, value, delivered.seen.number);
                return None;
            }
        }
        let thing = if writing.role.is_topic() { (value, None) } else { self.thing(value, writing.member) };
        let place = if matches!(said, Said::Buried(_) | Said::Died(_)) { Place::Dead } else { Place::UnderWay };
        self.comes(thing, place);
        Some(Moved { thing, queued: None, to: None })
    }

    /// Checks that no wait gets the same event twice (T5). With `deliver = "one"` an event that was given
    /// back may come again.
    fn tells(&mut self, writing: &Writing<'_>, delivered: &Delivered) {
        let is_new = self.told.insert((delivered.to.clone(), delivered.event.number));
        let may_repeat = delivered.options.deliver == "one";
        writing.chronicle.check(is_new || may_repeat, Class::Doubled, "T5", || {
            format!("{} delivers {delivered:?} again", writing.write.key)
        });
    }

    /// Takes the events in rows that were removed and put.
    fn rows(&mut self, writing: &Writing<'_>) -> Vec<Moved> {
        let mut moved = Vec::new();
        for (lane, body) in writing.gone() {
            if let Some((value, place, queued)) = writing.place(lane, body) {
                let thing = self.thing(value, writing.member);
                self.goes(thing, place);
                moved.push(Moved { thing, queued, to: None });
            }
        }
        for ((lane, key), body) in writing.write.rows.iter() {
            let Some(body) = body.as_ref().filter(|_| matches!(writing.write.after, After::Entity(_))) else {
                continue;
            };
            if let Some((value, place, queued)) = writing.place(lane, body) {
                let thing = self.thing(value, writing.member);
                self.comes(thing, place);
                moved.push(Moved { thing, queued, to: None });
            }
            if *lane == *"log" && writing.role.is_topic() && !writing.role.is_for_one() {
                let kept = serde_json::from_slice::<Kept>(body).ok();
                kept.into_iter().for_each(|kept| self.logs(writing, kept.event.number, number_in(key)));
            }
            for value in writing.taken(lane, key, body) {
                let thing = self.thing(value, writing.member);
                self.comes(thing, Place::Taken(writing.member));
                moved.push(Moved { thing, queued: None, to: None });
            }
        }
        moved
    }

    /// Checks that an event of a log has one number in one topic (T1).
    fn logs(&mut self, writing: &Writing<'_>, value: u64, number: u64) {
        let place = *self.logged.entry(value).or_insert((writing.id, number));
        writing.chronicle.check(place == (writing.id, number), Class::Doubled, "T1", || {
            format!("{} has {value:x} as {number}, and it was {place:?}", writing.write.key)
        });
    }

    /// Checks that each moved event is in exactly one place after the write, or was counted as lost.
    fn judge(&mut self, writing: &Writing<'_>, moved: &[Moved]) {
        let (record, mut lost) = (writing.run(), BTreeMap::new());
        if let Some(record) = &record {
            lost = self.lost_in(writing, record);
        }
        // Events that were queued come first: their type and time say how they may have been lost.
        let (queued, others): (Vec<_>, Vec<_>) = moved.iter().partition(|moved| moved.queued.is_some());
        for Moved { thing, queued, to } in queued.into_iter().chain(others) {
            let places = self.places.get(thing).map_or(&[][..], Vec::as_slice);
            writing.chronicle.check(places.len() < 2, Class::Doubled, "T3 V2", || {
                format!("{thing:x?} is in {places:?} after a write of {}", writing.write.key)
            });
            let waits = |op: &String| record.as_ref().is_none_or(|record| is_waiting(record, op));
            // A log event that arrives for a wait which is over is dropped; the log keeps it for other
            // waits.
            let was_let_go = !self.places.contains_key(thing) && to.as_ref().is_some_and(|op| !waits(op));
            if !places.is_empty() || was_let_go {
                continue;
            }
            let count = queued.as_ref().and_then(|(event, since)| {
                lost.get_mut(event).map(|lost: &mut Lost| lost.takes(writing.is_old(event, *since)))
            });
            writing.chronicle.check(count == Some(true), Class::Lost, "T3 V1 V9 D1", || {
                format!("{thing:x?} is nowhere after a write of {}, and not counted", writing.write.key)
            });
            self.comes(*thing, Place::Counted);
        }
    }

    /// The numbers of events by type that the write counts as lost.
    fn lost_in(&mut self, writing: &Writing<'_>, record: &Record) -> BTreeMap<String, Lost> {
        let after = record
            .queues
            .iter()
            .map(|(event, queue)| (event.clone(), Lost { expired: queue.expired, discarded: queue.discarded }));
        let after: BTreeMap<_, _> = after.collect();
        let before = self.lost.insert(writing.id, after.clone()).unwrap_or_default();
        let more = after.into_iter().map(|(event, lost)| {
            let before = before.get(&event).copied().unwrap_or_default();
            let more = Lost {
                expired: lost.expired.saturating_sub(before.expired),
                discarded: lost.discarded.saturating_sub(before.discarded),
            };
            (event, more)
        });
        more.collect()
    }
}

impl Lost {
    /// Takes one lost event off the counts: as expired if it was old enough, otherwise as discarded with
    /// its run.
    fn takes(&mut self, is_old: bool) -> bool {
        let count = if is_old && self.expired > 0 { &mut self.expired } else { &mut self.discarded };
        let is_counted = *count > 0;
        *count = count.saturating_sub(1);
        is_counted
    }
}

impl<'a> Writing<'a> {
    /// The record of a run after the write.
    pub(super) fn run(&self) -> Option<Record> {
        match &self.write.after {
            After::Entity(entity) if self.role == Role::Listener => serde_json::from_slice(&entity.head).ok(),
            _ => None,
        }
    }

    /// The rows that the write removes or replaces, as they were before.
    pub(super) fn gone(&self) -> Vec<(&'a Lane, &'a Bytes)> {
        let is_destroyed = matches!(self.write.after, After::Destroyed);
        let is_dropped = |lane: &Lane| is_destroyed || self.write.drop.iter().any(|gone| gone.lane == *lane);
        let mut gone = Vec::new();
        // Only few writes drop lanes. The other writes need not search all lanes.
        if is_destroyed || !self.write.drop.is_empty() {
            for place in self.before.of(self.id).filter(|(_, lane)| is_dropped(lane)) {
                gone.extend(self.before.own(place).into_iter().flatten().map(|(_, body)| (&place.1, body)));
            }
        }
        for ((lane, key), _) in self.write.rows.iter().filter(|((lane, _), _)| !is_dropped(lane)) {
            let body = self.before.own(&(self.id, lane.clone())).and_then(|rows| rows.get(key));
            gone.extend(body.map(|body| (lane, body)));
        }
        gone
    }

    /// The event in a row with its place, and the time from which it is queued.
    fn place(&self, lane: &Lane, body: &Bytes) -> Option<(u64, Place, Option<Since>)> {
        if self.role.is_topic() && *lane == *"pending" {
            let kept: Kept = serde_json::from_slice(body).ok()?;
            return Some((kept.event.number, Place::Pending, None));
        }
        let (_, event) =
            lane.split_once('/').filter(|(lane, _)| self.role == Role::Listener && lane.starts_with("event"))?;
        let queued: Queued = serde_json::from_slice(body).ok()?;
        let since = queued.came.unwrap_or(queued.at);
        Some((queued.event.number, Place::Queued(self.member), Some((event.to_owned(), since))))
    }

    /// The events that a wait has taken by a new journal entry.
    pub(super) fn taken(&self, lane: &Lane, key: &RowKey, body: &Bytes) -> Vec<u64> {
        let is_known = || self.before.own(&(self.id, lane.clone())).is_some_and(|rows| rows.contains_key(key));
        if self.role != Role::Listener || !lane.starts_with("journal/") || is_known() {
            return Vec::new();
        }
        let entry = serde_json::from_slice::<Entry>(body).ok();
        let events = entry.and_then(|entry| entry.what.get("events").and_then(Value::as_array).cloned());
        events.iter().flatten().filter_map(|event| event.get("number")?.as_u64()).collect()
    }

    /// Whether an event that was queued at this time may have expired.
    fn is_old(&self, event: &str, since: i64) -> bool {
        let expires_ms = if event == "Bulletin" { 400 } else { 7 * 24 * 60 * 60 * 1_000 };
        since + expires_ms <= self.now.0
    }
}

/// Whether a run waits for this operation.
fn is_waiting(record: &Record, op: &str) -> bool {
    let goes_on = record.end.is_none() && record.cancel.is_none();
    goes_on && record.pending.iter().any(|pending| pending.op == op)
}
