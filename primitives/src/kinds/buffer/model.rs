//! A model of a buffer, independent of how a buffer is stored.

use std::collections::BTreeMap;

use super::{Options, Sum};

#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    max_items: usize,
    wait: i64,
    resets: bool,
    max_attempts: u32,
    pause: i64,
    strict: bool,
    max_stored: usize,
}

pub(super) const PLANS: [Plan; 4] = [
    Plan { max_items: 3, wait: 10, resets: false, max_attempts: 3, pause: 7, strict: false, max_stored: 12 },
    Plan { max_items: 3, wait: 10, resets: false, max_attempts: 2, pause: 7, strict: true, max_stored: 12 },
    Plan { max_items: 1, wait: 25, resets: false, max_attempts: 2, pause: 0, strict: false, max_stored: 6 },
    Plan { max_items: 5, wait: 8, resets: true, max_attempts: 1, pause: 20, strict: false, max_stored: 100 },
];

impl Plan {
    pub(super) fn options(self) -> Options {
        let options = Options::NEW.max_items(self.max_items as u64).max_wait(&format!("{}ms", self.wait));
        let options = options.max_attempts(self.max_attempts.into()).backoff(&format!("{}ms", self.pause));
        let options = if self.resets { options.reset_on_add() } else { options };
        let options = if self.strict { options.strict_order() } else { options };
        options.max_stored(self.max_stored as u64).checked()
    }
}

/// A batch of the model, with its items.
#[derive(Clone, Debug)]
pub(super) struct Lot {
    pub(super) number: u64,
    pub(super) items: Vec<u64>,
    pub(super) ready_at: i64,
    pub(super) attempts: u32,
    pub(super) is_replayed: bool,
}

#[derive(Debug)]
pub(super) struct Model {
    pub(super) plan: Plan,
    pub(super) now: i64,
    pub(super) last: u64,
    pub(super) open: Lot,
    pub(super) since: i64,
    pub(super) closed: Vec<Lot>,
    pub(super) flying: Option<u64>,
    pub(super) flushed: Vec<Vec<u64>>,
    /// Dead batches that are not being replayed.
    pub(super) dead: Vec<Vec<u64>>,
    pub(super) deaths: Sum,
    /// The batches that callers wait for, and the answer that the callers must get once a batch has ended.
    pub(super) waiting: BTreeMap<u64, Option<(usize, &'static str)>>,
}

const NOTHING: Lot = Lot { number: 0, items: Vec::new(), ready_at: 0, attempts: 0, is_replayed: false };

impl Model {
    pub(super) fn new(plan: Plan, now: i64) -> Self {
        Self {
            plan,
            now,
            last: 0,
            open: NOTHING,
            since: 0,
            closed: Vec::new(),
            flying: None,
            flushed: Vec::new(),
            dead: Vec::new(),
            deaths: Sum::default(),
            waiting: BTreeMap::new(),
        }
    }

    pub(super) fn own_items(&self) -> usize {
        let own = self.closed.iter().filter(|lot| !lot.is_replayed);
        self.open.items.len() + own.map(|lot| lot.items.len()).sum::<usize>()
    }

    pub(super) fn add(&mut self, item: u64) -> bool {
        if self.own_items() >= self.plan.max_stored {
            return false;
        }
        if self.open.items.is_empty() {
            self.last += 1;
            (self.open.number, self.since) = (self.last, self.now);
        }
        if self.plan.resets {
            self.since = self.now;
        }
        self.open.items.push(item);
        self.settle();
        true
    }

    pub(super) fn close(&mut self) {
        let lot = std::mem::replace(&mut self.open, NOTHING);
        self.closed.push(Lot { ready_at: self.now, ..lot });
    }

    pub(super) fn deadline(&self) -> Option<i64> {
        (!self.open.items.is_empty()).then_some(self.since + self.plan.wait)
    }

    pub(super) fn next_try(&self) -> Option<i64> {
        self.closed.iter().map(|lot| lot.ready_at).filter(|at| *at > self.now).min()
    }

    pub(super) fn settle(&mut self) {
        if self.open.items.len() >= self.plan.max_items || self.deadline().is_some_and(|at| at <= self.now) {
            self.close();
        }
        self.fly();
    }

    /// If nothing is in flight, starts the batch that became due first.
    pub(super) fn fly(&mut self) {
        if self.flying.is_none() {
            let mut ready: Vec<&Lot> = self.closed.iter().collect();
            if !self.plan.strict {
                ready.sort_by_key(|lot| lot.ready_at);
            }
            self.flying = ready.first().filter(|lot| lot.ready_at <= self.now).map(|lot| lot.number);
        }
    }

    pub(super) fn pass(&mut self, millis: i64) {
        let until = self.now + millis;
        while let Some(at) = self.deadline().into_iter().chain(self.next_try()).min().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.settle();
        }
        self.now = until;
    }

    pub(super) fn take_flying(&mut self) -> Lot {
        let number = self.flying.take();
        let index = self.closed.iter().position(|lot| Some(lot.number) == number).unwrap();
        self.closed.remove(index)
    }

    pub(super) fn ended(&mut self, lot: &Lot, how: &'static str) {
        if let Some(answer) = self.waiting.get_mut(&lot.number) {
            *answer = Some((lot.items.len(), how));
        }
    }

    pub(super) fn ok(&mut self) {
        let lot = self.take_flying();
        self.ended(&lot, "flushed");
        self.flushed.push(lot.items);
        self.settle();
    }

    pub(super) fn fail(&mut self) {
        let index = self.closed.iter().position(|lot| Some(lot.number) == self.flying).unwrap();
        let lot = &mut self.closed[index];
        lot.attempts += 1;
        if lot.attempts >= self.plan.max_attempts {
            let lot = self.take_flying();
            self.ended(&lot, "dead");
            self.deaths.add(lot.items.len() as u64);
            self.dead.push(lot.items);
        } else {
            lot.ready_at = self.now + self.plan.pause;
            self.flying = None;
        }
        self.settle();
    }

    pub(super) fn flush(&mut self) -> Option<u64> {
        let number = match self.closed.last() {
            _ if !self.open.items.is_empty() => self.open.number,
            Some(last) => last.number,
            None => return None,
        };
        if !self.open.items.is_empty() {
            self.close();
        }
        self.waiting.insert(number, None);
        self.settle();
        Some(number)
    }

    pub(super) fn clear(&mut self) -> usize {
        let open = std::mem::replace(&mut self.open, NOTHING);
        let (kept, gone): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.closed).into_iter().partition(|lot| Some(lot.number) == self.flying);
        self.closed = kept;
        gone.iter().for_each(|lot| self.ended(lot, "cleared"));
        open.items.len() + gone.iter().map(|lot| lot.items.len()).sum::<usize>()
    }

    pub(super) fn replay(&mut self, items: Vec<u64>) {
        self.last += 1;
        self.closed.push(Lot { number: self.last, items, ready_at: self.now, attempts: 0, is_replayed: true });
        self.settle();
    }
}
