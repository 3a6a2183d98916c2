//! V: every event of a run is in one place, and is taken once, in order, by the oldest wait.

use std::collections::BTreeMap;

use super::Writing;
use crate::sim::{
    recording::{log::Class, witness::Run},
    workflows::{self, Asked, Kind, Ledgered, Life, Op, Phase, QueueOf, Wanted, Wrong},
};

type Queues = BTreeMap<Kind, BTreeMap<u64, Ledgered>>;

/// Checks the events that a wait has taken (V2): none is taken twice, each is the oldest that fits, and no
/// older wait could have had them.
pub(in crate::sim::check) fn took(
    writing: &Writing<'_>,
    run: &mut Run,
    (op, at): (&Op, i64),
    before: &[Op],
    events: &[Ledgered],
) -> Result<(), Wrong> {
    let Asked::Wait(wanted) = &op.asked else { return Ok(()) };
    for event in events {
        run.seen.insert(event.number);
        if !run.taken.insert(event.number) {
            return Err(Wrong(Class::Doubled, "V2", format!("takes {event:?} twice")));
        }
        in_order(writing, run, wanted, *event)?;
        count_path(writing, run, *event);
    }
    if op.until.is_some_and(|until| until <= at) {
        writing.chronicle.sometimes("an event was taken although a deadline had passed");
    }
    in_time(writing, run, (op, at), events)?;
    let is_plain = |op: &Op| matches!(&op.asked, Asked::Wait(other) if other.kind == wanted.kind && is_plain(other));
    let older = before.iter().take_while(|other| other.id != op.id).find(|other| is_plain(other));
    match older.filter(|_| is_plain(op)) {
        Some(older) => Err(Wrong(Class::Broken, "V2", format!("{op:?} takes {events:?} before {older:?}"))),
        None => Ok(()),
    }
}

/// Checks that the wait took no event that came after its deadline (V6). An event that was queued before
/// this write may have come in time, and so may an event that came while the run took nothing.
fn in_time(writing: &Writing<'_>, run: &Run, (op, at): (&Op, i64), events: &[Ledgered]) -> Result<(), Wrong> {
    let took_nothing = run.record.paused.is_some() || run.record.stopped.is_some();
    if took_nothing || op.until.is_none_or(|until| at <= until) {
        return Ok(());
    }
    let was_queued = |event: &Ledgered| {
        writing.change.queues.values().any(|queue| queue.values().any(|queued| queued.number == event.number))
    };
    match events.iter().find(|event| !was_queued(event)) {
        Some(late) => Err(Wrong(Class::Broken, "V6", format!("{op:?} takes {late:?}, which came at {at}"))),
        None => Ok(()),
    }
}

fn count_path(writing: &Writing<'_>, run: &Run, event: Ledgered) {
    let Some(epoch) = run.epochs.get(&event.number) else { return };
    writing.chronicle.sometimes("an event was taken from its queue");
    if *epoch != writing.entity.version.0 >> 32 {
        writing.chronicle.sometimes("an event was taken that was queued before a restart");
    }
}

fn is_plain(wanted: &Wanted) -> bool {
    wanted.key.is_none() && wanted.times == 1
}

/// Checks that no older event that fits was left in the queue.
fn in_order(writing: &Writing<'_>, run: &mut Run, wanted: &Wanted, event: Ledgered) -> Result<(), Wrong> {
    let Some(queue) = writing.change.queues.get(&wanted.kind) else { return Ok(()) };
    let number = queue.iter().find(|(_, queued)| queued.number == event.number).map_or(u64::MAX, |(number, _)| *number);
    let is_left = |number: &u64| run.queues.get(&wanted.kind).is_some_and(|queue| queue.contains_key(number));
    let fits = |queued: &Ledgered| wanted.key.is_none() || wanted.key == queued.shelf;
    let passed = queue.range(..number).find(|(number, queued)| is_left(number) && fits(queued));
    let is_later = |(kind, later, key): &&(Kind, u64, Option<u8>)| {
        *kind == wanted.kind && *later > number && (key.is_none() || *key == event.shelf)
    };
    if let Some(later) = run.recent.iter().find(is_later) {
        return Err(Wrong(Class::Broken, "V2", format!("takes {event:?} after {later:?}")));
    }
    run.recent.push((wanted.kind, number, wanted.key));
    match passed {
        Some(passed) => Err(Wrong(Class::Broken, "V2", format!("takes {event:?} and leaves {passed:?}"))),
        None => Ok(()),
    }
}

