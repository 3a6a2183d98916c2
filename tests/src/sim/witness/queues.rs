//! The items of queues that are durable, and what became of those that are not any more.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use drystone::Timestamp;
use drystone_runtime::{
    Entity, Lane, Millis, RowKey, Version,
    store::{After, Write},
};

use crate::sim::{
    authors::queueing::{Before, DeadItem, Kept, numbers_in},
    cast::Number,
};

/// The lanes of items.
const LANES: [&str; 4] = ["line", "delayed", "retry", "again"];

/// A row of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its number.
    pub number: u64,
    /// What was enqueued: unique in the history.
    pub value: u64,
    /// What it was enqueued with.
    pub priority: u8,
    /// How many of its executions have failed.
    pub failed: u32,
    /// The part of its key that orders it: a time, or how many had joined.
    pub place: u64,
}

/// The rows of a queue's items.
pub type Items = BTreeMap<(Lane, RowKey), Item>;

/// What became of an item that is not stored any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its success is recorded.
    Done,
    /// It is a dead letter.
    Dead,
    /// Its queue was destroyed.
    Dropped,
}

/// What one write did to a queue.
#[derive(Debug, Default)]
pub struct Change {
    /// Items that were not there before.
    pub came: Vec<Item>,
    /// Items that are not there any more.
    pub gone: Vec<Item>,
    /// Items that were given up.
    pub letters: Vec<DeadItem>,
    /// Dedup keys that were let go, or used again, within their window.
    pub hasty: Vec<RowKey>,
    /// Successes and dead letters that were counted before.
    pub counted: (u64, u64),
}

/// All queues.
#[derive(Default)]
pub struct Queues {
    queues: BTreeMap<Version, Queue>,
    fates: BTreeMap<(Version, u64), Fate>,
    /// Under which numbers a value was ever durable.
    seen: BTreeMap<(Number, u64), Vec<(Version, u64)>>,
    died: BTreeSet<u64>,
    /// What was ever enqueued under a key.
    keys: BTreeSet<(Number, RowKey, u64)>,
}

/// One incarnation of a queue.
#[derive(Default)]
pub struct Queue {
    /// Its items.
    pub items: Items,
    /// Its dedup keys.
    pub once: BTreeMap<RowKey, Before>,
    /// When they fade.
    pub fades: BTreeSet<RowKey>,
    counted: (u64, u64),
}

impl Queues {
    /// One incarnation, if it ever had a row.
    pub fn of(&self, id: Version) -> Option<&Queue> {
        self.queues.get(&id)
    }

    /// What became of an item; nothing yet if it is stored, or was never.
    pub fn fate(&self, id: Version, number: u64) -> Option<Fate> {
        self.fates.get(&(id, number)).copied()
    }

    /// How many executions of a stored item have failed.
    pub fn failed(&self, id: Version, number: u64) -> Option<u32> {
        self.queues.get(&id)?.items.values().find(|item| item.number == number).map(|item| item.failed)
    }

    /// Under which numbers a value was durable, one after another.
    pub fn numbers(&self, member: Number, value: u64) -> &[(Version, u64)] {
        self.seen.get(&(member, value)).map_or(&[], Vec::as_slice)
    }

    /// Whether a value was ever a dead letter.
    pub fn has_died(&self, value: u64) -> bool {
        self.died.contains(&value)
    }

    /// Whether this was ever enqueued under this key.
    pub fn had_key(&self, member: Number, key: &str, first: u64) -> bool {
        self.keys.contains(&(member, Bytes::copy_from_slice(key.as_bytes()), first))
    }

    /// Takes a write; what it did, if the queue is still there.
    pub(super) fn applied(&mut self, member: Number, write: &Write, now: Millis) -> Option<Change> {
        match &write.after {
            After::Entity(entity) => Some(self.changed(member, entity, write, now)),
            After::Destroyed => {
                self.destroyed(write);
                None
            }
            After::Unbound => None,
        }
    }

