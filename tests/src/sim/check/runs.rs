//! W, H, V, L: in every commit a run agrees with the model of its journal, and its rows agree with its
//! record.

pub(crate) mod answers;
pub(crate) mod children;
pub(crate) mod ends;
pub(crate) mod events;
pub(crate) mod journal;
pub(crate) mod run_turns;

use drystone_runtime::{Entity, Millis};

use crate::sim::{
    recording::{
        log::{Chronicle, Class},
        witness::{Run, Written, state_of},
    },
    workflows::{ATTEMPTS, Asked, BOOK_ATTEMPTS, CODE_ATTEMPTS, Life, Op, Pending, Phase, Waiting, Way},
};

/// The default retention of an ended run.
const RETENTION_MS: i64 = 7 * 24 * 60 * 60 * 1_000;

/// Reports a run whose record cannot be decoded.
pub fn errand_is_unreadable(chronicle: &Chronicle, entity: &Entity) {
    chronicle.violation(Class::Broken, "E10", format!("{} has no record: {:?}", entity.key, entity.head));
}

/// Feeds a write to the model of its run, and compares the two.
pub fn inspect_errand(chronicle: &Chronicle, entity: &Entity, run: &mut Run, change: &Written) {
    let writing = Writing { chronicle, entity, change };
    journal::told(&writing, run);
    let Some(life) = &run.life else {
        return writing.check(false, Class::Lost, "W1", || "has no journal".to_owned());
    };
    if chronicle.failed() {
        return;
    }
    writing.waits(life);
    writing.stands(run, life);
    writing.claims(run, life);
    events::conserved(&writing, run);
}

/// A write with all changes to the run.
pub(super) struct Writing<'a> {
    pub(super) chronicle: &'a Chronicle,
    pub(super) entity: &'a Entity,
    pub(super) change: &'a Written,
}

impl Writing<'_> {
    /// Checks that the run waits for the same operations as the model, until the same times (A5, L7).
    fn waits(&self, life: &Life) {
        let pending = &self.change.record.pending;
        let open = &life.ground.open;
        let is_same = |(pending, op): (&Pending, &Op)| pending.op == op.id && is_it(pending, op);
        let fits = match life.phase {
            // Running steps end first. Steps that wait for their next attempt are released (L3).
            Phase::Winding => {
                let known = |one: &Pending| open.iter().any(|op| is_same((one, op)));
                !pending.is_empty() && pending.iter().all(known)
            }
            Phase::Undoing(_) => pending.len() <= 1 && pending.iter().all(|one| one.op.starts_with("undo/")),
            _ => pending.len() == open.len() && pending.iter().zip(open).all(is_same),
        };
        self.check(fits, Class::Lost, "L7 A5", || format!("waits for {pending:?}, and the model for {open:?}"));
    }

    /// Checks that record, state, alarm and status agree with the model (E7, L1).
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
        let is_deferred = record.is_deferred() && record.end.is_none();
        self.check(is_deferred == (life.phase == Phase::Deferred), Class::Stuck, "L5", || {
            format!("has told {} of {}, and the model is in {:?}", record.untold, record.entries, life.phase)
        });
        self.check(!life.leaves(), Class::Stuck, "L5", || format!("should have gone on as {:?}", life.ground.next));
        let expected = life.expected();
        self.check(expected.is_none(), Class::Stuck, "L1", || format!("should have ended with {expected:?}"));
        self.check(record.end.is_some() == life.is_over(), Class::Broken, "L1", || format!("says {:?}", record.end));
        self.check(!life.is_over() || run.inputs.is_empty(), Class::Broken, "L3", || {
            format!("has ended, and has the inputs {:?}", run.inputs)
        });
        self.alarm();
    }

    /// Checks that the claims are exactly the rows of the pending bookings (W6).
    fn claims(&self, run: &Run, life: &Life) {
        let record = &self.change.record;
        let is_claimed = |pending: &&Pending| matches!(&pending.what, Waiting::Step(step) if step.claimed);
        let waited: Vec<_> = record.pending.iter().filter(is_claimed).map(|pending| pending.op.as_bytes()).collect();
        let rows: Vec<_> = run.claims.iter().filter(|(of, _)| *of == record.generation).collect();
        let is_known = |(_, op): &&(u32, drystone_runtime::RowKey)| waited.contains(&&op[..]);
        let fits =
            rows.len() == run.claims.len() && rows.len() == waited.len() && run.claims.iter().all(|row| is_known(&row));
        self.check(fits, Class::Broken, "W6", || format!("has the claims {:?} and waits for {waited:?}", run.claims));
        let books = |op: &&Op| matches!(op.asked, Asked::Book { .. });
        let is_body = matches!(life.phase, Phase::Body | Phase::Cleanup);
        let count = life.ground.open.iter().filter(books).count();
        self.check(!is_body || count == waited.len(), Class::Lost, "W6", || format!("claims {waited:?} of {count}"));
    }

    fn alarm(&self) {
        let record = &self.change.record;
        // A deferred generation begins in a turn of its own, so an alarm must be set.
        if record.is_deferred() && record.end.is_none() && record.paused.is_none() {
            return self.check(self.entity.alarm.is_some(), Class::Stuck, "L5", || "is never begun".to_owned());
        }
        let has_unread = record.queues.values().any(|queue| queue.count > 0);
        let due = match &record.end {
            Some(end) if has_unread || record.goes => Some(end.at),
            Some(end) => Some(end.at + RETENTION_MS),
            None if record.paused.is_some() => {
                self.chronicle.sometimes("a run was held");
                None
            }
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

/// Whether a pending operation is the one that the model asked for.
fn is_it(pending: &Pending, op: &Op) -> bool {
    match (&pending.what, &op.asked) {
        (Waiting::Step(step), Asked::Step { once, .. }) => step.attempt <= if *once { 1 } else { ATTEMPTS },
        (Waiting::Step(step), Asked::Code { .. }) => step.attempt <= CODE_ATTEMPTS,
        (Waiting::Step(step), Asked::Book { .. }) => step.attempt <= BOOK_ATTEMPTS,
        (Waiting::Step(step), Asked::Ring { .. } | Asked::Permit) => step.attempt == 1,
        (Waiting::Child(childing), Asked::Child { number, way }) => {
            childing.key.contains(&format!("/{number:x}~")) && childing.is_abandoned == (*way != Way::Awaited)
        }
        (Waiting::Sleep(_), Asked::Sleep) | (Waiting::Event(_), Asked::Wait(_)) => pending.due_at() == op.until,
        _ => false,
    }
}
