//! Actions that write and take nothing but their input. Nearly all of them wait for nothing, so they are run within the turn of their call.

use std::{
    pin::pin,
    sync::atomic::Ordering,
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
    /// Runs an action within its turn. `None` if it takes more than its input, or waits for something: such code is run outside
    /// of turns. Code that was found to wait is begun anew there, so no action of its primitive is tried here again.
    pub(super) fn act(
        &self,
        memory: &mut Memory<T, Record<T>>,
        (seen, entity): (Seen<'_>, &Entity),
        (action, body): (&Action, &Bytes),
        ticket: Option<Ticket>,
    ) -> Result<Option<Next>, Halt> {
        if !action.plain || self.waits.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let mut state = memory.take_state(&entity.state).map_err(Halt::Park)?;
        let given = Given { body: body.clone(), ..Given::default() };
        let Some(returned) = polled_once(state.act(action.name, given)) else {
            self.waits.store(true, Ordering::Relaxed);
            return Ok(None);
        };
        let value = returned.map_err(|thrown| match failed(thrown) {
            Outcome::Refused(reason) => Stop::Malformed(reason),
            outcome => Stop::Refuse(error_of(&outcome, seen.key, action.name)),
        })?;
        let state = left(memory, Some(&entity.state), &state).map_err(Stop::Malformed)?;
        let produced = Produced { value, state, ..Produced::default() };
        acted(memory.head(&entity.head).map_err(Halt::Park)?, &produced, ticket).map(Some)
    }
}

/// What code comes to without waiting.
fn polled_once<F: Future>(code: F) -> Option<F::Output> {
    match pin!(code).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(returned) => Some(returned),
        Poll::Pending => None,
    }
}
