//! Q1–Q5: in every commit the record of a queue agrees with its rows, and each item is in one place.

pub(crate) mod items;
pub(crate) mod queue_turns;
pub(crate) mod queued;

use std::collections::BTreeSet;

use drystone::Timestamp;
use drystone_runtime::{Entity, Millis};

use crate::sim::{
    apps::{
        Processed, heads,
        queues::queueing::{Class as Line, DeadItem, Later, Queueing, Rules, Running},
    },
    drawing::roster::{Number, Role},
    recording::{
        log::{Chronicle, Class},
        witness::{Change, Fate, Item, Queue, Queues},
    },
};

/// Compares the record of a queue with its rows after a write, and returns the numbers of done and dead
/// items in the record.
pub fn inspect_queue(
    chronicle: &Chronicle,
    (member, role): (Number, Role),
    entity: &Entity,
    queues: &Queues,
    change: &Change,
) -> (u64, u64) {
    let Some(record) = heads::record::<Queueing>(&entity.head) else {
        chronicle.violation(Class::Broken, "Q1", format!("{} has no record", entity.key));
        return change.counted;
    };
    let rules = Rules::of(role);
    let Some(queue) = queues.of(entity.id) else { return change.counted };
    let inspected = Inspected { chronicle, member, role, rules, entity, queues, queue, record: &record };
    inspected.places();
    inspected.counts();
    inspected.line();
    inspected.running();
    inspected.ends(change);
    inspected.keys(change);
    (record.done, record.dead)
}

struct Inspected<'a> {
    chronicle: &'a Chronicle,
    member: Number,
    role: Role,
    rules: Rules,
    entity: &'a Entity,
    queues: &'a Queues,
    queue: &'a Queue,
    record: &'a Queueing,
}

