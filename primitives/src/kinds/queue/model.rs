//! A model of a queue, independent of how a queue is stored.

use super::Options;

#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    concurrency: usize,
    max_attempts: u32,
    pause: i64,
    strict: bool,
    max_depth: usize,
}

pub(super) const PLANS: [Plan; 4] = [
    Plan { concurrency: 1, max_attempts: 3, pause: 7, strict: false, max_depth: 40 },
    Plan { concurrency: 3, max_attempts: 2, pause: 11, strict: false, max_depth: 200 },
    Plan { concurrency: 1, max_attempts: 2, pause: 5, strict: true, max_depth: 200 },
    Plan { concurrency: 2, max_attempts: 4, pause: 0, strict: false, max_depth: 9 },
];

impl Plan {
    pub(super) fn options(self) -> Options {
        let options = Options::NEW.concurrency(self.concurrency as u64).max_depth(self.max_depth as u64);
        let options = options.max_attempts(self.max_attempts.into()).backoff(&format!("{}ms", self.pause));
        let options = if self.strict { options.strict_order() } else { options };
        options.checked()
    }
}

/// An item of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Thing {
    pub(super) number: u64,
    pub(super) value: u64,
    pub(super) priority: u8,
    pub(super) failed: u32,
    /// When the item may start: after a delay, or after the pause that follows a failure.
    pub(super) at: i64,
    /// The item's place in the order of joining the line.
    joined: u64,
    /// Whether the item holds up others until its retry.
    held: bool,
}

#[derive(Debug)]
pub(super) struct Model {
    pub(super) plan: Plan,
    pub(super) now: i64,
    pub(super) last: u64,
    joined: u64,
    pub(super) paused: bool,
    pub(super) line: Vec<Thing>,
    pub(super) delayed: Vec<Thing>,
    pub(super) retrying: Vec<Thing>,
    /// The started items, in the order in which they were started. In strict order, a started item may wait
    /// for its retry.
    pub(super) begun: Vec<Thing>,
    retried_last: bool,
    pub(super) done: Vec<u64>,
    pub(super) dead: Vec<Thing>,
    /// How often the callers of `drain` were answered.
    pub(super) drained: usize,
    /// Dedup keys, each with the number of its item and the end of its window.
    pub(super) once: Vec<(u8, u64, i64)>,
}

impl Model {
    pub(super) fn new(plan: Plan, now: i64) -> Self {
        Self {
            plan,
            now,
            last: 0,
            joined: 0,
            paused: false,
            line: Vec::new(),
            delayed: Vec::new(),
            retrying: Vec::new(),
            begun: Vec::new(),
            retried_last: false,
            done: Vec::new(),
            dead: Vec::new(),
            drained: 0,
            once: Vec::new(),
        }
    }

    pub(super) fn stored(&self) -> impl Iterator<Item = &Thing> {
        self.line.iter().chain(&self.delayed).chain(&self.retrying).chain(&self.begun)
    }

    pub(super) fn depth(&self) -> usize {
        self.stored().count()
    }

    pub(super) fn has_room(&self) -> bool {
        self.depth() < self.plan.max_depth
    }

    /// Returns the item that was enqueued under this key, if the window has not ended.
    pub(super) fn before(&self, key: u8) -> Option<u64> {
        self.once.iter().find(|(known, _, until)| *known == key && *until > self.now).map(|(_, number, _)| *number)
    }

    pub(super) fn enqueue(&mut self, value: u64, priority: u8, delay: i64) {
        self.last += 1;
        let thing =
            Thing { number: self.last, value, priority, failed: 0, at: self.now + delay, joined: 0, held: false };
        if delay > 0 {
            self.delayed.push(thing);
        } else {
            self.join(thing);
        }
        self.settle();
    }

    fn join(&mut self, thing: Thing) {
        self.joined += 1;
        self.line.push(Thing { joined: self.joined, ..thing });
        self.line.sort_by_key(|thing| (u8::MAX - thing.priority, thing.joined));
    }

    pub(super) fn settle(&mut self) {
        self.delayed.sort_by_key(|thing| (thing.at, thing.number));
        while self.delayed.first().is_some_and(|first| first.at <= self.now) {
            let thing = self.delayed.remove(0);
            self.join(thing);
        }
        self.retrying.sort_by_key(|thing| (thing.at, thing.number));
        let (now, paused) = (self.now, self.paused);
        self.begun.iter_mut().filter(|thing| thing.at <= now && !paused).for_each(|thing| thing.held = false);
        while !self.paused && self.begun.len() < self.plan.concurrency {
            let retries = self.retrying.first().is_some_and(|first| first.at <= self.now);
            let waits = !self.line.is_empty();
            if !retries && !waits {
                return;
            }
            self.retried_last = retries && (!waits || !self.retried_last);
            let next = if self.retried_last { self.retrying.remove(0) } else { self.line.remove(0) };
            self.begun.push(next);
        }
    }

    /// Returns the running items, in order.
    pub(super) fn running(&self) -> Vec<&Thing> {
        self.begun.iter().take(self.plan.concurrency).filter(|thing| !thing.held).collect()
    }

    /// Returns the next time at which something happens without an input.
    fn next_at(&self) -> Option<i64> {
        let again = self.retrying.iter().chain(&self.begun).filter(|_| !self.paused);
        let all = self.delayed.iter().chain(again);
        all.map(|thing| thing.at).filter(|at| *at > self.now).min()
    }

    pub(super) fn pass(&mut self, millis: i64) {
        let until = self.now + millis;
        while let Some(at) = self.next_at().filter(|at| *at <= until) {
            self.now = at;
            self.settle();
        }
        self.now = until;
    }

    fn end(&mut self, number: u64) -> Thing {
        let index = self.begun.iter().position(|thing| thing.number == number).unwrap();
        self.begun.remove(index)
    }

    pub(super) fn ok(&mut self, number: u64) {
        let thing = self.end(number);
        self.done.push(thing.value);
        self.over();
    }

    pub(super) fn fail(&mut self, number: u64) {
        let place = self.begun.iter().position(|thing| thing.number == number).unwrap();
        let thing = self.end(number);
        let thing = Thing { failed: thing.failed + 1, at: self.now + self.plan.pause.max(1), ..thing };
        if thing.failed >= self.plan.max_attempts {
            self.dead.push(thing);
            return self.over();
        }
        if self.plan.strict {
            self.begun.insert(place, Thing { held: true, ..thing });
        } else {
            self.retrying.push(thing);
        }
        self.settle();
    }

    fn over(&mut self) {
        if self.depth() == 0 {
            self.drained += 1;
        }
        self.settle();
    }
}
