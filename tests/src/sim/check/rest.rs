//! R7, and liveness: once the faults have stopped, everything ends, and nothing is left to do.

use std::collections::BTreeMap;

use drystone_runtime::{Entity, Millis};

use crate::sim::{
    apps::{
        Bell,
        heads::{self, Buffering, Gating, Permit},
        queues::queueing::Queueing,
    },
    drawing::roster::{Member, Role},
    handlers::{Alarms, Job, Queue, codec::Record},
    recording::{log::Class, witness::Durable},
    running::world::World,
    workflows,
};

/// A time later than the end of any lease that must be renewed: long after these histories, in
/// milliseconds.
const FAR: Millis = Millis(4_000_000_000_000);

/// The reasons why a history is not at rest yet; empty if it is.
pub fn unfinished(world: &World) -> Vec<String> {
    let durable = world.witness.durable();
    let mut why: Vec<_> = durable
        .inboxes()
        .filter(|key| world.cast.number(key).is_none_or(|number| !durable.story(number).is_parked()))
        .map(|key| format!("a message waits for {key}"))
        .collect();
    for (number, member) in world.cast.iter() {
        why.extend(durable.story(number).entity.as_ref().and_then(|entity| still_to_do(&member, entity)));
    }
    why
}

fn still_to_do(member: &Member, entity: &Entity) -> Option<String> {
    // A parked entity waits for a person.
    if entity.parked.is_some() {
        return None;
    }
    if member.role.is_queue() && queue(entity).depth() > 0 {
        return Some(format!("{} has items", member.key));
    }
    if matches!(member.role, Role::Errand | Role::Listener) && errand(entity).paused.is_some() {
        return Some(format!("{} is held", member.key));
    }
    // Some alarms do not ring before the end: dead letters and dedup keys expire much later, and a permit
    // that a run holds has no end.
    let is_held = member.role == Role::Gate && entity.alarm > Some(FAR);
    let is_kept = is_kept(member, entity) || is_idle_topic(member, entity);
    let lingers = member.role == Role::Box || member.role.is_queue() || is_held || is_kept;
    if let Some(at) = entity.alarm.filter(|_| !lingers) {
        return Some(format!("the alarm of {} at {at} has not rung", member.key));
    }
    if entity.active {
        return Some(format!("{} has work to do", member.key));
    }
    None
}

/// Whether the entity is a run that has ended, has no unread events, and is kept only for its retention; or
/// a stopped run, which is tried again and stops again.
fn is_kept(member: &Member, entity: &Entity) -> bool {
    matches!(member.role, Role::Errand | Role::Listener) && {
        let record = errand(entity);
        let has_ended = record.end.is_some() && record.queues.values().all(|queue| queue.count == 0);
        has_ended || record.stopped.is_some()
    }
}

/// Whether the entity is a topic with nothing left to deliver. The events in its log expire much later;
/// pending events for a single wait expire soon, so they count as work.
fn is_idle_topic(member: &Member, entity: &Entity) -> bool {
    let record: serde_json::Value = serde_json::from_slice(&entity.head).unwrap_or_default();
    let is_pending = member.role.is_for_one() && record.get("pending").is_some();
    member.role.is_topic() && record.get("pass").is_none() && !is_pending
}

/// Checks each member of a history that is at rest.
pub(super) fn finish(world: &World) {
    let durable = world.witness.durable();
    for (number, member) in world.cast.iter() {
        let Some(entity) = durable.story(number).entity.as_ref().filter(|entity| entity.parked.is_none()) else {
            continue;
        };
        let left = match member.role {
            Role::Alarmist => {
                let alarms = Alarms::decode(&entity.state).unwrap_or_default();
                on_time(world, &member, &alarms);
                let ends = (alarms.rung.len() + alarms.replaced.len()) as u64;
                (ends != alarms.armed).then(|| format!("armed {} times, ended {ends}", alarms.armed))
            }
            Role::Worker => {
                let job = Job::decode(&entity.head).unwrap_or_default();
                job.open().then(|| format!("pieces left: {:?}", job.pieces))
            }
            Role::Bell => {
                let armed = heads::state::<Bell>(entity).armed.filter(|_| entity.status.word != "error");
                armed.map(|armed| format!("{armed:?} has not rung"))
            }
            role if role.is_buffer() => {
                let record = heads::record::<Buffering>(&entity.head);
                let left = record.is_none_or(|record| record.open.count > 0 || !record.closed.is_empty());
                left.then(|| "items are left".to_owned())
            }
            Role::Gate => {
                let record = heads::record::<Gating>(&entity.head);
                let record = record.filter(|gate| (gate.used, gate.waiting) != (0, 0));
                // Permits whose lease has ended are taken back by the next caller, while a run holds a
                // permit.
                let is_kept = entity.alarm > Some(FAR) && out(&durable, entity) <= permits(world, &durable);
                record.filter(|_| !is_kept).map(|record| format!("not everything has come back: {record:?}"))
            }
            role if role.is_queue() => {
                let left = queue(entity);
                (left.depth() > 0).then(|| format!("items are left: {left:?}"))
            }
            Role::Line => {
                let queue = Queue::decode(&entity.head).unwrap_or_default();
                queue.inside.map(|inside| format!("{inside:x} is still inside"))
            }
            _ => None,
        };
        if let Some(left) = left {
            world.chronicle.violation(Class::Stuck, "R7", format!("{}: {left}", member.key));
        }
    }
}

fn errand(entity: &Entity) -> workflows::Record {
    serde_json::from_slice(&entity.head).unwrap_or_default()
}

fn queue(entity: &Entity) -> Queueing {
    heads::record(&entity.head).unwrap_or_default()
}

/// The weight of the permits without an end, which runs hold.
fn out(durable: &Durable, entity: &Entity) -> u64 {
    let rows = durable.lanes().own(&(entity.id, "held".into())).into_iter().flat_map(BTreeMap::values);
    let permits = rows.filter_map(|row| serde_json::from_slice::<Permit>(row).ok());
    permits.filter(|permit| Millis::from(permit.until) > FAR).map(|permit| permit.weight).sum()
}

/// The number of permits that runs hold or wait for.
fn permits(world: &World, durable: &Durable) -> u64 {
    let runs = world.cast.with(Role::Errand).into_iter().filter_map(|member| durable.story(member).entity.as_ref());
    runs.map(|entity| errand(entity).permits.len() as u64).sum()
}

/// Checks that alarms ring at most 100 ms late in a history without faults (A2).
fn on_time(world: &World, member: &Member, alarms: &Alarms) {
    if !world.is_healthy() {
        return;
    }
    for (number, due, at) in &alarms.rung {
        let late = at.since(*due);
        world.chronicle.check(late.as_millis() <= 100, Class::Broken, "A2", || {
            format!("alarm {number} of {} rang {late:?} late, and nothing was wrong", member.key)
        });
    }
}
