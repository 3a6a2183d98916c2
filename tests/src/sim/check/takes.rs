//! E4, E12: an answered call is in its entity's record, once, and was there at the moment of the answer.

use std::sync::Mutex;

use drystone_runtime::Entity;

use super::Span;
use crate::sim::{
    apps::{Bell, Chest, heads},
    drawing::roster::{Number, Role},
    handlers::{Alarms, Beat, Job, List, Post, codec::Record},
    recording::log::{Class, lock},
    running::world::World,
};

/// All calls that were answered with success and must be in a record.
#[derive(Default)]
pub struct Takes(Mutex<Vec<(Number, u64)>>);

impl Takes {
    /// Checks a call at the moment of its answer: its effect must already be durable (E4).
    pub fn answered(&self, world: &World, member: Number, number: u64) {
        let there = holds(world, member, number);
        world.chronicle.check(there, Class::Lost, "E4", || {
            format!("{} answered {number:x} before it was durable", world.cast.member(member).key)
        });
        lock(&self.0).push((member, number));
    }
}

/// Checks that everything that was durable once is still durable.
pub(super) fn finish(world: &World) {
    for (member, number) in lock(&world.takes.0).iter() {
        let there = holds(world, *member, *number);
        world.chronicle.check(there, Class::Lost, "E4", || {
            format!("{} answered {number:x} and has lost it", world.cast.member(*member).key)
        });
    }
}

fn holds(world: &World, member: Number, number: u64) -> bool {
    let role = world.cast.member(member).role;
    let durable = world.witness.durable();
    let story = durable.story(member);
    let in_record = || story.past.iter().chain(&story.entity).any(|entity| recorded(role, entity).contains(&number));
    if role.is_buffer() {
        // An item that is cleared in the same write that adds it is never seen.
        let cleared = || world.calls.of(member).iter().any(Span::drops);
        return durable.lanes().has_seen(member, number) || in_record() || cleared();
    }
    in_record()
}

fn recorded(role: Role, entity: &Entity) -> Vec<u64> {
    match role {
        Role::Counter | Role::Caller => List::decode(&entity.state).unwrap_or_default().0,
        Role::Relay | Role::Doomed => Post::decode(&entity.state).unwrap_or_default().asked,
        Role::Alarmist => Alarms::decode(&entity.state).unwrap_or_default().asked,
        Role::Ticker => Beat::decode(&entity.head).unwrap_or_default().asked,
        Role::Worker => Job::decode(&entity.head).unwrap_or_default().asked,
        Role::Bell => heads::state::<Bell>(entity).asked,
        Role::Chest => heads::state::<Chest>(entity).laid,
        _ => Vec::new(),
    }
}
