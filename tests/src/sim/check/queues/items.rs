//! B2–B6: every acknowledged item was flushed once, is in one dead letter, or was dropped by a caller.

use std::collections::BTreeMap;

use drystone_runtime::Name;

use crate::sim::{
    apps::{
        Flushes,
        heads::{self, Letter},
    },
    check::Span,
    drawing::roster::{Number, Role},
    recording::{
        log::Class,
        witness::{Place, items_in},
    },
    running::world::World,
};

/// The places of every item at the end of a history.
#[derive(Default)]
struct Found(BTreeMap<u64, Vec<String>>);

/// Checks every buffer of a history.
pub(in crate::sim::check) fn finish(world: &World) {
    let found = gather(world);
    for (number, _) in world.cast.iter().filter(|(_, member)| member.role.is_buffer()) {
        let calls = world.calls.of(number);
        let adds: Vec<_> = calls.iter().filter(|span| span.verb == "add" && span.told.is_some()).collect();
        let drops: Vec<_> = calls.iter().filter(|span| span.drops()).collect();
        let mut missing = 0;
        for add in &adds {
            missing += u64::from(!check_item(world, &found, add, &drops));
        }
        check_cleared(world, number, &calls, missing);
        check_order(world, &adds);
    }
    check_held(world);
}

/// Checks that an item is in at most one place. Returns `false` if it is nowhere, which is a violation
/// unless a caller dropped the item.
fn check_item(world: &World, found: &Found, add: &Span, drops: &[&Span]) -> bool {
    let places = found.0.get(&add.number).map_or(&[][..], Vec::as_slice);
    let key = &world.cast.member(add.member).key;
    world.chronicle.check(places.len() < 2, Class::Doubled, "B4", || {
        format!("{:x} of {key} is in several places: {places:?}", add.number)
    });
    let dropped = || drops.iter().any(|drop| drop.until >= add.from);
    let removed = || world.witness.durable().lanes().has_died(add.number) && world.calls.any("remove");
    let excused = !places.is_empty() || dropped() || removed();
    world.chronicle.check(excused, Class::Lost, "B3", || format!("{:x} of {key} is nowhere", add.number));
    !places.is_empty()
}

/// Checks that the missing items were counted by the answers of `clear` (B6).
fn check_cleared(world: &World, member: Number, calls: &[Span], missing: u64) {
    let drops: Vec<_> = calls.iter().filter(|span| span.drops()).collect();
    if drops.iter().any(|drop| drop.verb != "clear" || drop.told.is_none()) || world.calls.any("remove") {
        return;
    }
    let counted = drops.iter().filter_map(|drop| serde_json::from_slice::<u64>(drop.told.as_ref()?).ok()).sum::<u64>();
    world.chronicle.check(missing <= counted, Class::Lost, "B6", || {
        format!("{missing} items of {} are gone, {counted} were cleared", world.cast.member(member).key)
    });
}

/// Checks the order (B4): an item that was acknowledged before another add was made is flushed before the
/// other item.
fn check_order(world: &World, adds: &[&Span]) {
    let placed: Vec<_> = adds.iter().filter_map(|add| Some((add, world.recorder.place(add.number)?))).collect();
    for (add, place) in &placed {
        for (later, after) in placed.iter().filter(|(later, _)| add.until < later.from) {
            let ordered = place.0 != after.0 || (place.1, place.2) < (after.1, after.2);
            world.chronicle.check(ordered, Class::Broken, "B4", || {
                format!(
                    "{:x} was added before {:x}, and comes after it: {place:?}, {after:?}",
                    add.number, later.number
                )
            });
        }
    }
}

fn gather(world: &World) -> Found {
    let mut found = Found::default();
    let durable = world.witness.durable();
    for (number, member) in world.cast.iter().filter(|(_, member)| member.role.is_buffer()) {
        let story = durable.story(number);
        for entity in story.past.iter().chain(&story.entity) {
            for flush in heads::state::<Flushes>(entity).flushed {
                found.add(&flush.items, || format!("flushed by {} as {}", member.key, flush.id));
            }
        }
        let Some(entity) = &story.entity else { continue };
        for place in durable.lanes().of(entity.id) {
            let items: Vec<_> = durable.lanes().own(place).into_iter().flat_map(|rows| rows.values()).collect();
            let items: Vec<_> = items.into_iter().flat_map(items_in).collect();
            found.add(&items, || format!("waiting in {place:?}"));
        }
        let folded = heads::record::<heads::Buffering>(&entity.head).and_then(|record| record.open.folded);
        found.add(&folded.unwrap_or_default().items, || "waiting, folded".to_owned());
    }
    for (place, rows) in durable.lanes().all_held() {
        let items: Vec<_> = rows.values().flat_map(items_in).collect();
        found.add(&items, || format!("held in {place:?}"));
    }
    found
}

impl Found {
    fn add(&mut self, items: &[u64], place: impl Fn() -> String) {
        items.iter().for_each(|item| self.0.entry(*item).or_default().push(place()));
    }
}

/// Checks that held items belong to exactly one dead letter, and that every letter of a batch has its items
/// (D2).
fn check_held(world: &World) {
    let durable = world.witness.durable();
    let Some(number) = world.cast.with(Role::Box).first().copied() else { return };
    let story = durable.story(number);
    if world.cast.iter().any(|(number, _)| durable.story(number).is_parked()) {
        return;
    }
    let mut letters: Vec<Place> = Vec::new();
    if let Some(entity) = &story.entity {
        let rows = durable.lanes().own(&(entity.id, Name::new("letters")));
        for row in rows.into_iter().flat_map(|rows| rows.values()) {
            let letter: Option<Letter> = serde_json::from_slice(row).ok();
            let Some((held, count)) = letter.and_then(|letter| Some((letter.batch?, letter.count))) else { continue };
            let place = (drystone_runtime::Version(held.of), Name::from(held.lane));
            let items: usize =
                durable.lanes().held(&place).map_or(0, |rows| rows.values().map(|row| items_in(row).len()).sum());
            world.chronicle.check(items as u64 == count, Class::Lost, "D2", || {
                format!("a letter has {count} items in {place:?}, and {items} are there")
            });
            letters.push(place);
        }
    }
    for (place, _) in durable.lanes().all_held() {
        let letters = letters.iter().filter(|letter| *letter == place).count();
        world.chronicle.check(letters == 1, Class::Lost, "D2", || format!("{place:?} is held by {letters} letters"));
    }
}
