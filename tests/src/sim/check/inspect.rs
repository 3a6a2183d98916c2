//! The checks of every single write, made when it is applied.

use std::collections::BTreeMap;

use drystone_runtime::{Entity, Millis, Parked};

use crate::sim::{
    apps::{Bell, Chest, Flushes, Ticked, Till, heads, heads::Ticking},
    drawing::roster::Role,
    handlers::{Alarms, Beat, End, Job, List, Pile, Post, Queue, Ticks, Uid, codec::Record},
    recording::{
        log::{Chronicle, Class},
        outbox::Posted,
    },
};

/// Compares an entity before and after a write. `is_guilty` says whether some work of the entity kills its
/// process.
pub fn inspect(chronicle: &Chronicle, role: Role, before: Option<&Entity>, after: Option<&Entity>, is_guilty: bool) {
    let Some(after) = after else {
        if before.is_some() {
            chronicle.sometimes("an entity was destroyed");
        }
        return;
    };
    let inspection = Inspection { chronicle, role, before, after, is_guilty };
    inspection.crashes();
    match role {
        Role::Counter | Role::Caller => inspection.counter(),
        Role::Relay | Role::Doomed => inspection.relay(),
        Role::Alarmist => inspection.alarmist(),
        Role::Ticker => inspection.ticker(),
        Role::Worker => inspection.worker(),
        Role::Letters => inspection.letters(),
        Role::Line => inspection.line(),
        Role::Pulse | Role::Drip | Role::Chime => inspection.ticked(),
        Role::Basket | Role::Strict | Role::Heap => inspection.flushed(),
        Role::Chest => inspection.chest(),
        Role::Bell => inspection.bell(),
        Role::Till => inspection.till(),
        Role::Nobody | Role::Box | Role::Gate | Role::Mail | Role::Steps | Role::Tally | Role::Errand => {}
        Role::Listener | Role::News | Role::Notice | Role::Job | Role::Bulletin | Role::Task => {}
    }
}

struct Inspection<'a> {
    chronicle: &'a Chronicle,
    role: Role,
    before: Option<&'a Entity>,
    after: &'a Entity,
    is_guilty: bool,
}

