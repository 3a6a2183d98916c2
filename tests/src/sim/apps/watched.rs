//! A wrapper around a handler that observes its inputs and answers.

use std::{pin::Pin, sync::Arc};

use drystone_runtime::{
    Borrow, Cause, Cx, Entity, Handler, Hot, Input, Key, Millis, Needed, Next, Now, Outcome, Rows, Work, WorkId,
};

use crate::sim::{
    check,
    drawing::roster::Role,
    handlers::{Fate, Stage},
    recording::log::Class,
};

/// A handler and the stage of its process.
pub(super) struct Watched {
    pub(super) stage: Stage,
    pub(super) inner: Arc<dyn Handler>,
}

impl Handler for Watched {
    fn borrow(&self, verb: &str) -> Borrow {
        self.inner.borrow(verb)
    }

    fn turn(&self, hot: &mut Hot, key: &Key, entity: Option<&Entity>, rows: &Rows, input: &Input, now: Now) -> Next {
        let next = self.inner.turn(hot, key, entity, rows, input, now);
        if let (Some(entity), Input::Done { work, attempt, cause: Cause::Listed, outcome }) = (entity, input) {
            self.judge(entity, work, *attempt, outcome);
        }
        if let (Some(entity), Next::Commit(commit)) = (entity, &next) {
            check::turned(&self.stage, entity, input, now.at, commit);
        }
        if let Some(entity) = entity {
            check::answered(&self.stage, entity, input, &next);
        }
        next
    }

    fn work(&self, hot: &mut Hot, entity: &Entity, rows: &Rows, now: Millis) -> Needed<Vec<Work>> {
        self.inner.work(hot, entity, rows, now)
    }

    fn run(
        &self,
        hot: &mut Hot,
        entity: Option<&Entity>,
        work: &Work,
        cx: Cx,
    ) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        self.stage.begins(entity, work, &cx);
        if let Some(entity) = entity.filter(|_| work.id.as_str().starts_with("tick/")) {
            self.stage.world.witness.ticks(entity, &cx);
            self.stage.world.recorder.ticks(&self.stage, &cx, work);
        }
        if let Some(entity) = entity.filter(|_| is_item(work)) {
            self.stage.world.recorder.queued.starts(&self.stage, entity, work, &cx);
        }
        if let Some(entity) = entity.filter(|_| check::is_step(work.id.as_str())) {
            check::errand_begins(&self.stage, entity, work, &cx);
        }
        let (stage, watched, code) = (self.stage.clone(), as_one(work), self.inner.run(hot, entity, work, cx.clone()));
        Box::pin(async move {
            let _running = stage.world.ledger.enter(&stage, &cx, &watched);
            stage.world.ledger.check_items(&stage, &cx);
            let outcome = code.await;
            stage.world.ledger.ends(&stage, &cx);
            outcome
        })
    }
}

/// Whether the work is an item of a queue. Several items may run at once (Q2).
fn is_item(work: &Work) -> bool {
    work.id.as_str().starts_with("process/")
}

/// Marks a hook as exclusive, because the hooks of one entity run one at a time, even those that only read
/// (B4, C6).
fn as_one(work: &Work) -> Work {
    let is_hook = work.id.as_str().contains('/') && !is_item(work) && !check::is_step(work.id.as_str());
    Work { borrow: if is_hook { Borrow::Exclusive } else { work.borrow }, ..work.clone() }
}

impl Watched {
    /// Checks that a piece of work ends as the seed decided, and that neither the store nor other entities
    /// change its end (W2, W3).
    fn judge(&self, entity: &Entity, work: &WorkId, attempt: u32, outcome: &Outcome) {
        let world = &self.stage.world;
        // The plan of a run says how the code of its body ends, and the model checks that.
        if check::is_code(work.as_str()) || check::is_elsewhere(work.as_str()) || work.as_str().starts_with("look:") {
            return;
        }
        let member = world.cast.number(&entity.key).expect("only the cast is run");
        let named = WorkId::new(format!("{}-{:x}-{work}", entity.definition, entity.id.0));
        let is_applied = work.as_str().starts_with("apply/");
        let fate = if is_applied { Fate::Well(Default::default()) } else { world.fate(member, &named, attempt) };
        let is_chest = world.cast.member(member).role == Role::Chest;
        let just = match outcome {
            // The fate of a chest's work is not known here: a replayed batch keeps its name while its work
            // has another one, and a transaction that was released does not run.
            Outcome::Ok(_) | Outcome::Failed(_) | Outcome::Panicked(_) | Outcome::Refused(_) if is_chest => true,
            Outcome::Ok(_) => matches!(fate, Fate::Well(_)),
            Outcome::Failed(_) => fate == Fate::Fails,
            Outcome::Refused(_) => check::was_let_go(entity, work.as_str()),
            Outcome::Panicked(_) => fate == Fate::Panics,
            Outcome::TimedOut | Outcome::Silent => !matches!(fate, Fate::Well(_)) || world.time_is_lost(),
        };
        world.chronicle.check(just, Class::Broken, "W2 W3", || {
            format!("{work} of {}, attempt {attempt}, ended with {outcome:?}, and was to be {fate:?}", entity.key)
        });
    }
}
