//! T: every published event is where it belongs. A log event reached all waits of its time, once and in
//! order; an event for one wait reached one, is pending, or is a dead letter.

use std::collections::{BTreeMap, BTreeSet};

use drystone_runtime::{Entity, Name};
use serde::Deserialize;
use serde_json::Value;

use crate::sim::{
    drawing::roster::{Number, Role},
    recording::{
        log::Class,
        witness::{Durable, Publication, Watcher, Whereabout, rows},
    },
    running::world::World,
    workflows,
};

const TOPICS: [Role; 5] = [Role::News, Role::Notice, Role::Job, Role::Bulletin, Role::Task];

/// A listening run, as it is stored.
struct Run {
    member: Number,
    key: Vec<u8>,
    /// For each operation the numbers of the events that it took.
    took: Vec<(String, Vec<u64>)>,
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

/// The events that a run or a topic has lost and counted.
#[derive(Default, Deserialize)]
struct Lost {
    #[serde(default)]
    trimmed: u64,
    #[serde(default)]
    expired: u64,
    #[serde(default)]
    queues: BTreeMap<String, workflows::QueueOf>,
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
    fn read(world: &World, durable: &Durable, member: Number) -> Option<Self> {
        let entity = durable.story(member).entity.as_ref()?;
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
        let took = took.collect();
        let pending = record.pending.into_iter().map(|pending| pending.op).collect();
        let key = entity.key.key.to_vec();
        Some(Self { member, key, took, pending, has_ended: record.end.is_some() })
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
        // A parked entity keeps messages that are still to be delivered.
        return;
    }
    let listeners = world.cast.with(Role::Listener).into_iter();
    let runs: Vec<Run> = listeners.filter_map(|member| Run::read(world, &durable, member)).collect();
    acknowledged(world, &durable);
    nothing_is_under_way(world, &durable);
    once_and_in_order(world, &durable, &runs);
    who_waited_has_it(world, &durable, &runs);
    no_watcher_is_left(world, &durable, &runs);
}

/// Checks that acknowledged events exist (T1, V1). An event may also be lost and counted before it was ever
/// written, if the store was away for so long.
fn acknowledged(world: &World, durable: &Durable) {
    let whereabouts = durable.topics().whereabouts();
    let is_event = |verb: &str| matches!(verb, "publish" | "send" | "start_with" | "send_or_start");
    for member in TOPICS.into_iter().chain([Role::Listener]).flat_map(|role| world.cast.with(role)) {
        for span in world.calls.of(member).iter().filter(|span| is_event(span.verb) && span.told.is_some()) {
            let has_lost = || durable.story(member).entity.as_ref().is_some_and(has_lost);
            world.chronicle.check(whereabouts.knows(span.number) || has_lost(), Class::Lost, "T1 V1", || {
                format!("{:x} was accepted by {} and is nowhere", span.number, world.cast.member(member).key)
            });
        }
    }
}

/// Whether a run or a topic has counted lost events.
fn has_lost(entity: &Entity) -> bool {
    let lost = serde_json::from_slice::<Lost>(&entity.head).unwrap_or_default();
    lost.trimmed + lost.expired + lost.queues.values().map(|queue| queue.expired + queue.discarded).sum::<u64>() > 0
}

/// Checks that no event is still on its way (T3).
fn nothing_is_under_way(world: &World, durable: &Durable) {
    for (event, places) in durable.topics().whereabouts().iter() {
        world.chronicle.check(!places.contains(&Whereabout::UnderWay), Class::Stuck, "T3", || {
            format!("{event:x?} is in {places:?}, and all is at rest")
        });
    }
}

/// Checks that a run sees an event of a log once, in the order of the numbers (T2).
fn once_and_in_order(world: &World, durable: &Durable, runs: &[Run]) {
    for run in runs {
        let mut last: BTreeMap<Number, u64> = BTreeMap::new();
        for value in run.heard() {
            let whereabouts = durable.topics().whereabouts();
            world.chronicle.check(whereabouts.knows(value), Class::Broken, "T1", || {
                format!("{} heard {value:x}, which nobody published or sent", run.key.escape_ascii())
            });
            let publication = durable.topics().published().get(&value);
            let is_log = |of: &&Publication| !world.cast.member(of.topic).role.is_for_one();
            let Some(publication) = publication.filter(is_log) else { continue };
            let before = last.insert(publication.topic, publication.number).unwrap_or(0);
            world.chronicle.check(publication.number > before, Class::Doubled, "T2", || {
                format!("{} heard number {} after {before}", run.key.escape_ascii(), publication.number)
            });
        }
    }
}

/// Checks that each wait of a publish got the event (T4, T5), unless the wait was released before, or
/// already had everything it waited for.
fn who_waited_has_it(world: &World, durable: &Durable, runs: &[Run]) {
    for (value, publication) in durable.topics().published() {
        for (key, op) in &publication.due {
            let Some(run) = runs.iter().find(|run| run.key == *key) else { continue };
            if !durable.topics().whereabouts().of(*value, run.member).is_empty() {
                continue;
            }
            let took = run.took.iter().find(|(took, _)| took == op).map(|(_, numbers)| numbers);
            let was_let_go = took.is_none() && (!run.pending.contains(op) || run.has_ended);
            let had_all = took.is_some_and(|numbers| had_all(durable, publication, numbers));
            world.chronicle.check(was_let_go || had_all, Class::Lost, "T4 T5", || {
                format!("{value:x}, number {}, has not come to {op} of {}", publication.number, key.escape_ascii())
            });
        }
    }
}

/// Whether a wait got everything it waited for from its own queue or from earlier events of the topic, and
/// nothing published later (T6).
fn had_all(durable: &Durable, publication: &Publication, numbers: &[u64]) -> bool {
    let published = numbers.iter().filter_map(|number| durable.topics().published().get(number));
    let mut others = published.filter(|other| other.topic == publication.topic);
    !numbers.is_empty() && others.all(|other| other.number < publication.number)
}

/// Checks that every listed watcher still waits (T6).
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
