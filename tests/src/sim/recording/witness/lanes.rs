//! The durable rows, lane by lane, and the lanes that are held for dead letters.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use drystone_runtime::{
    Lane, RowKey, Version,
    store::{After, Write},
};

use crate::sim::{
    apps::{
        Sum,
        heads::{self, Buffering},
    },
    drawing::roster::{Number, Role},
};

/// A lane: the id of its entity, and its name.
pub type Place = (Version, Lane);

type Rows = BTreeMap<RowKey, Bytes>;

/// All lanes.
#[derive(Default)]
pub struct Lanes {
    own: BTreeMap<Place, Rows>,
    held: BTreeMap<Place, Rows>,
    seen: BTreeSet<(Number, u64)>,
    died: BTreeSet<u64>,
}

impl Lanes {
    /// The rows of a lane that belongs to an entity.
    pub fn own(&self, place: &Place) -> Option<&Rows> {
        self.own.get(place)
    }

    /// The lanes of an entity.
    pub fn of(&self, id: Version) -> impl Iterator<Item = &Place> {
        self.own.keys().filter(move |(of, _)| *of == id)
    }

    /// The rows of a held lane.
    pub fn held(&self, place: &Place) -> Option<&Rows> {
        self.held.get(place)
    }

    /// All held lanes with their rows.
    pub fn all_held(&self) -> impl Iterator<Item = (&Place, &Rows)> {
        self.held.iter()
    }

    /// Whether an item was ever durable in this buffer.
    pub fn has_seen(&self, member: Number, item: u64) -> bool {
        self.seen.contains(&(member, item))
    }

    /// Whether an item was ever in a dead letter.
    pub fn has_died(&self, item: u64) -> bool {
        self.died.contains(&item)
    }

    pub(super) fn applied(&mut self, member: Number, role: Role, write: &Write) {
        if let Some(id) = write.entity() {
            for gone in &write.drop {
                let place = (id, gone.lane.clone());
                let rows = self.own.remove(&place).unwrap_or_default();
                if gone.held {
                    self.died.extend(rows.values().flat_map(items_in));
                    self.held.insert(place, rows);
                }
            }
        }
        for released in &write.release {
            self.held.remove(released);
        }
        match &write.after {
            After::Entity(entity) => {
                self.put(entity.id, write);
                self.see(member, role, &entity.head, write);
            }
            After::Destroyed => {
                let id = write.entity();
                self.own.retain(|(of, _), _| Some(*of) != id);
            }
            After::Unbound => {}
        }
    }

    fn put(&mut self, id: Version, write: &Write) {
        for ((lane, key), body) in write.rows.iter() {
            let rows = self.own.entry((id, lane.clone())).or_default();
            match body {
                Some(body) => drop(rows.insert(key.clone(), body.clone())),
                None => drop(rows.remove(key)),
            }
        }
    }

    fn see(&mut self, member: Number, role: Role, head: &[u8], write: &Write) {
        if !role.is_buffer() {
            return;
        }
        let put = write.rows.values().flatten().flat_map(items_in);
        self.seen.extend(put.map(|item| (member, item)));
        let folded = heads::record::<Buffering>(head).and_then(|record| record.open.folded);
        self.seen.extend(folded.into_iter().flat_map(|sum| sum.items).map(|item| (member, item)));
    }
}

/// The items in a row: a single item, or those that were folded into one value.
pub(crate) fn items_in(row: &Bytes) -> Vec<u64> {
    let one = || serde_json::from_slice(row).map(|item: u64| vec![item]);
    let folded = |_| serde_json::from_slice(row).map(|sum: Sum| sum.items);
    one().or_else(folded).unwrap_or_default()
}
