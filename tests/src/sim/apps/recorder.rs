//! Everything that authors' code was given, as the code reports it.

use std::{collections::BTreeMap, sync::Mutex};

use drystone_runtime::{Cx, Version, Work};

use super::{Acted, Queued, number_of};
use crate::sim::{
    drawing::roster::Number,
    handlers::Stage,
    recording::log::{Chronicle, Class, lock},
};

/// One execution of a tick.
#[derive(Clone, Debug)]
pub struct Execution {
    /// The member that ticks.
    pub member: Number,
    /// The incarnation of the entity.
    pub id: Version,
    /// The number of the tick.
    pub number: u64,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The moment at which the execution began.
    pub from: u64,
}

/// Everything that authors' code was given.
#[derive(Default)]
pub struct Recorder {
    /// The items of queues.
    pub queued: Queued,
    /// The steps of errands.
    pub acted: Acted,
    ticks: Mutex<Vec<Execution>>,
    batches: Mutex<Batches>,
}

#[derive(Default)]
struct Batches {
    items: BTreeMap<String, Vec<u64>>,
    batch_of: BTreeMap<u64, String>,
}

impl Recorder {
    /// Registers a tick that begins. Tick numbers have no gaps (C6).
    pub fn ticks(&self, stage: &Stage, cx: &Cx, work: &Work) {
        let (member, id) = (stage.number(cx), cx.id.expect("only existing entities tick"));
        let (number, attempt) = (number_of(work.id.as_str()), work.attempt);
        let mut ticks = lock(&self.ticks);
        let before = ticks.iter().filter(|tick| tick.member == member && tick.id == id).map(|tick| tick.number).max();
        let next = number <= before.unwrap_or(0) + 1;
        let chronicle = &stage.world.chronicle;
        chronicle.check(next, Class::Lost, "C6", || format!("{work:?} of {} begins after {before:?}", cx.key));
        if attempt > 1 {
            chronicle.sometimes("a tick was tried again");
        }
        ticks.push(Execution { member, id, number, attempt, from: chronicle.moment() });
    }

    /// The executions of a member's ticks.
    pub fn ticks_of(&self, member: Number) -> Vec<Execution> {
        lock(&self.ticks).iter().filter(|tick| tick.member == member).cloned().collect()
    }

    /// Registers a flush that begins. A batch id always has the same items in the same order, and no item
    /// is in two batches (B4).
    pub fn flushes(&self, chronicle: &Chronicle, id: &str, items: &[u64]) {
        let mut batches = lock(&self.batches);
        match batches.items.get(id) {
            Some(before) => {
                chronicle.sometimes("a batch was flushed again");
                chronicle.check(before == items, Class::Broken, "B4", || {
                    format!("{id} had the items {before:x?} and has {items:x?}")
                });
            }
            None => drop(batches.items.insert(id.to_owned(), items.to_vec())),
        }
        chronicle.check(!items.is_empty(), Class::Broken, "B4", || format!("{id} has no items"));
        for item in items {
            let batch = batches.batch_of.entry(*item).or_insert_with(|| id.to_owned());
            chronicle.check(batch == id, Class::Doubled, "B4", || format!("{item:x} is in {batch} and in {id}"));
        }
    }

    /// Finds an item: the buffer and number of its batch, and its place in the batch.
    pub fn place(&self, item: u64) -> Option<(String, u64, usize)> {
        let batches = lock(&self.batches);
        let id = batches.batch_of.get(&item)?;
        let place = batches.items.get(id)?.iter().position(|other| *other == item)?;
        let (buffer, number) = id.rsplit_once("-flush/")?;
        Some((buffer.to_owned(), number.parse().ok()?, place))
    }
}
