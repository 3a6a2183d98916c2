//! W2, W3, L3: the checks of every single turn of a run, and of every execution of its steps.

use drystone::workflow::SendError;
use drystone_runtime::{Cause, Commit, Cx, Entity, Error, Input, Millis, Next, Outcome, To, Work};

use crate::sim::{
    handlers::Stage,
    recording::log::Class,
    workflows::{
        ATTEMPTS, BOOK_ATTEMPTS, CODE_ATTEMPTS, PARCELS, PAUSE, Record, Stepping, UNDO_ATTEMPTS, of_work, work_name,
    },
};

/// Whether a piece of work is a step of a run, or code of its body.
pub fn is_step(work: &str) -> bool {
    work.contains('#')
}

/// Whether the work is code of the body (`flow.run`).
pub fn is_code(work: &str) -> bool {
    work.contains("run:code#")
}

/// Whether the seed does not decide the end of this work, because it is a call, a permit or a booking.
pub fn is_elsewhere(work: &str) -> bool {
    let op = of_work(work).1.rsplit('/').next().unwrap_or_default();
    ["call:", "permit:", "book#"].iter().any(|name| op.starts_with(name))
}

/// Whether the work is an undo.
pub(in crate::sim::check) fn is_undo(work: &str) -> bool {
    work.starts_with("undo/")
}

/// Whether the work is a step that its run has released. The input of such a step may be gone before it is
/// read.
pub fn was_let_go(entity: &Entity, work: &str) -> bool {
    let (record, (generation, op)) = (record_of(entity), of_work(work));
    is_step(work) && (record.generation != generation || record.step(op).is_none())
}

/// Checks a step that begins: the record waits for it, its outcome is not recorded, and its run has not
/// ended.
pub fn errand_begins(stage: &Stage, entity: &Entity, work: &Work, cx: &Cx) {
    let (world, (generation, op)) = (&stage.world, of_work(work.id.as_str()));
    let record = record_of(entity);
    let step = record.step(op).filter(|_| generation == record.generation);
    let is_held = record.paused.as_ref().is_some_and(|paused| !paused.runs.iter().any(|runs| runs == op));
    world.chronicle.check(!is_held, Class::Broken, "H2", || format!("{op} of {} begins, and it is held", cx.key));
    let listed = step.is_some_and(|step| step.attempt == work.attempt && step.retry_at.is_none_or(|at| at <= cx.now.0));
    world.chronicle.check(listed, Class::Broken, "W3", || {
        format!("{op} #{} of {} begins at {}, and its record has {step:?}", work.attempt, cx.key, cx.now)
    });
    let durable = world.witness.durable();
    let Some(run) = durable.errands().run(entity.id) else { return };
    let Some(life) = run.life.as_ref() else { return };
    // After a jump of the store's clock a lease may have ended without its owner knowing.
    let is_over = run.record.generation > generation || life.is_over() || life.has_recorded(op);
    world.chronicle.check(!is_over || !world.clocks_are_honest(), Class::Doubled, "W1 L3", || {
        format!("{op} #{} of {} begins, and is over", work.attempt, cx.key)
    });
    if work.attempt > 1 && is_code(op) {
        world.chronicle.sometimes("code of a body was made and executed again");
    }
}

/// Checks a turn of a run.
pub(in crate::sim::check) fn turned(stage: &Stage, entity: &Entity, input: &Input, now: Millis, commit: &Commit) {
    let (before, after) = (record_of(entity), commit.head.as_ref().map_or_else(|| record_of(entity), read));
    let turn = Turn { stage, entity, now, before, after };
    match input {
        Input::Done { work, attempt, cause: Cause::Listed, outcome } if is_step(work.as_str()) => {
            let (generation, op) = of_work(work.as_str());
            if generation == turn.before.generation && generation == turn.after.generation {
                turn.ended(op, *attempt, outcome);
                turn.lost(Some(op));
            }
        }
        Input::Call { verb, .. } if verb == "cancel" => turn.cancelled(),
        Input::Call { verb, .. } if verb == "cancel_abandoning_steps" => turn.abandoned(),
        Input::Call { verb, .. } if verb == "send" || verb == "send_or_start" => {
            turn.refused(commit);
            turn.lost(None);
        }
        _ => turn.lost(None),
    }
}

/// Counts the replays: turns that read a journal before they continue.
pub(in crate::sim::check) fn answered(stage: &Stage, entity: &Entity, input: &Input, next: &Next) {
    let chronicle = &stage.world.chronicle;
    let record = record_of(entity);
    match (input, next) {
        (Input::Call { verb, .. }, _) if matches!(verb.as_str(), "history" | "result" | "try_result") => {}
        (_, Next::Read(ranges)) if ranges.iter().any(|range| range.lane.starts_with("journal/")) => {
            chronicle.sometimes("a run was replayed");
            if record.entries >= 10 {
                chronicle.sometimes("a run was replayed on ten entries or more");
            }
            if record.cancel.is_some() {
                chronicle.sometimes("a `#[cancelled]` body was replayed");
            }
        }
        _ => {}
    }
}

fn record_of(entity: &Entity) -> Record {
    read(&entity.head)
}

fn read(head: &bytes::Bytes) -> Record {
    serde_json::from_slice(head).unwrap_or_default()
}