impl Inspected<'_> {
    /// Checks that no item is in two places (Q1), and that there are not too many items (Q5).
    fn places(&self) {
        let items = &self.queue.items;
        let numbers: BTreeSet<_> = items.values().map(|item| item.number).collect();
        let values: BTreeSet<_> = items.values().map(|item| item.value).collect();
        let single = numbers.len() == items.len() && values.len() == items.len();
        self.check(single, Class::Doubled, "Q1", || format!("has an item twice: {items:?}"));
        self.check(items.len() <= self.rules.max_depth, Class::Broken, "Q5", || format!("has {} items", items.len()));
    }

    /// Checks that each lane has as many rows as the record counts, and that the first one is due when the
    /// record says.
    fn counts(&self) {
        let record = self.record;
        let (first, again): (Vec<_>, Vec<_>) = record.running.iter().partition(|running| running.place.is_some());
        let expected = [
            ("line", record.waiting() + first.len() as u64),
            ("delayed", record.delayed.count),
            ("retry", record.retrying.count),
            ("again", again.len() as u64),
        ];
        for (lane, count) in expected {
            let rows = self.of(lane).count() as u64;
            self.check(rows == count, Class::Lost, "Q1", || format!("counts {count} in {lane} and has {rows}"));
        }
        self.due("delayed", record.delayed);
        self.due("retry", record.retrying);
        if record.paused && record.depth() > 0 {
            self.chronicle.sometimes("a queue was paused with items in it");
        }
    }

    fn due(&self, lane: &str, later: Later) {
        let first = self.of(lane).map(|item| Timestamp::from(Millis(item.place.cast_signed()))).min();
        self.check(first == later.at, Class::Lost, "Q1", || {
            format!("expects the first of {lane} at {:?}, and it is due {first:?}", later.at)
        });
    }

    /// Checks that the record names the first items of the line, without a gap.
    fn line(&self) {
        for class in &self.record.line {
            let running = |number| self.record.running.iter().any(|running| running.number == number);
            let mut waiting: Vec<_> = self.of("line").filter(|item| item.priority == class.priority).collect();
            waiting.retain(|item| !running(item.number));
            waiting.sort_by_key(|item| item.place);
            let named: Vec<_> = class.ahead.iter().map(|spot| spot.number).collect();
            let first: Vec<_> = waiting.iter().take(named.len()).map(|item| item.number).collect();
            let whole = waiting.len() as u64 == named.len() as u64 + class.beyond && named == first;
            self.check(whole, Class::Lost, "Q1", || format!("names {class:?}, and there wait {waiting:?}"));
            self.long(class);
        }
    }

    fn long(&self, class: &Line) {
        if class.beyond > 0 {
            self.chronicle.sometimes("a line was longer than its record names");
        }
    }

    /// Checks the running items: their number, their rows, and their attempts (Q2, Q3).
    fn running(&self) {
        let running = &self.record.running;
        self.check(running.len() <= self.rules.concurrency, Class::Broken, "Q2", || format!("runs {running:?}"));
        running.iter().for_each(|one| self.one_runs(one));
    }

    fn one_runs(&self, running: &Running) {
        let lane = if running.place.is_some() { "line" } else { "again" };
        let row = self.of(lane).find(|item| item.number == running.number);
        let next = row.is_some_and(|item| running.attempt == item.failed + 1);
        let may = running.attempt <= self.rules.max_attempts;
        self.check(next && may, Class::Broken, "Q3", || format!("runs {running:?} of {row:?}"));
        if running.not_before.is_some() {
            self.chronicle.sometimes("an item held up others in strict order");
        }
    }

    /// Checks that each item leaves with its success or with its dead letter, and does not come back by
    /// itself (Q1, Q2, Q3).
    fn ends(&self, change: &Change) {
        let Change { came, gone, letters, counted: (done, dead), .. } = change;
        let succeeded = gone.iter().filter(|item| letters.iter().all(|letter| letter.number != item.number)).count();
        let ended = (self.record.done - done, self.record.dead - dead);
        self.check(ended == (succeeded as u64, letters.len() as u64), Class::Lost, "Q1", || {
            format!("counts {ended:?} more that are done and dead, and lost {gone:?}, with {letters:?}")
        });
        letters.iter().for_each(|letter| self.died(letter, gone));
        for item in came {
            let earlier = self.queues.numbers(self.member, item.value);
            let done = earlier.iter().find(|(id, number)| self.queues.fate(*id, *number) == Some(Fate::Done));
            self.check(done.is_none(), Class::Doubled, "Q1", || format!("has {item:?}, which was done as {done:?}"));
        }
        self.state(gone, letters);
    }

    fn died(&self, letter: &DeadItem, gone: &[Item]) {
        self.chronicle.sometimes("an item became a dead letter");
        let item = gone.iter().find(|item| item.number == letter.number);
        self.check(item.is_some_and(|item| item.value == letter.item), Class::Doubled, "Q3", || {
            format!("gives up {letter:?}, and had {item:?}")
        });
        self.check(letter.attempts == self.rules.max_attempts, Class::Broken, "Q3", || {
            format!("gives up {letter:?} too early")
        });
    }

    /// Checks that the author's struct and the kind's counters agree, because they are written in one
    /// commit (E5).
    fn state(&self, gone: &[Item], letters: &[DeadItem]) {
        if self.role == Role::Mail {
            return;
        }
        let processed = heads::state::<Processed>(self.entity).items;
        self.check(processed.len() as u64 == self.record.done, Class::Lost, "Q2", || {
            format!("counts {} and has processed {processed:x?}", self.record.done)
        });
        let lost = gone
            .iter()
            .find(|item| letters.iter().all(|letter| letter.number != item.number) && !processed.contains(&item.value));
        self.check(lost.is_none(), Class::Lost, "Q2", || format!("has lost {lost:?}: {processed:x?}"));
    }

    /// Checks that a dedup key is kept for its window and forgotten afterwards (Q4).
    fn keys(&self, change: &Change) {
        let hasty = &change.hasty;
        self.check(hasty.is_empty(), Class::Doubled, "Q4", || format!("forgets {hasty:?} within their window"));
        let Queue { once, fades, .. } = self.queue;
        let fading = once.iter().map(|(key, before)| [&before.until.as_millis().to_be_bytes()[..], key].concat());
        let same = once.len() == fades.len() && fading.into_iter().all(|key| fades.contains(key.as_slice()));
        self.check(same, Class::Lost, "Q4", || format!("has the keys {once:?} and their times {fades:?}"));
    }

    fn of(&self, lane: &str) -> impl Iterator<Item = &Item> {
        self.queue.items.iter().filter(move |((of, _), _)| of.as_str() == lane).map(|(_, item)| item)
    }

    fn check(&self, holds: bool, class: Class, law: &'static str, message: impl FnOnce() -> String) {
        self.chronicle.check(holds, class, law, || format!("{} {}", self.entity.key, message()));
    }
}
