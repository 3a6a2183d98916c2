//! The durable items of queues, and the fates of items that are no longer stored.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use drystone::Timestamp;
use drystone_runtime::{
    Entity, Lane, Millis, RowKey, Version,
    store::{After, Write},
};

use crate::sim::{
    apps::queues::queueing::{Before, DeadItem, Kept, numbers_in},
    drawing::roster::Number,
};

/// The lanes that contain items.
const LANES: [&str; 4] = ["line", "delayed", "retry", "again"];

/// A stored item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// The number of the item.
    pub number: u64,
    /// The value that was enqueued, unique in the history.
    pub value: u64,
    /// The priority of the item.
    pub priority: u8,
    /// The number of failed executions.
    pub failed: u32,
    /// The part of the row's key that orders items: a time, or a position in the line.
    pub place: u64,
}

/// The rows of a queue's items.
pub type Items = BTreeMap<(Lane, RowKey), Item>;

/// The fate of an item that is no longer stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The success of the item was recorded.
    Done,
    /// The item became a dead letter.
    Dead,
    /// The queue was destroyed.
    Dropped,
}

/// The changes of one write to a queue.
#[derive(Debug, Default)]
pub struct Change {
    /// The new items.
    pub came: Vec<Item>,
    /// The items that are no longer stored.
    pub gone: Vec<Item>,
    /// The items that became dead letters.
    pub letters: Vec<DeadItem>,
    /// The dedup keys that were forgotten or reused within their window.
    pub hasty: Vec<RowKey>,
    /// The counts of successes and dead letters before the write.
    pub counted: (u64, u64),
}

/// All queues.
#[derive(Default)]
pub struct Queues {
    queues: BTreeMap<Version, Queue>,
    fates: BTreeMap<(Version, u64), Fate>,
    /// The numbers under which a value was ever durable.
    seen: BTreeMap<(Number, u64), Vec<(Version, u64)>>,
    died: BTreeSet<u64>,
    /// All dedup keys, with the first item that was enqueued under each.
    keys: BTreeSet<(Number, RowKey, u64)>,
}

/// One incarnation of a queue.
#[derive(Default)]
pub struct Queue {
    /// The items.
    pub items: Items,
    /// The dedup keys.
    pub once: BTreeMap<RowKey, Before>,
    /// The times at which the dedup keys end.
    pub fades: BTreeSet<RowKey>,
    counted: (u64, u64),
}

impl Queues {
    /// The queue of this incarnation, if it ever had a row.
    pub fn of(&self, id: Version) -> Option<&Queue> {
        self.queues.get(&id)
    }

    /// The fate of an item; `None` if the item is stored or never was.
    pub fn fate(&self, id: Version, number: u64) -> Option<Fate> {
        self.fates.get(&(id, number)).copied()
    }

    /// The number of failed executions of a stored item.
    pub fn failed(&self, id: Version, number: u64) -> Option<u32> {
        self.queues.get(&id)?.items.values().find(|item| item.number == number).map(|item| item.failed)
    }

    /// The numbers under which a value was durable, in order of time.
    pub fn numbers(&self, member: Number, value: u64) -> &[(Version, u64)] {
        self.seen.get(&(member, value)).map_or(&[], Vec::as_slice)
    }

    /// Whether a value was ever in a dead letter.
    pub fn has_died(&self, value: u64) -> bool {
        self.died.contains(&value)
    }

    /// Whether this item was ever enqueued under this dedup key.
    pub fn had_key(&self, member: Number, key: &str, first: u64) -> bool {
        self.keys.contains(&(member, Bytes::copy_from_slice(key.as_bytes()), first))
    }

    /// Takes a write and returns its changes; `None` if the queue is gone.
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

    /// Notes the counts in the record, to compare them with the next write.
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
        // Items that ended in the same write that destroyed the queue also count as dropped, because no
        // caller may have been told.
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
