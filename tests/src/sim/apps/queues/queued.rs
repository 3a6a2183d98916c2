//! The items that callers enqueued and the executions of queue code, as both report them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
    time::Duration,
};

use drystone::{Context, Item};
use drystone_runtime::{Cx, Entity, Version, Work};

use super::queueing::{Queueing, Rules, Running};
use crate::sim::{
    apps::{heads, number_of},
    drawing::roster::Number,
    handlers::Stage,
    recording::{
        log::{Class, lock},
        witness::Fate,
    },
};

/// An item that a caller enqueues.
#[derive(Clone, Debug)]
pub struct Enqueued {
    /// The queue.
    pub member: Number,
    /// The priority of the item.
    pub priority: u8,
    /// The delay of the item.
    pub delay_ms: u64,
    /// The moment of the call.
    pub from: u64,
    /// The moment of the answer that the item is enqueued.
    pub until: Option<u64>,
}

/// One execution of an item.
#[derive(Clone, Debug)]
pub struct Begun {
    /// The incarnation of the queue.
    pub id: Version,
    /// The number of the item.
    pub number: u64,
    /// The number of the execution, from 1.
    pub attempt: u32,
    /// The moment at which the execution began.
    pub from: u64,
}

/// All items and their executions.
#[derive(Default)]
pub struct Queued {
    asked: Mutex<BTreeMap<u64, Enqueued>>,
    names: Mutex<Names>,
    begun: Mutex<BTreeMap<Number, Vec<Begun>>>,
    joined: Mutex<BTreeMap<(Version, u8), u64>>,
}

/// The ids of items, and the values under those ids.
#[derive(Default)]
struct Names {
    id_of: BTreeMap<u64, String>,
    value_of: BTreeMap<String, u64>,
}

impl Queued {
    /// Notes items that a caller is about to enqueue.
    pub fn asks(&self, values: &[u64], enqueued: &Enqueued) {
        lock(&self.asked).extend(values.iter().map(|value| (*value, enqueued.clone())));
    }

    /// Notes the successful answer of the call that enqueued these items.
    pub fn acknowledged(&self, values: &[u64], moment: u64) {
        let mut asked = lock(&self.asked);
        values.iter().filter_map(|value| asked.get_mut(value).map(|one| one.until = Some(moment))).for_each(drop);
    }

    /// The moment of the successful answer of the call that enqueued the item, or `None`.
    pub fn until(&self, value: u64) -> Option<u64> {
        lock(&self.asked).get(&value).and_then(|one| one.until)
    }

    /// All items that callers tried to enqueue, by value.
    pub fn all(&self) -> BTreeMap<u64, Enqueued> {
        lock(&self.asked).clone()
    }

    /// The executions of the items of a queue.
    pub fn begun_of(&self, member: Number) -> Vec<Begun> {
        lock(&self.begun).get(&member).cloned().unwrap_or_default()
    }

    /// Registers an execution that begins. The record must list it, it must be in order, and its item must
    /// not be gone.
    pub fn starts(&self, stage: &Stage, entity: &Entity, work: &Work, cx: &Cx) {
        let (member, number) = (stage.number(cx), number_of(work.id.as_str()));
        let record: Queueing = heads::record(&entity.head).unwrap_or_default();
        let Some(running) = record.begun().find(|one| (one.number, one.attempt) == (number, work.attempt)) else {
            return stage.world.chronicle.violation(
                Class::Broken,
                "Q2",
                format!("{} #{} of {} begins, and its record is {record:?}", work.id, work.attempt, cx.key),
            );
        };
        let start = Start { stage, entity, running, member };
        self.check_order(&start);
        self.check_attempt(&start);
        start.is_not_over();
        let (id, attempt, from) = (entity.id, work.attempt, stage.world.chronicle.moment());
        lock(&self.begun).entry(member).or_default().push(Begun { id, number, attempt, from });
    }

