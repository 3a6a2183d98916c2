//! Plain actions, which are most actions: they write, take only their input and wait for nothing. Plain
//! actions run within the turn of their call.

use std::{
    pin::pin,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use drystone_runtime::{Entity, Next, Outcome, Produced, Ticket};

use super::{
    Author, Record,
    memory::Memory,
    running::{failed, left},
    turning::{Halt, Seen, acted, error_of},
};
use crate::{
    Acts,
    kind::Stop,
    primitive::{Action, Given},
};

impl<T, D, A> Author<T, D, A>
where
    T: Acts<D, A>,
    D: Send + Sync + 'static,
    A: 'static,
{
    /// Runs a plain action within its turn. Returns `None` if the action is not plain: such actions run
    /// outside turns. The macro has found no `.await` in a plain action, so the first poll completes it.
    pub(super) fn act(
        &self,
        memory: &mut Memory<T, Record<T>>,
        (seen, entity): (Seen<'_>, &Entity),
        (action, body): (&Action, &Bytes),
        ticket: Option<Ticket>,
    ) -> Result<Option<Next>, Halt> {
        if !action.plain {
            return Ok(None);
        }
        let mut state = memory.take_state(&entity.state).map_err(Halt::Park)?;
        let given = Given { body: body.clone(), ..Given::default() };
        let Some(returned) = polled_once(state.act(action.name, given)) else { return Ok(None) };
        let value = returned.map_err(|thrown| match failed(thrown) {
            Outcome::Refused(refusal) => Stop::Malformed(refusal.to_string()),
            outcome => Stop::Refuse(error_of(&outcome, seen.key, action.name)),
        })?;
        let state = left(memory, Some(&entity.state), &state).map_err(Stop::Malformed)?;
        let produced = Produced { value, state, ..Produced::default() };
        acted(memory.head(&entity.head).map_err(Halt::Park)?, &produced, ticket).map(Some)
    }
}

/// Returns the output of code that completes without waiting.
fn polled_once<F: Future>(code: F) -> Option<F::Output> {
    match pin!(code).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(returned) => Some(returned),
        Poll::Pending => None,
    }
}
