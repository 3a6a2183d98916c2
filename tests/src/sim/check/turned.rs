//! The checks of every single turn of a primitive, however many turns share a commit.

use std::time::Duration;

use drystone::{Timestamp, kinds::continuous::Standing};
use drystone_runtime::{Cause, Commit, Entity, Input, Millis, Next, Outcome};

use super::{queues::queue_turns, runs::run_turns};
use crate::sim::{
    apps::{
        heads::{self, Ticking},
        number_of,
    },
    drawing::roster::Role,
    handlers::Stage,
    recording::log::Class,
};

/// The interval of a pulse.
const EVERY: Duration = Duration::from_millis(250);

/// The delay of a drip.
const AFTER: Duration = Duration::from_millis(120);

/// Checks a turn of a bound entity.
pub fn turned(stage: &Stage, entity: &Entity, input: &Input, now: Millis, commit: &Commit) {
    let member = stage.world.cast.number(&entity.key).expect("only the cast is run");
    let role = stage.world.cast.member(member).role;
    if role.is_buffer() {
        return buffer(stage, entity, input, commit);
    }
    if role == Role::Gate {
        return super::gates::turned_gate(stage, member, entity, input, now, commit);
    }
    if role == Role::Errand {
        return run_turns::turned(stage, entity, input, now, commit);
    }
    if role.is_queue() {
        return queue_turns::turned(stage, role, entity, input, now, commit);
    }
    if commit.destroy || !role.is_continuous() {
        return;
    }
    let (Some(before), Some(after)) =
        (heads::record(&entity.head), heads::record(commit.head.as_ref().unwrap_or(&entity.head)))
    else {
        return stage.world.chronicle.violation(Class::Broken, "C4", format!("{} has no record", entity.key));
    };
    let turn = Turn { stage, role, entity, commit, now, before, after };
    match input {
        Input::Done { work, attempt, cause: Cause::Listed, outcome } => turn.ended(work.as_str(), *attempt, outcome),
        Input::Call { verb, .. } if verb == "stop" => turn.stopped(),
        Input::Call { verb, .. } if verb == "trigger" => turn.triggered(),
        _ => {}
    }
}

/// Checks the answer of a turn that makes no commit.
pub fn answered(stage: &Stage, entity: &Entity, input: &Input, next: &Next) {
    match stage.world.cast.number(&entity.key).map(|number| stage.world.cast.member(number).role) {
        Some(Role::Errand) => run_turns::answered(stage, entity, input, next),
        _ => queue_turns::refused(stage, entity, input, next),
    }
}

/// Checks that `clear` does not drop a batch in flight (B6).
fn buffer(stage: &Stage, entity: &Entity, input: &Input, commit: &Commit) {
    if !matches!(input, Input::Call { verb, .. } if verb == "clear") {
        return;
    }
    let flying = |lane: &str| stage.world.ledger.runs(stage, &entity.key, &format!("flush/{}", number_of(lane)));
    let dropped = commit.drop.iter().find(|gone| flying(&gone.lane));
    stage.world.chronicle.check(dropped.is_none(), Class::Lost, "B6", || {
        format!("{} clears {dropped:?}, which is in flight", entity.key)
    });
    let numbers = heads::record::<heads::Buffering>(&entity.head).map(|record| record.closed).unwrap_or_default();
    if numbers.iter().any(|closed| flying(&format!("batch/{}", closed.number))) {
        stage.world.chronicle.sometimes("a buffer was cleared during a flush");
    }
}

struct Turn<'a> {
    stage: &'a Stage,
    role: Role,
    entity: &'a Entity,
    commit: &'a Commit,
    now: Millis,
    before: Ticking,
    after: Ticking,
}

