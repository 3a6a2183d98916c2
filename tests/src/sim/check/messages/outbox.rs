//! M6: a message of a transaction is delivered, once, if and only if the transaction's rows are kept.

use std::collections::BTreeMap;

use crate::sim::{
    apps::{Chest, heads},
    drawing::roster::{Number, Role},
    handlers::{List, Pile, Post, codec::Record},
    recording::{
        log::Class,
        outbox::{Posted, Verdict},
        witness::Durable,
    },
    running::world::World,
};

/// Checks the answer of a transaction at the moment when it arrives: either all of the rows are durable, or
/// none is.
pub fn transacted(world: &World, transaction: u64, verdict: Verdict) {
    world.outbox.ends(transaction, verdict);
    check_rows(world, &world.witness.durable(), transaction);
}

/// Checks every transaction of a history.
pub(in crate::sim::check) fn finish(world: &World) {
    let durable = world.witness.durable();
    let arrived = arrived(world, &durable);
    let any_parked = world.cast.iter().any(|(number, _)| durable.story(number).is_parked());
    booked(world, &durable);
    let mut last = None;
    for (posted, to) in world.outbox.all() {
        if last.replace(posted.transaction) != Some(posted.transaction) {
            check_rows(world, &durable, posted.transaction);
        }
        let number = posted.number();
        let (kept, delivered) = (durable.table().sent(number), durable.posts().delivered(number));
        let ends = arrived.get(&number).copied().unwrap_or(0);
        let is_toy = matches!(world.cast.member(to).role, Role::Counter | Role::Relay);
        let message = || {
            let key = &world.cast.member(to).key;
            format!(
                "{posted:x?} to {key} is kept {kept} times, was delivered {delivered} times, and arrived {ends} times"
            )
        };
        let is_just = kept < 2 && delivered <= kept && ends <= kept;
        world.chronicle.check(is_just, Class::Doubled, "M6", message);
        // A message to a parked entity still waits in the inbox.
        let is_there = delivered == kept && (!is_toy || ends == kept) || any_parked;
        world.chronicle.check(is_there, Class::Lost, "M6", message);
    }
}

/// Checks that the row of a hook is kept if and only if its entity has recorded the hook's result (W6).
fn booked(world: &World, durable: &Durable) {
    for (value, member) in world.outbox.booked() {
        let story = durable.story(member);
        let all = story.past.iter().chain(&story.entity);
        let recorded = all.filter(|entity| heads::state::<Chest>(entity).values.contains(&value)).count();
        let kept = durable.table().of(value).count();
        let message = || {
            let key = &world.cast.member(member).key;
            format!("{value} of {key} is kept {kept} times, and recorded {recorded} times")
        };
        world.chronicle.check(recorded <= kept && kept < 2, Class::Doubled, "W6", message);
        // The result of a hook is never seen if the same write destroys the entity.
        let may_be_unseen = story.is_parked() || world.calls.of(member).iter().any(|span| span.verb == "destroy");
        world.chronicle.check(recorded == kept || may_be_unseen, Class::Lost, "W6", message);
    }
}

/// Checks that the rows of a transaction are kept or rolled back together, as its answer says.
fn check_rows(world: &World, durable: &Durable, transaction: u64) {
    let all = world.outbox.all().into_iter().filter(|(posted, _)| posted.transaction == transaction);
    let rows: Vec<_> = all.map(|(posted, _)| durable.table().sent(posted.number())).collect();
    let verdict = world.outbox.verdict(transaction);
    let holds = match verdict {
        Verdict::Kept => rows.iter().all(|count| *count == 1),
        Verdict::NotKept => rows.iter().all(|count| *count == 0),
        Verdict::Unknown => rows.iter().all(|count| *count == rows[0]),
    };
    world.chronicle.check(holds, Class::Broken, "M6", || {
        format!("{transaction:x} is {verdict:?}, and its rows are kept {rows:?} times")
    });
}

/// Counts each message among those that toys have taken, and among the dead letters.
fn arrived(world: &World, durable: &Durable) -> BTreeMap<u64, usize> {
    let mut arrived = BTreeMap::new();
    for (number, member) in world.cast.iter() {
        for posted in numbers_in(durable, number, member.role) {
            *arrived.entry(posted).or_default() += 1;
        }
    }
    arrived
}

fn numbers_in(durable: &Durable, number: Number, role: Role) -> Vec<u64> {
    let story = durable.story(number);
    let states = story.past.iter().chain(&story.entity).map(|entity| &entity.state);
    let numbers = states.flat_map(|state| match role {
        Role::Counter => List::decode(state).unwrap_or_default().0,
        Role::Relay => Post::decode(state).unwrap_or_default().taken,
        Role::Letters => Pile::decode(state).unwrap_or_default().0,
        _ => Vec::new(),
    });
    numbers.filter(|number| Posted::of(*number).is_some()).collect()
}
