//! Transactional steps: the row that says that one is waited for, and how it is run (W6).
//!
//! The row is put by the commit that asks for the step, and removed by the commit that records its end or lets it go. In between, the
//! step's transaction makes of [`WAITED_FOR`] what the step returned. So the code is run as long as the row says so, and what it
//! returned is found there however often the work begins again. See [`sql`](crate::sql).

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use drystone_runtime::{
    Cx, Name, Outcome, Produced,
    store::sql::{ScriptCode, Scripted},
};

use super::{
    super::{
        Workflow,
        ask::Ask,
        pending::{Pending, Stepping, Waiting, function_of},
        record::Record,
        script::{Flows, StepCode},
    },
    running::{UNREAD, ended},
    turning::{BYTES_MAX, Turning},
};
use crate::{Desk, Transaction, planted::Bug};

/// What the row holds as long as the step was not executed: no JSON, so it is never what a step returned.
const WAITED_FOR: &[u8] = b"waited for";

/// What a step says that was asked for when it was not transactional: there is no row yet.
pub(super) const UNCLAIMED: &str = "its row is not there yet";

/// Transactional steps that are waited for by their rows at once; the others wait their turn, as transactions do anyway.
const CLAIMED_MAX: usize = 400;

/// How long it may take, unless it says so: nobody else writes meanwhile.
const LIMIT: Duration = Duration::from_secs(1);

/// The code of the step of an operation, if that is transactional.
pub(super) fn transactional<W: Workflow>(op: &str) -> Option<&'static StepCode> {
    let name = function_of(op)?;
    W::SCRIPT.steps.iter().find(|code| code.transaction && code.name == name)
}

impl<W: Workflow> Turning<'_, W> {
    /// The row of a transactional step that is asked for.
    pub(super) fn claim_asked(&mut self, pending: &mut Pending, ask: &Ask) {
        if let (Ask::Step { .. }, Waiting::Step(step)) = (ask, &mut pending.what)
            && transactional::<W>(&pending.op).is_some()
            && may_claim(&self.record)
        {
            step.claimed = true;
            self.put_claim(&pending.op);
        }
    }

    /// A step has ended that had its row: the next that waits for one gets it.
    pub(super) fn claim_next(&mut self, ended: &Pending) {
        let is_claimed = ended.step().is_some_and(|step| step.claimed);
        let waits = |pending: &Pending| {
            pending.step().is_some_and(|step| !step.claimed) && transactional::<W>(&pending.op).is_some()
        };
        let next = self.record.pending().filter(|_| is_claimed).find(|pending| waits(pending));
        if let Some(op) = next.map(|pending| pending.op.clone()) {
            self.claim_late(&op);
        }
    }

    /// The code became transactional while the step waited, or there were too many before it.
    pub(super) fn claim_late(&mut self, op: &str) {
        if let Some(index) = self.record.position(op).filter(|_| may_claim(&self.record))
            && let Waiting::Step(step) = &mut self.record.pending[index].what
        {
            step.claimed = true;
            self.put_claim(op);
        }
    }

    fn put_claim(&mut self, op: &str) {
        let (lane, key) = row(self.record.generation, op);
        self.commit.put.push(drystone_runtime::Row { lane, key, body: Bytes::from_static(WAITED_FOR) });
    }

    pub(super) fn forget_claim(&mut self, pending: &Pending) {
        if let Waiting::Step(Stepping { claimed: true, .. }) = &pending.what
            && !Bug::ClaimKept.planted()
        {
            self.remove_row(row(self.record.generation, &pending.op));
        }
    }

    /// Whether more rows of steps go in this turn than are removed one by one.
    pub(super) fn forgets_many_claims(&self) -> bool {
        let lane = claims_lane(self.record.generation);
        self.commit.remove.iter().filter(|(of, _)| *of == lane).count() > CLAIMED_MAX / 2
    }
}

/// Whether one more step may have its row. A commit that lets all of them go removes as many (K3), and none may stay behind.
pub(super) fn may_claim(record: &Record) -> bool {
    let claimed = record.pending().filter(|pending| pending.step().is_some_and(|step| step.claimed));
    claimed.count() < CLAIMED_MAX
}

/// The row of an operation.
fn row(generation: u32, op: &str) -> (Name, Bytes) {
    (claims_lane(generation), Bytes::copy_from_slice(op.as_bytes()))
}

pub(super) fn claims_lane(generation: u32) -> Name {
    Name::from(format!("transactions/{generation}"))
}

/// Runs a transactional step: its code, unless it was run before.
pub(super) async fn transacted<W: Flows<D, A>, D, A>(
    code: &'static StepCode,
    input: Bytes,
    (generation, op, is_claimed): (u32, String, bool),
    (cx, desk): (Cx, Desk),
) -> Outcome {
    if !is_claimed {
        return Outcome::Refused(UNCLAIMED.to_owned());
    }
    let name = code.name;
    let script: ScriptCode =
        Arc::new(move |statements| run::<W, D, A>(name, input.clone(), Transaction::inside(statements, desk.clone())));
    let limit = code.policy.time_limit().unwrap_or(LIMIT);
    let row = row(generation, &op);
    match cx.transact(row, Bytes::from_static(WAITED_FOR), limit, script).await {
        Ok(Scripted::Done(value)) => Outcome::Ok(Produced { value, ..Produced::default() }),
        Ok(Scripted::Ended(outcome)) => outcome,
        // Whoever is not waited for is not heard either; and if it is, it is run again.
        Ok(Scripted::Gone | Scripted::Fenced) => Outcome::Refused(format!("{UNREAD}nobody waits for it")),
        Err(error) => Outcome::Refused(format!("{UNREAD}{error}")),
    }
}

fn run<W: Flows<D, A>, D, A>(name: &str, input: Bytes, mut sql: Transaction<'_>) -> Result<Bytes, Box<Outcome>> {
    let returned = W::transact(name, input, &mut sql);
    if returned.is_ok() {
        sql.finish().map_err(|error| Box::new(Outcome::Refused(error.to_string())))?;
    }
    match returned {
        // It could not be recorded, so it must not have happened.
        Ok(value) if value.len() > BYTES_MAX => {
            let reason = format!("what it returned has {} bytes, more than {BYTES_MAX}", value.len());
            Err(Box::new(Outcome::Refused(reason)))
        }
        Ok(value) => Ok(value),
        Err(thrown) => Err(Box::new(ended(Err(thrown)))),
    }
}
