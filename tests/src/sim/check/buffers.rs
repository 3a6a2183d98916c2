//! B3, B4, B5: in every commit the record of a buffer agrees with its rows.

use drystone_runtime::{Entity, Version};

use crate::sim::{
    apps::{
        Flushes,
        heads::{self, Buffering, Closed},
    },
    drawing::roster::Role,
    recording::{
        log::{Chronicle, Class},
        witness::{Lanes, Place},
    },
};

/// The lane of the row of a transactional flush.
const CLAIMS: &str = "drystone/transactions";

/// Compares the record of a buffer with its rows.
pub fn inspect_buffer(chronicle: &Chronicle, role: Role, entity: &Entity, lanes: &Lanes) {
    let Some(record) = heads::record::<Buffering>(&entity.head) else {
        return chronicle.violation(Class::Broken, "B4", format!("{} has no record", entity.key));
    };
    let buffer = Buffer { chronicle, role, entity, lanes, record: &record };
    buffer.open();
    record.closed.iter().for_each(|closed| buffer.closed(closed));
    buffer.nothing_else();
    buffer.counts();
}

struct Buffer<'a> {
    chronicle: &'a Chronicle,
    role: Role,
    entity: &'a Entity,
    lanes: &'a Lanes,
    record: &'a Buffering,
}

impl Buffer<'_> {
    /// Checks that the open batch has its rows and is not full: the commit that fills a batch must close it
    /// (B3).
    fn open(&self) {
        let (open, max) = (&self.record.open, capacity(self.role));
        let rows = self.rows(&self.own(open.number));
        let held = open.folded.as_ref().map_or(rows, |sum| sum.items.len() as u64);
        self.check(held == open.count, Class::Lost, || format!("counts {} items and has {held}", open.count));
        self.check(open.count < max, Class::Broken, || format!("has {} items and is not closed", open.count));
    }

    fn closed(&self, closed: &Closed) {
        let rows = match &closed.held {
            Some(held) => {
                let place = (Version(held.of), held.lane.clone().into());
                self.lanes.held(&place).map_or(0, |rows| rows.len() as u64)
            }
            None => self.rows(&self.own(closed.number)),
        };
        let count = if self.role == Role::Heap { 1 } else { closed.count };
        self.check(rows == count, Class::Lost, || format!("batch {} counts {count} and has {rows}", closed.number));
    }

    /// Checks for leaks: every row must belong to a batch.
    fn nothing_else(&self) {
        let record = self.record;
        let numbers = record.closed.iter().map(|closed| closed.number).chain([record.open.number]);
        let known: Vec<_> = numbers.map(|number| self.own(number)).collect();
        let has_claim = self.role == Role::Chest && !record.closed.is_empty();
        let is_claim = |place: &Place| has_claim && place.1 == *CLAIMS && self.rows(place) == 1;
        let mut lanes = self.lanes.of(self.entity.id).filter(|place| !is_claim(place));
        let left = lanes.find(|place| !known.contains(place) && self.rows(place) > 0);
        self.check(left.is_none(), Class::Broken, || format!("still has {left:?}"));
    }

    /// Checks that the author's state and the kind's counters agree: the result of a flush and its count
    /// are one commit.
    fn counts(&self) {
        let flushed = heads::state::<Flushes>(self.entity).flushed;
        let items = flushed.iter().map(|flush| flush.items.len() as u64).sum::<u64>();
        let counted = &self.record.flushed;
        let same = (counted.batches, counted.items) == (flushed.len() as u64, items);
        self.check(same, Class::Lost, || format!("counts {counted:?} and has flushed {flushed:x?}"));
    }

    fn own(&self, number: u64) -> Place {
        (self.entity.id, format!("batch/{number}").into())
    }

    fn rows(&self, place: &Place) -> u64 {
        self.lanes.own(place).map_or(0, |rows| rows.len() as u64)
    }

    fn check(&self, holds: bool, class: Class, message: impl FnOnce() -> String) {
        self.chronicle.check(holds, class, "B3", || format!("{} {}", self.entity.key, message()));
    }
}

/// The largest number of items in a batch.
fn capacity(role: Role) -> u64 {
    match role {
        Role::Strict => 2,
        Role::Heap => 3,
        _ => 4,
    }
}
