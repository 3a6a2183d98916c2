//! W, H, V, L: in every commit a run is what the model makes of its journal, and its rows say the same.

use drystone_runtime::{Entity, Millis};

use super::{errand_events, errand_turns::is_undo};
use crate::sim::{
    chronicle::{Chronicle, Class},
    errands::{ATTEMPTS, Asked, CODE_ATTEMPTS, Life, Op, Pending, Phase, Waiting, What, Wrong},
    witness::{Run, Written, state_of},
};

/// How long a run is kept that has ended.
const RETENTION_MS: i64 = 7 * 24 * 60 * 60 * 1_000;

/// The record of a run is none.
pub fn errand_is_unreadable(chronicle: &Chronicle, entity: &Entity) {
    chronicle.violation(Class::Broken, "E10", format!("{} has no record: {:?}", entity.key, entity.head));
}

/// Tells the model what a write did to a run, and compares the two.
pub fn inspect_errand(chronicle: &Chronicle, entity: &Entity, run: &mut Run, change: &Written) {
    let writing = Writing { chronicle, entity, change };
    writing.journal(run);
    let Some(life) = &run.life else {
        return writing.check(false, Class::Lost, "W1", || "has no journal".to_owned());
    };
    if chronicle.failed() {
        return;
    }
    writing.waits(life);
    writing.stands(run, life);
    errand_events::conserved(&writing, run);
}

/// A write, and what it did.
pub(super) struct Writing<'a> {
    pub(super) chronicle: &'a Chronicle,
    pub(super) entity: &'a Entity,
    pub(super) change: &'a Written,
}

impl Writing<'_> {
    /// W1: entries are added at the end, none is left out, changed or removed; each is what the model can be told.
    fn journal(&self, run: &mut Run) {
        for (number, body) in &self.change.journal {
            let is_next = *number == run.journal.len() as u64;
            let Some(body) = body.as_ref().filter(|_| is_next) else {
                let count = run.journal.len();
                return self
                    .check(false, Class::Lost, "W1", || format!("writes {body:?} as entry {number} of {count}"));
            };
            run.journal.push(body.clone());
            if let Err(Wrong(class, law, why)) = self.entry(run) {
                return self.check(false, class, law, || why);
            }
        }
        let (counted, found) = (self.change.record.entries, run.journal.len() as u64);
        self.check(counted == found, Class::Lost, "W1", || format!("counts {counted} entries and has {found}"));
    }

    fn entry(&self, run: &mut Run) -> Result<(), Wrong> {
        let body = &run.journal[run.journal.len() - 1];
        let entry = Run::entry(body).map_err(|why| Wrong(Class::Broken, "W1", why))?;
        let Some(life) = &mut run.life else {
            run.life = Some(Life::begin(self.change.record.seed, &entry)?);
            return Ok(());
        };
        let before = life.ground.open.clone();
        let op = life.entry(&entry)?;
        match &entry.what {
            What::TimedOut(_) => self.chronicle.sometimes("a wait timed out"),
            What::Updated(_) => self.chronicle.sometimes("a run was updated"),
            What::Ok(_) if is_undo(&entry.op) => self.chronicle.sometimes("a step was undone"),
            What::Failed(_) | What::Fault(_) if is_undo(&entry.op) => {
                self.chronicle.sometimes("an undo failed for good");
            }
            _ => {}
        }
        if let (Some(op), What::Events(events)) = (op, &entry.what) {
            errand_events::took(self, run, (&op, entry.at), &before, events)?;
        }
        Ok(())
    }

    /// What it waits for is what the model waits for, until the same time (A5, L7).
    fn waits(&self, life: &Life) {
        let pending = &self.change.record.pending;
        let open = &life.ground.open;
        let is_same = |(pending, op): (&Pending, &Op)| pending.op == op.id && is_it(pending, op);
        let fits = match life.phase {
            // Steps that run end first; those that wait to be tried again do not (L3).
            Phase::Winding => {
                let known = |one: &Pending| open.iter().any(|op| is_same((one, op)));
                !pending.is_empty() && pending.iter().all(known)
            }
            Phase::Undoing(_) => pending.len() <= 1 && pending.iter().all(|one| one.op.starts_with("undo/")),
            _ => pending.len() == open.len() && pending.iter().zip(open).all(is_same),
        };
        self.check(fits, Class::Lost, "L7 A5", || format!("waits for {pending:?}, and the model for {open:?}"));
    }

    /// Record, state, alarm and status are of one moment (E7, L1).
    fn stands(&self, run: &Run, life: &Life) {
        let record = &self.change.record;
        let state = state_of(self.entity);
        self.check(state == Some(life.state()), Class::Lost, "E7", || {
            format!("has the state {:?}, and the model {:?}", self.entity.state, life.state())
        });
        let is_stopped = record.stopped.is_some();
        self.check(is_stopped == (life.phase == Phase::Panicked), Class::Stuck, "W4", || {
            format!("is stopped: {:?}, and the model is in {:?}", record.stopped, life.phase)
        });
        let expected = life.expected();
        self.check(expected.is_none(), Class::Stuck, "L1", || format!("should have ended with {expected:?}"));
        self.check(record.end.is_some() == life.is_over(), Class::Broken, "L1", || format!("says {:?}", record.end));
        self.check(!life.is_over() || run.inputs.is_empty(), Class::Broken, "L3", || {
            format!("has ended, and has the inputs {:?}", run.inputs)
        });
        self.alarm();
    }

    fn alarm(&self) {
        let record = &self.change.record;
        let has_unread = record.queues.values().any(|queue| queue.count > 0);
        let due = match &record.end {
            Some(end) if has_unread => Some(end.at),
            Some(end) => Some(end.at + RETENTION_MS),
            None => {
                let began = record.undos.began.filter(|_| !record.undos.is_over && record.pending.is_empty());
                let due = record.pending.iter().filter_map(Pending::due_at).min().or(began.map(|began| began.at));
                record.stopped.as_ref().map_or(due, |halted| Some(halted.retry_at))
            }
        };
        self.check(self.entity.alarm == due.map(Millis), Class::Lost, "E7", || {
            format!("is next due {due:?}, and its alarm is {:?}", self.entity.alarm)
        });
    }

    pub(super) fn check(&self, holds: bool, class: Class, law: &'static str, message: impl FnOnce() -> String) {
        self.chronicle.check(holds, class, law, || format!("{} {}", self.entity.key, message()));
    }
}

/// Whether something that is waited for is what the model asked for.
fn is_it(pending: &Pending, op: &Op) -> bool {
    match (&pending.what, &op.asked) {
        (Waiting::Step(step), Asked::Step { once, .. }) => step.attempt <= if *once { 1 } else { ATTEMPTS },
        (Waiting::Step(step), Asked::Code { .. }) => step.attempt <= CODE_ATTEMPTS,
        (Waiting::Sleep(_), Asked::Sleep) | (Waiting::Event(_), Asked::Wait(_)) => pending.due_at() == op.until,
        _ => false,
    }
}
