//! Q1–Q4: the checks of every single turn of a queue, however many turns share a commit.

use std::collections::BTreeSet;

use drystone::Timestamp;
use drystone_runtime::{Cause, Commit, Entity, Error, Input, Lane, Millis, Next, Outcome, Row, RowKey, To};

use crate::sim::{
    apps::{
        heads, number_of,
        queues::queueing::{Kept, Queueing, Rules, numbers_in},
    },
    drawing::roster::Role,
    handlers::Stage,
    recording::log::Class,
};

/// Checks a turn of a bound queue.
pub(in crate::sim::check) fn turned(
    stage: &Stage,
    role: Role,
    entity: &Entity,
    input: &Input,
    now: Millis,
    commit: &Commit,
) {
    if commit.destroy {
        return;
    }
    let (Some(before), Some(after)) =
        (heads::record(&entity.head), heads::record(commit.head.as_ref().unwrap_or(&entity.head)))
    else {
        return stage.world.chronicle.violation(Class::Broken, "Q1", format!("{} has no record", entity.key));
    };
    let turn = Turn { stage, role, entity, commit, now, before, after };
    turn.nothing_is_early();
    turn.begun(input);
    turn.drained(input);
    if let Input::Done { work, attempt, cause: Cause::Listed, outcome } = input {
        turn.ended(work.as_str(), *attempt, outcome);
    }
}

/// Checks that a queue refuses an `enqueue` as full only if it is full (Q5).
pub(in crate::sim::check) fn refused(stage: &Stage, entity: &Entity, input: &Input, next: &Next) {
    let (Input::Call { verb, body, .. }, Next::Refuse(Error::Declined(_))) = (input, next) else { return };
    let member = stage.world.cast.number(&entity.key).expect("only the cast is run");
    let role = stage.world.cast.member(member).role;
    if !role.is_queue() || verb != "enqueue" {
        return;
    }
    let record: Queueing = heads::record(&entity.head).unwrap_or_default();
    let count = serde_json::from_slice::<(Vec<u64>, serde_json::Value)>(body).map_or(0, |(items, _)| items.len());
    let is_full = record.depth() as usize + count > Rules::of(role).max_depth;
    stage.world.chronicle.sometimes("a queue was full");
    stage
        .world
        .chronicle
        .check(is_full, Class::Broken, "Q5", || format!("{} refuses {count} items, and is {record:?}", entity.key));
}

struct Turn<'a> {
    stage: &'a Stage,
    role: Role,
    entity: &'a Entity,
    commit: &'a Commit,
    now: Millis,
    before: Queueing,
    after: Queueing,
}

