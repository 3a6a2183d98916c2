//! T: what was published is where it belongs: with all who waited, once and in order; with one, or pending, or dead.

use std::collections::{BTreeMap, BTreeSet};

use drystone_runtime::{Entity, Name};
use serde::Deserialize;
use serde_json::Value;

use crate::sim::{
    cast::{Number, Role},
    chronicle::Class,
    witness::{Durable, Kept, Watcher, rows},
    world::World,
};

const TOPICS: [Role; 3] = [Role::News, Role::Notice, Role::Job];

/// A run that listens, as it is stored.
struct Run {
    key: Vec<u8>,
    /// What each operation came to: the numbers that it took.
    took: Vec<(String, Vec<u64>)>,
    /// What waits to be taken.
    queued: BTreeSet<u64>,
    pending: BTreeSet<String>,
    has_ended: bool,
}

#[derive(Deserialize)]
struct Record {
    generation: u32,
    #[serde(default)]
    pending: Vec<Pending>,
    #[serde(default)]
    end: Option<Value>,
    #[serde(default)]
    stopped: Option<Value>,
}

#[derive(Deserialize)]
struct Pending {
    op: String,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    op: String,
    what: Value,
}

impl Run {
    fn read(world: &World, durable: &Durable, entity: &Entity) -> Option<Self> {
        let record: Record = serde_json::from_slice(&entity.head).ok()?;
        world.chronicle.check(record.stopped.is_none(), Class::Broken, "W4", || {
            format!("{} is stopped: {:?}", entity.key, record.stopped)
        });
        let lane = Name::from(format!("journal/{}", record.generation));
        let journal = durable.lanes().own(&(entity.id, lane)).into_iter().flatten();
        let entries = journal.filter_map(|(_, body)| serde_json::from_slice::<Entry>(body).ok());
        let took = entries.map(|entry| {
            let events = entry.what.get("events").and_then(Value::as_array).cloned().unwrap_or_default();
            (entry.op, events.iter().filter_map(|event| event.get("number")?.as_u64()).collect())
        });
        let (took, mut queued) = (took.collect(), BTreeSet::new());
        for event in ["News", "Notice", "Job"] {
            let lane = Name::from(format!("event/{event}"));
            let rows = durable.lanes().own(&(entity.id, lane)).into_iter().flatten();
            let read = |body| serde_json::from_slice::<Kept>(body).ok().map(|kept| kept.event.number);
            queued.extend(rows.filter_map(|(_, body)| read(body)));
        }
        let pending = record.pending.into_iter().map(|pending| pending.op).collect();
        let key = entity.key.key.to_vec();
        Some(Self { key, took, queued, pending, has_ended: record.end.is_some() })
    }

    fn heard(&self) -> impl Iterator<Item = u64> {
        self.took.iter().flat_map(|(_, numbers)| numbers.iter().copied())
    }
}

/// Checks a history that has come to rest.
pub(super) fn finish(world: &World) {
    let durable = world.witness.durable();
    let members =
        world.cast.with(Role::Listener).into_iter().chain(TOPICS.into_iter().flat_map(|role| world.cast.with(role)));
    if members.chain(world.cast.with(Role::Box)).any(|member| durable.story(member).is_parked()) {
        // What was given up keeps what it was sent.
        return;
    }
    let entities =
        world.cast.with(Role::Listener).into_iter().filter_map(|member| durable.story(member).entity.as_ref());
    let runs: Vec<Run> = entities.filter_map(|entity| Run::read(world, &durable, entity)).collect();
    acknowledged(world, &durable);
    in_one_place(world, &durable, &runs);
    once_and_in_order(world, &durable, &runs);
    who_waited_has_it(world, &durable, &runs);
    no_watcher_is_left(world, &durable, &runs);
}

