//! Q1–Q4: every acknowledged item was processed once, is one dead letter, or was dropped by a caller.

use std::collections::BTreeMap;

use bytes::Bytes;
use drystone::kinds::queue::{Enqueue, EnqueuedMany};
use drystone_runtime::Name;
use serde::Deserialize;

use crate::sim::{
    apps::{Enqueued, queues::queueing::Rules},
    check::Span,
    drawing::roster::{Number, Role},
    handlers::{Pile, codec::Record},
    recording::{log::Class, outbox::Posted, witness::Fate},
    running::world::World,
};

/// The part of a stored dead letter that the checks need.
#[derive(Deserialize)]
struct Letter {
    what: drystone::dead_letters::What,
}

/// Checks the answer of `enqueue` at the moment when it arrives: the items are durable under the numbers in
/// the answer (Q1, E4).
pub fn enqueued(world: &World, member: Number, body: &Bytes, told: &Bytes) {
    let key = &world.cast.member(member).key;
    let (Ok((values, how)), Ok(told)) =
        (serde_json::from_slice::<(Vec<u64>, Enqueue)>(body), serde_json::from_slice::<EnqueuedMany>(told))
    else {
        return world.chronicle.violation(Class::Broken, "Q1", format!("{key} answered {body:?} with {told:?}"));
    };
    let durable = world.witness.durable();
    if !told.is_new {
        world.chronicle.sometimes("a dedup key was met again");
        let key_is = dedup_of(&how);
        let known = key_is.as_ref().is_some_and(|key| durable.queues().had_key(member, key, told.first));
        return world.chronicle.check(known || destroys(world, member), Class::Lost, "Q4", || {
            format!("{key} was told {told:?} for {how:?}, and never had that")
        });
    }
    for (value, number) in values.iter().zip(told.first..) {
        let there = durable.queues().numbers(member, *value).iter().any(|(_, of)| *of == number);
        world.chronicle.check(there || destroys(world, member), Class::Lost, "Q1", || {
            format!("{key} answered {value:x} with {number} before it was durable")
        });
    }
    world.recorder.queued.acknowledged(&values, world.chronicle.moment());
}

/// The dedup key as the caller gave it.
fn dedup_of(how: &Enqueue) -> Option<String> {
    let how = serde_json::to_value(how).ok()?;
    how["dedup"]["key"].as_str().map(str::to_owned)
}

/// Whether the queue may have been destroyed. Items that are added and destroyed in one write are never
/// seen.
fn destroys(world: &World, member: Number) -> bool {
    world.calls.of(member).iter().any(Span::drops)
}

/// Checks the answer of `drain`: items that were acknowledged before the call are gone (Q4).
pub fn drained(world: &World, member: Number, asked: u64) {
    let durable = world.witness.durable();
    let Some(entity) = &durable.story(member).entity else { return };
    let Some(queue) = durable.queues().of(entity.id) else { return };
    let asked_before = |value| world.recorder.queued.until(value).is_some_and(|until| until < asked);
    // A dead letter may have been replayed since then.
    let left = queue.items.values().find(|item| asked_before(item.value) && !durable.queues().has_died(item.value));
    world
        .chronicle
        .check(left.is_none(), Class::Broken, "Q4", || format!("{} was drained, and still has {left:?}", entity.key));
}

/// Checks every queue of a history.
pub(in crate::sim::check) fn finish(world: &World) {
    let letters = letters(world);
    for (value, enqueued) in world.recorder.queued.all() {
        check_item(world, value, &enqueued, letters.get(&value).copied().unwrap_or(0));
    }
    for (number, member) in world.cast.iter().filter(|(_, member)| member.role.is_queue()) {
        check_pauses(world, number, Rules::of(member.role));
    }
}