struct Turn<'a> {
    stage: &'a Stage,
    entity: &'a Entity,
    now: Millis,
    before: Record,
    after: Record,
}

impl Turn<'_> {
    /// Checks the end of an attempt (W3): a failed attempt is retried after the backoff, up to the limit.
    /// Any other end is recorded.
    fn ended(&self, op: &str, attempt: u32, outcome: &Outcome) {
        let is_current = |step: &&Stepping| step.attempt == attempt;
        let goes_on = self.before.end.is_none() && self.before.stopped.is_none();
        if !goes_on || self.before.step(op).filter(is_current).is_none() {
            return;
        }
        let most = match op {
            _ if is_code(op) => CODE_ATTEMPTS,
            _ if is_undo(op) => UNDO_ATTEMPTS,
            _ if is_elsewhere(op) && !op.contains("book#") => 1,
            _ if op.contains("book#") => BOOK_ATTEMPTS,
            _ if op.contains("once#") => 1,
            _ => ATTEMPTS,
        };
        // The work could not run because of its surroundings, and is asked for again.
        if is_elsewhere(op) && matches!(outcome, Outcome::Refused(_)) {
            return;
        }
        let has_failed = matches!(outcome, Outcome::Failed(_) | Outcome::Panicked(_) | Outcome::TimedOut);
        let step = self.after.step(op);
        if has_failed && attempt < most && (self.before.cancel.is_none() || is_undo(op)) {
            let least = self.now.after(PAUSE);
            let is_planned =
                step.is_some_and(|step| step.attempt == attempt + 1 && step.retry_at.is_some_and(|at| at >= least.0));
            self.stage.world.chronicle.sometimes("a step was tried again");
            return self.check(is_planned, Class::Lost, "W3", || {
                format!("{op} #{attempt} ended with {outcome:?}, and is {step:?}")
            });
        }
        let recorded = self.after.entries > self.before.entries;
        let is_retried = has_failed && step.is_some() && attempt < most;
        self.check(recorded && step.is_none() || is_retried, Class::Lost, "W1", || {
            format!("{op} #{attempt} ended with {outcome:?}, and is {step:?}")
        });
    }

    /// Checks that a cancelled run waits for its running steps (L3).
    fn cancelled(&self) {
        if self.before.cancel.is_some() || self.after.cancel.is_none() {
            return;
        }
        for op in self.running() {
            self.stage.world.chronicle.sometimes("a run was cancelled while a step of it ran");
            let is_kept = self.after.step(op).is_some();
            self.check(is_kept, Class::Lost, "L3", || format!("is cancelled, and does not wait for {op}, which runs"));
        }
    }

    /// Checks that `cancel_abandoning_steps` waits for no running step (L3).
    fn abandoned(&self) {
        if self.before.cancel.is_some() || self.after.cancel.is_none() {
            return;
        }
        for op in self.running() {
            self.stage.world.chronicle.sometimes("a cancelled run abandoned a step that ran");
            let is_gone = self.after.step(op).is_none();
            self.check(is_gone, Class::Stuck, "L3", || format!("is cancelled, and waits for {op}, which it abandons"));
        }
    }

    /// Checks that only a run that has ended or has a full queue refuses events (V1, V7, V9).
    fn refused(&self, commit: &Commit) {
        // The same turn may also answer callers that wait for the result.
        let answers = commit.replies.iter().filter(|(to, _)| matches!(to, To::Ticket(_)));
        for (_, reply) in answers {
            let Err(Error::Declined(error)) = reply else { continue };
            let error: Option<SendError> = serde_json::from_slice(error).ok();
            let parcels = self.after.queues.get("Parcel").map_or(0, |queue| queue.count);
            let just = match &error {
                Some(SendError::Terminated { .. }) => self.before.end.is_some(),
                Some(SendError::Full { .. }) => parcels >= PARCELS,
                _ => false,
            };
            self.check(just, Class::Broken, "V1", || format!("refuses with {error:?}, and is {:?}", self.before));
            if let Some(SendError::Full { .. }) = error {
                self.stage.world.chronicle.sometimes("an event was refused because too many were queued");
            }
        }
    }

    /// Counts running steps that the run released.
    fn lost(&self, ended: Option<&str>) {
        let is_lost = |op: &&str| Some(*op) != ended && self.after.step(op).is_none();
        if self.after.end.is_none() && self.running().any(|op| is_lost(&op)) {
            self.stage.world.chronicle.sometimes("a race was lost by a step that ran");
        }
    }

    /// The steps of the run with code running in the current process. A step that waits for its next
    /// attempt does not count: only code of an abandoned attempt can be left, on a thread that hangs.
    fn running(&self) -> impl Iterator<Item = &str> {
        let runs = |op: &str| {
            let work = work_name(self.before.generation, op);
            self.stage.world.ledger.runs(self.stage, &self.entity.key, &work)
        };
        let ops = self.before.pending.iter().map(|pending| pending.op.as_str());
        let is_due =
            |op: &str| self.before.step(op).is_some_and(|step| step.retry_at.is_none_or(|at| at <= self.now.0));
        ops.filter(move |op| is_due(op) && runs(op))
    }

    fn check(&self, holds: bool, class: Class, law: &'static str, message: impl FnOnce() -> String) {
        self.stage.world.chronicle.check(holds, class, law, || format!("{} {}", self.entity.key, message()));
    }
}