/// Checks that no event vanishes: the events that were queued or came are queued, taken, lost and counted,
/// or dead letters (V1, V2, V9, D1).
pub(in crate::sim::check) fn conserved(writing: &Writing<'_>, run: &mut Run) {
    let (before, after) = (&run.record, &writing.change.record);
    for kind in Kind::ALL {
        let counted = after.queues.get(kind.name()).map_or(0, |queue| queue.count);
        let rows = run.queues.get(&kind).map_or(0, |queue| queue.len() as u64);
        writing.check(counted == rows, Class::Lost, "V1", || {
            format!("counts {counted} of {} and has {rows}", kind.name())
        });
    }
    if before.generation != after.generation && (before.generation > 0 || after.generation > 1) {
        carried_over(writing, run);
        run.taken_before = run.taken.len() as u64;
        return;
    }
    let is_over = run.life.as_ref().is_some_and(Life::is_over);
    let was_over = before.end.is_some();
    writing.check(!was_over || after.events == before.events, Class::Broken, "V7", || {
        "has ended, and takes events in".to_owned()
    });
    let came = after.events.saturating_sub(before.events) + count(&writing.change.queues);
    let lost = |of: fn(&QueueOf) -> u64| {
        let sum = |queues: &BTreeMap<String, QueueOf>| {
            // Events that a `keep = "first"` queue refused never got a number.
            queues.iter().filter(|(name, _)| *name != Kind::Bid.name()).map(|(_, queue)| of(queue)).sum::<u64>()
        };
        sum(&after.queues).saturating_sub(sum(&before.queues))
    };
    let (overwritten, expired) = (lost(|queue| queue.overwritten), lost(|queue| queue.expired));
    let taken = run.taken.len() as u64 - run.taken_before;
    let buried = writing.change.letters.len() as u64;
    // A bid that comes in the same write that ends its run has no row.
    let counted = |record: &workflows::Record| record.queues.get(Kind::Bid.name()).map_or(0, |queue| queue.discarded);
    let counted = counted(after).saturating_sub(counted(before));
    let discarded = if is_over { counted.max(discarded(&writing.change.queues, run)) } else { 0 };
    let left = count(&run.queues) + taken + overwritten + expired + buried + discarded;
    writing.check(came == left, Class::Lost, "V1 D1", || {
        format!(
            "had and was sent {came} events; {} are queued, {taken} taken, {overwritten} overwritten, {expired} expired, \
             {buried} buried, {discarded} discarded",
            count(&run.queues)
        )
    });
    run.taken_before = run.taken.len() as u64;
    let goes_on = |life: &&Life| matches!(life.phase, Phase::Body | Phase::Cleanup) && after.paused.is_none();
    if let Some(life) = run.life.as_ref().filter(goes_on) {
        nothing_is_missed(writing, run, life);
    }
}

/// Checks that unread events stay queued for the next generation (L5). The entries of the events that the
/// old generation took are gone with its journal, but its body has heard those events.
fn carried_over(writing: &Writing<'_>, run: &mut Run) {
    let (before, after) = (&run.record, &writing.change.record);
    let acted = &workflows::world().recorder.acted;
    let mut missing = Vec::new();
    for (kind, queue) in &writing.change.queues {
        let lost = |record: &workflows::Record| {
            record.queues.get(kind.name()).map_or(0, |queue| queue.overwritten + queue.expired)
        };
        let left = run.queues.get(kind);
        let gone = queue.iter().filter(|(number, _)| left.is_none_or(|left| !left.contains_key(number)));
        let gone = gone.map(|(_, event)| event.number).filter(|number| !run.buried.contains(number));
        let may_be_lost = lost(after) > lost(before) || *kind == Kind::Bid && before.end.is_some();
        missing.extend(gone.filter(|_| !may_be_lost));
    }
    if !run.queues.values().all(BTreeMap::is_empty) {
        writing.chronicle.sometimes("an event was kept for the next generation");
    }
    for number in missing {
        let is_told = run.taken.contains(&number) || acted.was_heard(number);
        writing.check(is_told, Class::Lost, "L5 V1", || format!("has lost {number:x} with its generation"));
        run.taken.insert(number);
    }
}

fn count(queues: &Queues) -> u64 {
    queues.values().map(|queue| queue.len() as u64).sum()
}

/// The number of bids that were unread when their run ended.
fn discarded(before: &Queues, run: &Run) -> u64 {
    let is_left = |number: &u64| run.queues.get(&Kind::Bid).is_some_and(|queue| queue.contains_key(number));
    let is_gone = |(number, event): &(&u64, &Ledgered)| !is_left(number) && !run.taken.contains(&event.number);
    before.get(&Kind::Bid).map_or(0, |queue| queue.iter().filter(is_gone).count() as u64)
}

/// Checks that no queued event fits an open wait (V4).
fn nothing_is_missed(writing: &Writing<'_>, run: &Run, life: &Life) {
    for op in &life.ground.open {
        let Asked::Wait(wanted) = &op.asked else { continue };
        let fits = |queued: &&Ledgered| wanted.key.is_none() || wanted.key == queued.shelf;
        let there = run.queues.get(&wanted.kind).map_or(0, |queue| queue.values().filter(fits).count());
        writing.check(there < wanted.times as usize, Class::Stuck, "V4", || {
            format!("waits for {wanted:?}, and has {:?}", run.queues)
        });
    }
}