    /// Checks the order (Q1): among items of one priority the first to join begins first. With strict order
    /// all earlier items must have ended.
    fn check_order(&self, start: &Start<'_>) {
        let Start { entity, running, member, .. } = *start;
        let begun = lock(&self.begun);
        let of_this = || begun.get(&member).into_iter().flatten().filter(|one| one.id == entity.id);
        if of_this().any(|one| one.number == running.number) {
            return;
        }
        if let Some(place) = running.place {
            let mut joined = lock(&self.joined);
            let last = joined.entry((entity.id, place.priority)).or_default();
            start.check(*last < place.joined, Class::Broken, "Q1", || format!("begins after {last}: {running:?}"));
            *last = place.joined;
        }
        if start.rules().is_strict {
            let numbers: BTreeSet<_> = of_this().map(|one| one.number).collect();
            let durable = start.stage.world.witness.durable();
            let left = numbers.into_iter().find(|number| durable.queues().fate(entity.id, *number).is_none());
            start.check(left.is_none(), Class::Broken, "Q3", || format!("begins {running:?}, and {left:?} is left"));
        }
    }

    /// Checks the number of the attempt (Q2, Q3): attempts are counted up to the limit, and an attempt
    /// whose failure was recorded does not run again.
    fn check_attempt(&self, start: &Start<'_>) {
        let Start { entity, running, member, stage } = *start;
        let begun = lock(&self.begun);
        let earlier = begun.get(&member).into_iter().flatten();
        let earlier = earlier.filter(|one| (one.id, one.number) == (entity.id, running.number));
        let last = earlier.map(|one| one.attempt).max().unwrap_or(0);
        let next = (last..=last + 1).contains(&running.attempt) && running.attempt <= start.rules().max_attempts;
        start.check(next, Class::Broken, "Q3", || format!("begins {running:?} after attempt {last}"));
        if running.attempt > 1 {
            stage.world.chronicle.sometimes("an item was tried again");
        }
        let failed = stage.world.witness.durable().queues().failed(entity.id, running.number);
        start.check(failed.is_none_or(|failed| running.attempt > failed), Class::Doubled, "Q3", || {
            format!("begins {running:?}, and {failed:?} have failed")
        });
    }

    /// Registers an item as the code gets it. An item has one id in all its executions, and no other item
    /// has the same id (Q2).
    pub fn given(&self, stage: &Stage, item: &Item<u64>, cx: &Context) {
        let chronicle = &stage.world.chronicle;
        let mut names = lock(&self.names);
        let id = names.id_of.entry(item.value).or_insert_with(|| item.id.clone()).clone();
        let value = *names.value_of.entry(item.id.clone()).or_insert(item.value);
        chronicle.check((&id, value) == (&item.id, item.value), Class::Broken, "Q2", || {
            format!("{item:?} was known as {id}, and {value:x} had its id")
        });
        let Some(asked) = lock(&self.asked).get(&item.value).cloned() else {
            return chronicle.violation(Class::Broken, "Q1", format!("nobody enqueued {item:?}"));
        };
        chronicle.check(asked.priority == item.priority, Class::Broken, "Q4", || format!("{asked:?} became {item:?}"));
        // A replayed dead letter is processed without its delay.
        let has_died = stage.world.witness.durable().queues().has_died(item.value);
        let due = item.enqueued_at.after(Duration::from_millis(if has_died { 0 } else { asked.delay_ms }));
        chronicle.check(due <= cx.now(), Class::Broken, "Q4", || format!("{item:?} begins at {}: {asked:?}", cx.now()));
    }
}

/// The start of an execution.
struct Start<'a> {
    stage: &'a Stage,
    entity: &'a Entity,
    running: &'a Running,
    member: Number,
}

impl Start<'_> {
    fn rules(&self) -> Rules {
        Rules::of(self.stage.world.cast.member(self.member).role)
    }

    /// Checks that no item begins again after the commit of its success (Q2). After a jump of the store's
    /// clock a lease may have ended without its owner knowing, so the check holds only if no clock jumps.
    fn is_not_over(&self) {
        let world = &self.stage.world;
        let fate: Option<Fate> = world.witness.durable().queues().fate(self.entity.id, self.running.number);
        let known = world.clocks_are_honest();
        self.check(fate.is_none() || !known, Class::Doubled, "Q2", || format!("begins {:?}: {fate:?}", self.running));
    }

    fn check(&self, holds: bool, class: Class, law: &'static str, message: impl FnOnce() -> String) {
        self.stage.world.chronicle.check(holds, class, law, || format!("{} {}", self.entity.key, message()));
    }
}