impl Turn<'_> {
    /// Checks that neither a delay nor a backoff is cut short (Q3, Q4).
    fn nothing_is_early(&self) {
        for (lane, key) in &self.commit.remove {
            if !matches!(lane.as_str(), "delayed" | "retry") {
                continue;
            }
            let due = numbers_in(key).map(|(due, _)| Millis(due.cast_signed()));
            self.check(due.is_some_and(|due| due <= self.now), Class::Broken, "Q4", || {
                format!("takes {:?} from {lane} at {}, due {due:?}", numbers_in(key), self.now)
            });
            if lane == "delayed" {
                self.stage.world.chronicle.sometimes("a delayed item joined the line");
            }
        }
        let now = Timestamp::from(self.now);
        for held in self.before.running.iter().filter(|running| running.not_before.is_some_and(|at| at > now)) {
            let begun = self.after.begun().any(|one| (one.number, one.attempt) == (held.number, held.attempt));
            self.check(!begun, Class::Broken, "Q3", || format!("begins {held:?} at {now}"));
        }
    }

    /// Checks that a paused queue begins nothing, and that no item begins while an item of a higher
    /// priority waits (Q4).
    fn begun(&self, input: &Input) {
        let before: BTreeSet<_> = self.before.begun().map(|one| (one.number, one.attempt)).collect();
        let new: Vec<_> = self.after.begun().filter(|one| !before.contains(&(one.number, one.attempt))).collect();
        let resumes = matches!(input, Input::Call { verb, .. } if verb == "resume");
        self.check(new.is_empty() || !self.before.paused || resumes, Class::Broken, "Q4", || {
            format!("is paused, and begins {new:?}")
        });
        let Some(lowest) = new.iter().filter_map(|one| one.place).map(|place| place.priority).min() else { return };
        let passed = self.after.line.iter().find(|class| class.priority > lowest && !class.ahead.is_empty());
        self.check(passed.is_none(), Class::Broken, "Q4", || format!("begins {new:?}, and lets {passed:?} wait"));
    }

    /// Checks that `drain` is answered only when nothing is left (Q4).
    fn drained(&self, input: &Input) {
        let asks = matches!(input, Input::Call { verb, .. } if verb == "drain");
        let answers = |to: &To| asks || matches!(to, To::All(name) if name == "drain");
        if self.commit.replies.iter().any(|(to, _)| answers(to)) {
            self.stage.world.chronicle.sometimes("a queue was drained");
            self.check(self.after.depth() == 0, Class::Broken, "Q4", || format!("is drained, and is {:?}", self.after));
        }
    }

    /// Checks that the end of an execution has the right effect on its item (Q2, Q3).
    fn ended(&self, work: &str, attempt: u32, outcome: &Outcome) {
        let number = number_of(work);
        let is_it = |one: &&crate::sim::apps::queues::queueing::Running| (one.number, one.attempt) == (number, attempt);
        let was = self.before.begun().any(|one| is_it(&one));
        let is = self.after.begun().any(|one| is_it(&one));
        let applied = self.role == Role::Tally && work.starts_with("process/");
        match outcome {
            _ if !was => {}
            // The value is applied first, and the item stays until then.
            Outcome::Ok(_) if applied => self.check(is, Class::Lost, "Q2", || format!("forgets {work}")),
            Outcome::Ok(_) => {
                let gone = self.removed(number) && self.put(number).is_none() && !is;
                let counted = self.after.done == self.before.done + 1;
                self.check(gone && counted, Class::Lost, "Q2", || format!("ended {work}, and is {:?}", self.after));
            }
            _ => self.failed(number, attempt, outcome),
        }
    }

    /// Checks a failed execution: its item becomes a dead letter, or is retried after the backoff.
    fn failed(&self, number: u64, attempt: u32, outcome: &Outcome) {
        if self.commit.send.iter().any(|message| message.verb == "item") {
            let gone = self.removed(number) && self.put(number).is_none();
            return self.check(gone, Class::Doubled, "Q3", || format!("gives up {number} and keeps it"));
        }
        let row = self.put(number);
        let kept: Option<Kept> = row.and_then(|row| serde_json::from_slice(&row.body).ok());
        self.check(kept.is_some_and(|kept| kept.failed == attempt), Class::Lost, "Q3", || {
            format!("{number} #{attempt} ended with {outcome:?}, and there is {row:?}")
        });
        let held = self.after.running.iter().find(|running| running.number == number);
        let due = match held {
            Some(held) => held.not_before.map(Millis::from),
            None => row.and_then(|row| numbers_in(&row.key)).map(|(due, _)| Millis(due.cast_signed())),
        };
        let least = self.now.after(Rules::of(self.role).pause);
        self.check(due.is_some_and(|due| due >= least), Class::Broken, "Q3", || {
            format!("tries {number} again at {due:?}, not from {least} on")
        });
    }

    fn removed(&self, number: u64) -> bool {
        let has = |(_, key): &(Lane, RowKey)| numbers_in(key).is_some_and(|(_, of)| of == number);
        self.commit.remove.iter().any(has)
    }

    fn put(&self, number: u64) -> Option<&Row> {
        let is_item = |row: &&Row| matches!(row.lane.as_str(), "line" | "delayed" | "retry" | "again");
        let mut rows = self.commit.put.iter().filter(is_item);
        rows.find(|row| numbers_in(&row.key).is_some_and(|(_, of)| of == number))
    }

    fn check(&self, holds: bool, class: Class, law: &'static str, message: impl FnOnce() -> String) {
        self.stage.world.chronicle.check(holds, class, law, || format!("{} {}", self.entity.key, message()));
    }
}
