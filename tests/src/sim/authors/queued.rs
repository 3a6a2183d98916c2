//! What queues' code was given, and what callers enqueued, as both say themselves.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
    time::Duration,
};

use drystone::{Context, Item};
use drystone_runtime::{Cx, Entity, Version, Work};

use super::{
    heads, number_of,
    queueing::{Queueing, Rules, Running},
};
use crate::sim::{
    cast::Number,
    chronicle::{Class, lock},
    toys::Stage,
    witness::Fate,
};

/// An item that a caller enqueues.
#[derive(Clone, Debug)]
pub struct Enqueued {
    /// Into which queue.
    pub member: Number,
    /// With which priority.
    pub priority: u8,
    /// After which delay.
    pub delay_ms: u64,
    /// When it was asked for.
    pub from: u64,
    /// When it was answered that it is enqueued.
    pub until: Option<u64>,
}

/// One execution of an item.
#[derive(Clone, Debug)]
pub struct Begun {
    /// Of which incarnation of its queue.
    pub id: Version,
    /// Which item.
    pub number: u64,
    /// Which execution of it.
    pub attempt: u32,
    /// When it began.
    pub from: u64,
}

/// Items and their executions.
#[derive(Default)]
pub struct Queued {
    asked: Mutex<BTreeMap<u64, Enqueued>>,
    names: Mutex<Names>,
    begun: Mutex<BTreeMap<Number, Vec<Begun>>>,
    joined: Mutex<BTreeMap<(Version, u8), u64>>,
}

/// What the outside knows items by.
#[derive(Default)]
struct Names {
    id_of: BTreeMap<u64, String>,
    value_of: BTreeMap<String, u64>,
}

impl Queued {
    /// A caller enqueues these.
    pub fn asks(&self, values: &[u64], enqueued: &Enqueued) {
        lock(&self.asked).extend(values.iter().map(|value| (*value, enqueued.clone())));
    }

    /// It is answered that these are enqueued.
    pub fn acknowledged(&self, values: &[u64], moment: u64) {
        let mut asked = lock(&self.asked);
        values.iter().filter_map(|value| asked.get_mut(value).map(|one| one.until = Some(moment))).for_each(drop);
    }

    /// When it was answered that this is enqueued.
    pub fn until(&self, value: u64) -> Option<u64> {
        lock(&self.asked).get(&value).and_then(|one| one.until)
    }

    /// All that was asked for, by value.
    pub fn all(&self) -> BTreeMap<u64, Enqueued> {
        lock(&self.asked).clone()
    }

    /// The executions of a member's items.
    pub fn begun_of(&self, member: Number) -> Vec<Begun> {
        lock(&self.begun).get(&member).cloned().unwrap_or_default()
    }

    /// The kernel begins an execution. It is one that the record lists, in order, and none of an item that is gone.
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

    /// Q1: of those with one priority the first to join begins first; in strict order all others have ended.
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

    /// Q2, Q3: executions of an item are counted, up to the last; one that was recorded does not come again.
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

    /// The code is given an item: under one id in all its executions, and no other has that (Q2).
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
        // One that was a dead letter goes at once.
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

    /// Q2: nothing begins again after the commit of its success. An owner whose lease ended early because the store's
    /// clock jumped cannot know of it.
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