impl Inspection<'_> {
    /// Checks that only guilty entities are ever held (W2).
    fn crashes(&self) {
        let was = self.before.map_or(0, |before| before.crashes.deaths());
        if self.after.crashes.deaths() > was {
            self.chronicle.sometimes("a crash was counted");
        }
        if self.after.crashes.needs_control() {
            self.chronicle.sometimes("a suspect was held back");
        }
        if self.before.is_some_and(|before| before.crashes.needs_control()) && self.after.crashes.is_acquitted() {
            self.chronicle.sometimes("a suspect was acquitted");
        }
        if self.after.suspect.is_some() {
            self.chronicle.sometimes("a suspect was named");
        }
        if let Some(reason) = &self.after.parked {
            self.chronicle.sometimes("an entity was parked");
            let is_guilty = self.role == Role::Doomed || self.is_guilty;
            let expected = is_guilty && matches!(reason, Parked::Held(_));
            self.check(expected, Class::Broken, "W2", || format!("is parked: {reason}"));
        }
    }

    /// Checks that the list only grows at its end and has no number twice (E3, E12).
    fn counter(&self) {
        let (was, is) = (decode::<List>(self.before).0, state::<List>(self.after).0);
        self.check(is.starts_with(&was), Class::Lost, "E3", || format!("was {was:x?} and became {is:x?}"));
        self.unique("E12", &is);
        self.in_order(&is);
        if is.len() > was.len() + 1 {
            self.chronicle.sometimes("a chain held several turns");
        }
    }

    /// Checks that the tasks of a till stay, in order.
    fn till(&self) {
        let was = self.before.map(heads::state::<Till>).unwrap_or_default().rung;
        let is = heads::state::<Till>(self.after).rung;
        self.check(is.starts_with(&was), Class::Lost, "M5", || format!("had {was:x?} and has {is:x?}"));
    }

    fn relay(&self) {
        let (was, is) = (decode::<Post>(self.before), state::<Post>(self.after));
        let grows = is.taken.starts_with(&was.taken) && is.asked.starts_with(&was.asked);
        self.check(grows, Class::Lost, "M1", || format!("was {was:x?} and became {is:x?}"));
        self.unique("E12", &is.asked);
        self.unique("M1", &is.taken);
        self.in_order(&is.taken);
    }

    /// Checks that the messages of one sender were taken first in, first out (M1).
    fn in_order(&self, taken: &[u64]) {
        let mut last = BTreeMap::new();
        for posted in taken.iter().filter_map(|number| Posted::of(*number)) {
            let earlier = last.insert(posted.transaction, posted.place);
            let ordered = earlier < Some(posted.place);
            self.check(ordered, Class::Broken, "M1", || {
                format!("took {posted:?} after {earlier:?} of the same sender")
            });
        }
        let mut last = BTreeMap::new();
        for uid in taken.iter().filter_map(|number| Uid::of(*number)) {
            let earlier = last.insert(uid.from, uid.sequence).unwrap_or(0);
            let ordered = earlier < uid.sequence;
            self.check(ordered, Class::Broken, "M1", || format!("took {uid:?} after {earlier} of the same sender"));
        }
    }

    fn alarmist(&self) {
        let is = state::<Alarms>(self.after);
        self.alarm_is(is.due);
        self.unique("E12", &is.asked);
        let rung: Vec<_> = is.rung.iter().map(|(number, ..)| *number).collect();
        self.unique("A2", &[rung, is.replaced.clone(), is.due.map(|_| is.armed).into_iter().collect()].concat());
        for (number, due, at) in is.rung.iter().skip(decode::<Alarms>(self.before).rung.len()) {
            self.check(at >= due, Class::Broken, "A2", || format!("alarm {number}, due {due}, rang at {at}"));
            if at.since(*due).as_millis() > 500 {
                self.chronicle.sometimes("an alarm rang late");
            }
        }
    }

    /// Checks that state and alarm are committed together (E7), and that the alarm is never computed anew
    /// (A5).
    fn alarm_is(&self, due: Option<Millis>) {
        self.check(self.after.alarm == due, Class::Lost, "E7", || {
            format!("its alarm is {:?}, and it counts on {due:?}", self.after.alarm)
        });
    }

    fn ticker(&self) {
        let beat = Beat::decode(&self.after.head).unwrap_or_default();
        self.alarm_is(beat.due);
        self.unique("E12", &beat.asked);
        let (was, is) = (decode::<Ticks>(self.before).0, state::<Ticks>(self.after).0);
        self.check(is.starts_with(&was), Class::Lost, "E3", || format!("had the ticks {was:?} and has {is:?}"));
        let grows = is.windows(2).all(|pair| pair[0] < pair[1]);
        self.check(grows, Class::Doubled, "C6", || format!("ticks {is:?}"));
    }

    fn worker(&self) {
        let was = self.before.and_then(|before| Job::decode(&before.head)).unwrap_or_default();
        let is = Job::decode(&self.after.head).unwrap_or_default();
        self.unique("E12", &is.asked);
        self.check(is.ended.starts_with(&was.ended), Class::Lost, "W1", || format!("was {was:?} and became {is:?}"));
        for (place, ended) in is.ended.iter().enumerate().skip(was.ended.len()) {
            let same = |other: &&crate::sim::handlers::Ended| {
                (other.job, other.piece, other.attempt) == (ended.job, ended.piece, ended.attempt)
            };
            let again = is.ended[..place].iter().find(same);
            self.check(again.is_none(), Class::Doubled, "W1", || format!("ended twice: {ended:?}"));
            self.count(ended.end);
        }
        if was.open() && !is.open() && is.asked.len() > was.asked.len() {
            self.chronicle.sometimes("a piece of work was stopped");
        }
    }

    /// Checks that the author's struct and the kind's record agree: both have each successful tick once, in
    /// one commit (C4, C6).
    fn ticked(&self) {
        let was = self.before.map(heads::state::<Ticked>).unwrap_or_default().ticks;
        let is = heads::state::<Ticked>(self.after).ticks;
        self.check(is.starts_with(&was), Class::Lost, "C6", || format!("had the ticks {was:?} and has {is:?}"));
        self.check(is.is_sorted_by(|one, next| one < next), Class::Doubled, "C6", || format!("has the ticks {is:?}"));
        let record: Option<Ticking> = heads::record(&self.after.head);
        let runs = record.map(|record| record.runs);
        self.check(runs == Some(is.len() as u64), Class::Lost, "C4", || format!("counts {runs:?} runs of {is:?}"));
    }

    fn flushed(&self) {
        let was = self.before.map(heads::state::<Flushes>).unwrap_or_default().flushed;
        let is = heads::state::<Flushes>(self.after).flushed;
        self.check(is.starts_with(&was), Class::Lost, "B4", || format!("had flushed {was:?} and has {is:?}"));
        if is.iter().skip(was.len()).any(|flush| flush.is_replayed) {
            self.chronicle.sometimes("a dead batch was flushed after all");
        }
        let items: Vec<_> = is.iter().flat_map(|flush| flush.items.iter().copied()).collect();
        self.unique("B4", &items);
        let own: Vec<_> = is.iter().filter(|flush| !flush.is_replayed).map(|flush| flush.number).collect();
        let ordered = self.role != Role::Strict || own.is_sorted();
        self.check(ordered, Class::Broken, "B5", || format!("has flushed in the order {own:?}"));
    }

    /// Checks that the state which a flush left in its transaction does not undo later calls (W6).
    fn chest(&self) {
        self.flushed();
        let was = self.before.map(heads::state::<Chest>).unwrap_or_default().laid;
        let is = heads::state::<Chest>(self.after).laid;
        self.check(is.starts_with(&was), Class::Lost, "E3", || format!("had {was:x?} laid and has {is:x?}"));
        self.unique("E12", &is);
    }

    /// Checks that failed code leaves nothing behind, neither state nor an alarm (E5, E7).
    fn bell(&self) {
        let is = heads::state::<Bell>(self.after);
        self.unique("E12", &is.asked);
        self.unique("A2", &[is.rung.clone(), is.replaced.clone()].concat());
        let ends = is.rung.len() + is.replaced.len() + usize::from(is.armed.is_some());
        self.check(ends == is.asked.len(), Class::Lost, "E5", || format!("is {is:?}"));
        let alarmed = self.after.alarm.is_some() || is.armed.is_none() || self.after.status.word == "error";
        self.check(alarmed, Class::Lost, "E7", || format!("is {is:?} and has no alarm"));
    }

    fn line(&self) {
        let inside = |entity: &Entity| Queue::decode(&entity.head).and_then(|queue| queue.inside);
        let (was, is) = (self.before.and_then(inside), inside(self.after));
        if was.is_some() && is.is_some() && was != is {
            self.chronicle.sometimes("a caller was let in from a line");
        }
    }

    fn count(&self, end: End) {
        match end {
            End::Well => {}
            End::Failed => self.chronicle.sometimes("a piece of work was retried"),
            End::Panicked => self.chronicle.sometimes("a piece of work panicked"),
            End::TimedOut => self.chronicle.sometimes("a piece of work timed out"),
        }
    }

    fn letters(&self) {
        let is = state::<Pile>(self.after).0;
        self.unique("M4", &is);
        self.chronicle.sometimes("a message became a dead letter");
    }

    fn unique(&self, law: &'static str, list: &[u64]) {
        let mut sorted = list.to_vec();
        sorted.sort_unstable();
        let twice = sorted.windows(2).find(|pair| pair[0] == pair[1]);
        self.check(twice.is_none(), Class::Doubled, law, || {
            format!("has {:x} twice: {list:x?}", twice.map_or(0, |pair| pair[0]))
        });
    }

    fn check(&self, holds: bool, class: Class, law: &'static str, message: impl FnOnce() -> String) {
        self.chronicle.check(holds, class, law, || format!("{} {}", self.after.key, message()));
    }
}

fn decode<T: Record>(entity: Option<&Entity>) -> T {
    entity.map(state).unwrap_or_default()
}

fn state<T: Record>(entity: &Entity) -> T {
    T::decode(&entity.state).unwrap_or_default()
}