impl Turn<'_> {
    fn ended(&self, work: &str, attempt: u32, outcome: &Outcome) {
        let (before, after) = (&self.before, &self.after);
        if (number_of(work), attempt) != (before.ticks + 1, before.attempts + 1) {
            return;
        }
        if after.ticks == before.ticks {
            return self.goes_on(attempt, outcome);
        }
        if let Outcome::Ok(produced) = outcome {
            let kept = produced.state.is_none() || produced.state == self.commit.state;
            self.check(kept, Class::Lost, "C3", || format!("{work} ended well and its state is not kept"));
            let reset = after.failures == 0 && after.runs == before.runs + 1;
            self.check(reset, Class::Broken, "C5", || format!("{work} ended well and leaves {after:?}"));
        } else {
            self.stage.world.chronicle.sometimes("a tick was given up");
        }
        self.next(work);
    }

    /// Checks a tick that has not ended: its value is applied next, or the tick is retried after the
    /// backoff (C5).
    fn goes_on(&self, attempt: u32, outcome: &Outcome) {
        let (before, after) = (&self.before, &self.after);
        if matches!(outcome, Outcome::Ok(_)) {
            return self.check(self.alarm().is_some_and(|at| at <= self.now), Class::Lost, "C3", || {
                "forgets a value that is to be applied".to_owned()
            });
        }
        let pause = Duration::from_millis(if self.role == Role::Pulse { 40 } else { 30 });
        let expected = if before.again { self.now } else { self.now.after(pause) };
        let right = after.attempts == attempt && self.alarm() == Some(expected) && after.base == before.base;
        self.check(right, Class::Broken, "C5", || {
            format!("is tried again at {:?}, not at {expected}: {after:?}", self.alarm())
        });
    }

    /// Checks when the next tick is due (C1, C3).
    fn next(&self, work: &str) {
        let (before, after, alarm) = (&self.before, &self.after, self.alarm());
        if before.again {
            return self.check(alarm == Some(self.now), Class::Lost, "C3", || {
                format!("was triggered during {work}, and is next due {alarm:?}")
            });
        }
        if after.standing != Standing::Running {
            return self.check(alarm.is_none(), Class::Broken, "C3", || {
                format!("is {:?} after {work}, and is due {alarm:?}", after.standing)
            });
        }
        let right = match self.role {
            Role::Pulse => {
                let grid = (after.base.as_millis() - before.base.as_millis()) % EVERY.as_millis() as i64 == 0;
                let next: Millis = after.base.after(EVERY).into();
                grid && alarm == Some(next)
                    && next > self.now
                    && after.base <= Timestamp::from(self.now).max(before.base)
            }
            Role::Chime => self.chimes(),
            _ => alarm == Some(self.now.after(AFTER)),
        };
        self.check(right, Class::Broken, "C1", || {
            format!("ended {work} at {}, was {before:?}, is {after:?}, next due {alarm:?}", self.now)
        });
    }

    /// Checks the next time of a chime (A4): it is the second after the last one that ticked, however long
    /// ago, and is admitted immediately if it is due.
    fn chimes(&self) -> bool {
        let second = self.before.base.as_millis().div_euclid(1_000) * 1_000 + 1_000;
        let is_due = second <= self.now.0;
        if is_due {
            self.stage.world.chronicle.sometimes("a missed second was made up for");
        }
        let admitted = is_due.then_some(Timestamp::from_millis(second));
        // After a jump of the clock only the last thousand missed seconds are made up for.
        let is_far = self.now.0 - second >= 1_000_000;
        is_far || self.alarm() == Some(Millis(second)) && self.after.stands_for == admitted
    }

    /// Checks a stop (C3): a tick in flight continues, and any other is dropped.
    fn stopped(&self) {
        if self.before.standing != Standing::Running {
            return;
        }
        let work = format!("tick/{}", self.before.ticks + 1);
        let flying = self.stage.world.ledger.runs(self.stage, &self.entity.key, &work);
        if flying {
            self.stage.world.chronicle.sometimes("a tick was stopped in flight");
        }
        let due = self.alarm().is_some_and(|at| at <= self.now);
        self.check(due || !flying, Class::Lost, "C3", || format!("forgets {work}, which is in flight, when stopped"));
        let over = self.after.standing == Standing::Stopped && (due || self.alarm().is_none());
        self.check(over, Class::Broken, "C3", || format!("is stopped, and due {:?}: {:?}", self.alarm(), self.after));
    }

    fn triggered(&self) {
        // A tick of a chime is about to start only after its time was admitted.
        let is_admitted = self.role != Role::Chime || self.before.stands_for.is_some();
        let was_due = is_admitted && self.entity.alarm.is_some_and(|at| at <= self.now);
        if was_due {
            self.stage.world.chronicle.sometimes("a tick was asked for during another");
        }
        let due = self.alarm().is_some_and(|at| at <= self.now);
        self.check(due && (!was_due || self.after.again), Class::Lost, "C3", || {
            format!("was triggered, and is due {:?}: {:?}", self.alarm(), self.after)
        });
    }

    fn alarm(&self) -> Option<Millis> {
        self.commit.alarm.apply(self.entity.alarm)
    }

    fn check(&self, holds: bool, class: Class, law: &'static str, message: impl FnOnce() -> String) {
        self.stage.world.chronicle.check(holds, class, law, || format!("{} {}", self.entity.key, message()));
    }
}