/// T1: what was acknowledged exists.
fn acknowledged(world: &World, durable: &Durable) {
    for topic in TOPICS.into_iter().flat_map(|role| world.cast.with(role)) {
        for span in world.calls.of(topic).iter().filter(|span| span.verb == "publish" && span.told.is_some()) {
            let exists = durable.topics().published().contains_key(&span.number);
            world
                .chronicle
                .check(exists, Class::Lost, "T1", || format!("{:x} was published and is not there", span.number));
        }
    }
}

/// T3: what is for one is pending, taken by one, queued by one, or dead; and nothing of that twice.
fn in_one_place(world: &World, durable: &Durable, runs: &[Run]) {
    let mut places: BTreeMap<u64, u32> = BTreeMap::new();
    let mut found = |value: u64, count: u32| *places.entry(value).or_default() += count;
    for run in runs {
        run.heard().chain(run.queued.iter().copied()).for_each(|value| found(value, 1));
    }
    for topic in world.cast.with(Role::Job) {
        if let Some(entity) = &durable.story(topic).entity {
            rows::<Kept>(durable.lanes(), entity.id, "pending").values().for_each(|kept| found(kept.event.number, 1));
        }
    }
    let jobs = world.cast.with(Role::Job);
    for (value, publication) in durable.topics().published().iter().filter(|(_, of)| jobs.contains(&of.topic)) {
        let count = places.get(value).copied().unwrap_or(0) + durable.topics().dead(*value);
        let class = if count == 0 { Class::Lost } else { Class::Doubled };
        world.chronicle.check(count == 1, class, "T3", || format!("{value:x}, {publication:?}, is in {count} places"));
    }
}

/// T2: a run sees an event of a log once, in the order of numbers.
fn once_and_in_order(world: &World, durable: &Durable, runs: &[Run]) {
    for run in runs {
        let mut last: BTreeMap<Number, u64> = BTreeMap::new();
        for value in run.heard() {
            let Some(publication) = durable.topics().published().get(&value) else {
                let message = format!("{:?} heard {value:x}, which nobody published", run.key.escape_ascii());
                world.chronicle.violation(Class::Broken, "T1", message);
                continue;
            };
            if world.cast.member(publication.topic).role == Role::Job {
                continue;
            }
            let before = last.insert(publication.topic, publication.number).unwrap_or(0);
            world.chronicle.check(publication.number > before, Class::Doubled, "T2", || {
                format!("{} heard number {} after {before}", run.key.escape_ascii(), publication.number)
            });
        }
    }
}

/// T4, T5: who was seen waiting has it, unless its wait was let go before it came.
fn who_waited_has_it(world: &World, durable: &Durable, runs: &[Run]) {
    for (value, publication) in durable.topics().published() {
        for (key, op) in &publication.due {
            let Some(run) = runs.iter().find(|run| run.key == *key) else { continue };
            let has_it = run.heard().any(|heard| heard == *value) || run.queued.contains(value);
            if has_it || durable.topics().dead(*value) > 0 {
                continue;
            }
            let is_over = run.took.iter().any(|(took, _)| took == op);
            let was_let_go = !is_over && (!run.pending.contains(op) || run.has_ended);
            world.chronicle.check(was_let_go, Class::Lost, "T4 T5", || {
                format!("{value:x}, number {}, has not come to {op} of {}", publication.number, key.escape_ascii())
            });
        }
    }
}

/// T6: whoever is listed waits.
fn no_watcher_is_left(world: &World, durable: &Durable, runs: &[Run]) {
    for topic in TOPICS.into_iter().flat_map(|role| world.cast.with(role)) {
        let Some(entity) = &durable.story(topic).entity else { continue };
        for watcher in rows::<Watcher>(durable.lanes(), entity.id, "watchers").into_values() {
            let by = &watcher.wait.by;
            let run = runs.iter().find(|run| run.key == by.key.as_bytes());
            let waits = run.is_some_and(|run| run.pending.contains(&by.op));
            world
                .chronicle
                .check(waits, Class::Stuck, "T6", || format!("{} lists {by:?}, which waits no more", entity.key));
        }
    }
}
