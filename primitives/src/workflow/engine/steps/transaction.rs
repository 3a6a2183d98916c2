//! Transactional steps: the row that claims a step, and how the step runs (W6).
//!
//! The commit that asks for the step puts the row; the commit that records its end or releases it removes
//! the row. In between, the transaction of the step replaces [`WAITED_FOR`] in the row by what the step
//! returned. So the code runs only while the row is unchanged, and the result is found in the row however
//! often the work begins again. See [`sql`](crate::sql).

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use drystone_runtime::{
    Cx, Name, Outcome, Produced, Refusal,
    store::sql::{ScriptCode, Scripted},
};

use super::run::ended;
use crate::{
    Desk, Transaction,
    planted::Bug,
    workflow::{
        Workflow,
        definition::script::{Flows, StepCode},
        engine::turn::{BYTES_MAX, Turning},
        record::{
            Record,
            pending::{Pending, Stepping, Waiting},
        },
        replay::{ask::Ask, op_id::OpId},
    },
};

/// The content of the row until the step is executed. No step can return this content, because it is not
/// JSON.
const WAITED_FOR: &[u8] = b"waited for";

/// The transactional steps that have a row at once. The other steps wait at no cost, because transactions
/// run in sequence anyway.
const CLAIMED_MAX: usize = 400;

/// The default time limit of a transaction, during which nothing else is written.
const LIMIT: Duration = Duration::from_secs(1);

/// Returns the code of an operation's step, if that step is transactional.
pub(in crate::workflow::engine) fn transactional<W: Workflow>(op: &OpId) -> Option<&'static StepCode> {
    let name = op.function()?;
    W::SCRIPT.steps.iter().find(|code| code.transaction && code.name == name)
}

impl<W: Workflow> Turning<'_, W> {
    /// Puts the row of a transactional step that the body asks for.
    pub(in crate::workflow::engine) fn claim_asked(&mut self, pending: &mut Pending, ask: &Ask) {
        if let (Ask::Step { .. }, Waiting::Step(step)) = (ask, &mut pending.what)
            && transactional::<W>(&pending.op).is_some()
            && may_claim(&self.record)
        {
            step.claimed = true;
            self.put_claim(&pending.op);
        }
    }

    /// Gives the row of a step that has ended to the next step that waits for one.
    pub(in crate::workflow::engine) fn claim_next(&mut self, ended: &Pending) {
        let is_claimed = ended.step().is_some_and(|step| step.claimed);
        let waits = |pending: &Pending| {
            pending.step().is_some_and(|step| !step.claimed) && transactional::<W>(&pending.op).is_some()
        };
        let next = self.record.pending().filter(|_| is_claimed).find(|pending| waits(pending));
        if let Some(op) = next.map(|pending| pending.op.clone()) {
            self.claim_late(&op);
        }
    }

    /// Puts the row of a step that was asked for without one: its code became transactional since, or too
    /// many steps had rows.
    pub(in crate::workflow::engine) fn claim_late(&mut self, op: &OpId) {
        if let Some(index) = self.record.position(op).filter(|_| may_claim(&self.record))
            && let Waiting::Step(step) = &mut self.record.pending[index].what
        {
            step.claimed = true;
            self.put_claim(op);
        }
    }

    fn put_claim(&mut self, op: &OpId) {
        self.commit.put(row(self.record.generation, op), Bytes::from_static(WAITED_FOR));
    }

    pub(in crate::workflow::engine) fn forget_claim(&mut self, pending: &Pending) {
        if let Waiting::Step(Stepping { claimed: true, .. }) = &pending.what
            && !Bug::ClaimKept.planted()
        {
            self.commit.remove(row(self.record.generation, &pending.op));
        }
    }

    /// Whether this turn removes more rows of steps than should go one by one.
    pub(in crate::workflow::engine) fn forgets_many_claims(&self) -> bool {
        let lane = claims_lane(self.record.generation);
        self.commit.removed_of(&lane).count() > CLAIMED_MAX / 2
    }
}

/// Whether another step may have a row. A commit that releases all steps must be able to remove all their
/// rows (K3).
pub(in crate::workflow::engine) fn may_claim(record: &Record) -> bool {
    let claimed = record.pending().filter(|pending| pending.step().is_some_and(|step| step.claimed));
    claimed.count() < CLAIMED_MAX
}

/// Returns the lane and the key of an operation's row.
fn row(generation: u32, op: &OpId) -> (Name, Bytes) {
    (claims_lane(generation), Bytes::copy_from_slice(op.as_str().as_bytes()))
}

pub(in crate::workflow::engine) fn claims_lane(generation: u32) -> Name {
    Name::from(format!("transactions/{generation}"))
}

/// Runs the code of a transactional step, unless a transaction has run it before.
pub(in crate::workflow::engine) async fn transacted<W: Flows<D, A>, D, A>(
    code: &'static StepCode,
    input: Bytes,
    (generation, op, is_claimed): (u32, OpId, bool),
    (cx, desk): (Cx, Desk),
) -> Outcome {
    if !is_claimed {
        // The step was not transactional when it was asked for.
        return Outcome::Refused(Refusal::NotClaimed);
    }
    let name = code.name;
    let script: ScriptCode =
        Arc::new(move |statements| run::<W, D, A>(name, input.clone(), Transaction::inside(statements, desk.clone())));
    let limit = code.policy.time_limit().unwrap_or(LIMIT);
    let row = row(generation, &op);
    match cx.transact(row, Bytes::from_static(WAITED_FOR), limit, script).await {
        Ok(Scripted::Done(value)) => Outcome::Ok(Produced { value, ..Produced::default() }),
        Ok(Scripted::Ended(outcome)) => outcome,
        // If the step is no longer pending, its outcome is ignored; if it is, it runs again.
        Ok(Scripted::Gone | Scripted::Fenced) => {
            Outcome::Refused(Refusal::Unavailable("nobody waits for it".to_owned()))
        }
        Err(error) => Outcome::Refused(Refusal::Unavailable(error.to_string())),
    }
}

fn run<W: Flows<D, A>, D, A>(name: &str, input: Bytes, mut sql: Transaction<'_>) -> Result<Bytes, Box<Outcome>> {
    let returned = W::transact(name, input, &mut sql);
    if returned.is_ok() {
        sql.finish().map_err(|error| Box::new(Outcome::refused(error.to_string())))?;
    }
    match returned {
        // The result could not be recorded, so the transaction must leave nothing.
        Ok(value) if value.len() > BYTES_MAX => {
            let reason = format!("what it returned has {} bytes, more than {BYTES_MAX}", value.len());
            Err(Box::new(Outcome::refused(reason)))
        }
        Ok(value) => Ok(value),
        Err(thrown) => Err(Box::new(ended(Err(thrown)))),
    }
}