/// Checks that an item is in exactly one place, unless a caller dropped the item.
fn check_item(world: &World, value: u64, enqueued: &Enqueued, letters: usize) {
    let durable = world.witness.durable();
    let fates = durable.queues().numbers(enqueued.member, value);
    let fates: Vec<_> = fates.iter().map(|(id, number)| durable.queues().fate(*id, *number)).collect();
    let of = |fate| fates.iter().filter(|one| **one == fate).count();
    let (stored, done, dropped) = (of(None), of(Some(Fate::Done)), of(Some(Fate::Dropped)));
    let key = &world.cast.member(enqueued.member).key;
    let places = stored + done + letters;
    world.chronicle.check(places < 2 && done + dropped < 2, Class::Doubled, "Q1", || {
        format!("{value:x} of {key} is in several places: {fates:?}, {letters} letters")
    });
    if done > 0 && durable.queues().has_died(value) {
        world.chronicle.sometimes("a dead item was processed after all");
    }
    let removed = || durable.queues().has_died(value) && world.calls.any("remove");
    // A dead letter may still wait for a parked entity.
    let waits = || durable.queues().has_died(value) && any_parked(world, &durable);
    // The write in which the item came, or came back as a replayed dead letter, may also have destroyed the
    // queue.
    let came_unseen = fates.is_empty() || durable.queues().has_died(value);
    let unseen = || came_unseen && destroys(world, enqueued.member);
    let posted = Posted::of(value).map(|_| durable.table().sent(value) > 0);
    world.chronicle.check(posted != Some(false) || fates.is_empty() && letters == 0, Class::Broken, "M6", || {
        format!("{value:x} of {key} is there, and its transaction was rolled back: {fates:?}, {letters} letters")
    });
    let is_due = enqueued.until.is_some() || posted == Some(true) && !durable.story(enqueued.member).is_parked();
    let there = !is_due || places + dropped > 0 || removed() || waits() || unseen();
    world.chronicle.check(there, Class::Lost, "Q1", || format!("{value:x} of {key} is nowhere: {fates:?}"));
}

fn any_parked(world: &World, durable: &crate::sim::recording::witness::Durable) -> bool {
    world.cast.iter().any(|(number, _)| durable.story(number).is_parked())
}

/// The number of dead letters of each item.
fn letters(world: &World) -> BTreeMap<u64, usize> {
    let durable = world.witness.durable();
    let mut letters = BTreeMap::new();
    // The messages of items that were replayed into a full queue.
    for entity in world.cast.with(Role::Letters).iter().filter_map(|number| durable.story(*number).entity.as_ref()) {
        let pile = Pile::decode(&entity.state).unwrap_or_default();
        pile.0.iter().for_each(|number| *letters.entry(*number).or_default() += 1);
    }
    let Some(number) = world.cast.with(Role::Box).first().copied() else { return letters };
    let Some(entity) = &durable.story(number).entity else { return letters };
    let rows = |lane| durable.lanes().own(&(entity.id, Name::new(lane)));
    for (key, row) in rows("letters").into_iter().flatten() {
        let is_item = serde_json::from_slice::<Letter>(row).is_ok_and(|letter| is_item(&letter));
        let body = rows("bodies").and_then(|bodies| bodies.get(key)).filter(|_| is_item);
        if let Some(value) = body.and_then(|body| serde_json::from_slice::<u64>(body).ok()) {
            *letters.entry(value).or_default() += 1;
        }
    }
    letters
}

fn is_item(letter: &Letter) -> bool {
    letter.what == drystone::dead_letters::What::Item
}

/// Checks that after the answer of `pause` nothing begins until a caller resumes the queue, except
/// executions that were already listed.
fn check_pauses(world: &World, member: Number, rules: Rules) {
    // After a jump of the store's clock a lease may have ended without its owner knowing.
    if !world.clocks_are_honest() {
        return;
    }
    let (calls, begun) = (world.calls.of(member), world.recorder.queued.begun_of(member));
    for pause in calls.iter().filter(|span| span.verb == "pause" && span.told.is_some()) {
        let ends = |span: &&Span| matches!(span.verb, "resume" | "destroy") && !span.refused;
        let ended = calls.iter().filter(ends).filter(|span| span.until > pause.from).map(|span| span.from).min();
        let after = begun.iter().filter(|one| one.from > pause.until && one.from < ended.unwrap_or(u64::MAX));
        let mut after: Vec<_> = after.map(|one| (one.id, one.number, one.attempt)).collect();
        after.sort_unstable();
        after.dedup();
        let same = after.windows(2).any(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1));
        world.chronicle.check(after.len() <= rules.concurrency && !same, Class::Broken, "Q4", || {
            format!("{} was paused ({pause:?}), and then began {after:?}", world.cast.member(member).key)
        });
    }
}