    /// What was counted is known by the next write.
    pub(super) fn counts(&mut self, id: Version, counted: (u64, u64)) {
        self.queues.entry(id).or_default().counted = counted;
    }

    fn changed(&mut self, member: Number, entity: &Entity, write: &Write, now: Millis) -> Change {
        let queue = self.queues.entry(entity.id).or_default();
        let before: BTreeMap<u64, Item> = queue.items.values().map(|item| (item.number, *item)).collect();
        let mut change = Change { counted: queue.counted, ..Change::default() };
        for ((lane, key), body) in write.rows.iter() {
            queue.row((member, &mut self.keys), lane, key, body.as_ref(), (now, &mut change));
        }
        let after: BTreeMap<u64, Item> = queue.items.values().map(|item| (item.number, *item)).collect();
        change.came = after.values().filter(|item| !before.contains_key(&item.number)).copied().collect();
        change.gone = before.values().filter(|item| !after.contains_key(&item.number)).copied().collect();
        change.letters = write.sent.iter().filter(|sent| sent.verb == "item").filter_map(dead_item).collect();
        self.follow(member, entity.id, &change);
        change
    }

    fn follow(&mut self, member: Number, id: Version, change: &Change) {
        for item in &change.came {
            self.seen.entry((member, item.value)).or_default().push((id, item.number));
        }
        for item in &change.gone {
            let is_dead = change.letters.iter().any(|letter| letter.number == item.number);
            self.fates.insert((id, item.number), if is_dead { Fate::Dead } else { Fate::Done });
        }
        self.died.extend(change.letters.iter().map(|letter| letter.item));
    }

    fn destroyed(&mut self, write: &Write) {
        let Some(id) = write.entity() else { return };
        let queue = self.queues.remove(&id).unwrap_or_default();
        // What ended in the very write that destroyed it may have been told to nobody: it is dropped all the same.
        self.fates.extend(queue.items.values().map(|item| ((id, item.number), Fate::Dropped)));
        let letters: Vec<_> = write.sent.iter().filter(|sent| sent.verb == "item").filter_map(dead_item).collect();
        self.fates.extend(letters.iter().map(|letter| ((id, letter.number), Fate::Dead)));
        self.died.extend(letters.iter().map(|letter| letter.item));
    }
}

impl Queue {
    fn row(
        &mut self,
        (member, keys): (Number, &mut BTreeSet<(Number, RowKey, u64)>),
        lane: &Lane,
        key: &RowKey,
        body: Option<&Bytes>,
        (now, change): (Millis, &mut Change),
    ) {
        match lane.as_str() {
            "once" => {
                let put: Option<Before> = body.and_then(|body| serde_json::from_slice(body).ok());
                keys.extend(put.map(|put| (member, key.clone(), put.first)));
                let old = match put {
                    Some(put) => self.once.insert(key.clone(), put),
                    None => self.once.remove(key),
                };
                if old.is_some_and(|old| old.until > Timestamp::from(now)) {
                    change.hasty.push(key.clone());
                }
            }
            "fades" => drop(if body.is_some() { self.fades.insert(key.clone()) } else { self.fades.remove(key) }),
            name if LANES.contains(&name) => match body.and_then(|body| item(key, body)) {
                Some(item) => drop(self.items.insert((lane.clone(), key.clone()), item)),
                None => drop(self.items.remove(&(lane.clone(), key.clone()))),
            },
            _ => {}
        }
    }
}

fn item(key: &RowKey, body: &Bytes) -> Option<Item> {
    let (place, number) = numbers_in(key)?;
    let Kept { priority, failed, item: value } = serde_json::from_slice(body).ok()?;
    Some(Item { number, value, priority, failed, place })
}

fn dead_item(sent: &drystone_runtime::store::Outgoing) -> Option<DeadItem> {
    serde_json::from_slice::<[DeadItem; 1]>(&sent.body).ok().map(|[item]| item)
}
