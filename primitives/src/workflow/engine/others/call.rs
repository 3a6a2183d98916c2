//! Calls of other entities (M5), which are work like steps. A call that is made again after a crash has the
//! same idempotency key, so it gets the first answer (E12).

use std::{pin::Pin, time::Duration};

use bytes::Bytes;
use drystone_runtime::{self as runtime, Cx, Entity, Error, Name, Outcome, Produced, Refusal, Work};

use crate::{
    Context, decode,
    kinds::semaphore::refusal,
    planted::Bug,
    workflow::{
        Flows,
        body::{
            call::{StoredCall, recorded_answer},
            permit::ACQUIRE,
        },
        engine::{Engine, steps::inputs::given},
        record::Record,
        replay::op_id::{OpId, OpKind},
    },
};

/// The deadline of a call: in effect none, because the callee may take as long as it likes.
const PATIENCE: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// How long an answer is remembered that the run has not recorded yet. The process may be down for this long
/// between the two commits.
const REMEMBERED_FOR: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// The longest idempotency key, in bytes.
const ONCE_MAX: usize = 256;

impl<W, D, A> Engine<W, D, A>
where
    W: Flows<D, A>,
    D: Send + Sync + 'static,
    A: 'static,
{
    pub(in crate::workflow::engine) fn call(
        &self,
        entity: Option<&Entity>,
        (work, op): (&Work, &OpId),
        cx: Cx,
    ) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        let once = once(entity, work).filter(|_| op.kind() != OpKind::Permit);
        let (input, context) = (work.input.clone(), Context::of_step(cx, self.is_shared, None));
        Box::pin(async move {
            let input = match given(input, &context).await {
                Ok(input) => input,
                Err(outcome) => return outcome,
            };
            match decode::<StoredCall>(&input) {
                Ok(call) => {
                    let is_permit = call.verb == ACQUIRE;
                    answered(context.desk().call(asked(&call, once)).await, is_permit)
                }
                Err(reason) => Outcome::Refused(Refusal::Unreadable(reason)),
            }
        })
    }
}

/// Returns the idempotency key of a call, which all its attempts share and no other call has.
fn once(entity: Option<&Entity>, work: &Work) -> Option<Bytes> {
    let id = entity.map_or(0, |entity| entity.id.0);
    let generation =
        entity.and_then(|entity| decode::<Record>(&entity.head).ok()).map_or(0, |record| record.generation);
    let op = work.id.as_str();
    let text = format!("{id:x}/{generation}/{op}");
    if text.len() <= ONCE_MAX {
        return Some(text.into());
    }
    let halves = [&b"one"[..], b"two"].map(|half| runtime::stable_hash(&[half, op.as_bytes()]));
    Some(format!("{id:x}/{generation}/{:016x}{:016x}", halves[0], halves[1]).into())
}

/// Builds a call. A call for a permit has no idempotency key, because the semaphore knows whether the run
/// holds the permit.
fn asked(call: &StoredCall, once: Option<Bytes>) -> runtime::Call {
    let body = Bytes::copy_from_slice(call.body.get().as_bytes());
    let (definition, verb) = (Name::from(call.definition.clone()), Name::from(call.verb.clone()));
    let asked = runtime::Call::new(definition, call.key.bytes(), verb, body);
    let asked = match once.filter(|_| !Bug::CallRepeated.planted()) {
        Some(once) => asked.once(once),
        None => asked,
    };
    asked.remembered_for(REMEMBERED_FOR).deadline(PATIENCE)
}

/// Turns the answer of the callee into the outcome of the call. After a temporary error the call is made
/// again.
fn answered(answer: Result<Bytes, Error>, is_permit: bool) -> Outcome {
    match answer {
        Err(Error::Failed(error) | Error::Declined(error)) if is_permit => match refusal(&error) {
            (reason, true) => Outcome::Refused(Refusal::Unavailable(reason)),
            (reason, false) => Outcome::refused(reason),
        },
        Ok(value) => Outcome::Ok(Produced { value: recorded_answer(&value), ..Produced::default() }),
        Err(Error::Failed(error) | Error::Declined(error)) => Outcome::Failed(error),
        Err(error) if error.is_retryable() => Outcome::Refused(Refusal::Unavailable(error.to_string())),
        Err(error) => Outcome::refused(error.to_string()),
    }
}
