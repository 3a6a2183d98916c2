//! A call in progress: the request and its caller.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::sync::oneshot;

use crate::{Borrow, Error, Idempotency, Input, Key, Name, Reply, Ticket, store::Once};

/// A call that has arrived at a key.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) definition: Name,
    pub(crate) verb: Name,
    pub(crate) body: Bytes,
    pub(crate) ticket: Ticket,
    pub(crate) once: Option<Asked>,
    pub(crate) borrow: Borrow,
    /// The code of the call is not pure: it starts only on a durable state.
    pub(crate) impure: bool,
    /// The entities that wait for the call (M3).
    pub(crate) chain: Arc<[Key]>,
    pub(crate) caller: Caller,
}

/// The idempotency key of a call, and whether it was looked up.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) once: Once,
    pub(crate) hash: u64,
    /// How long the answer is remembered, if the call says so.
    pub(crate) remember_for: Option<Duration>,
    /// No answer is remembered under the key, so the call may run.
    pub(crate) is_new: bool,
}

impl Asked {
    pub(crate) fn idempotency(&self) -> Idempotency {
        Idempotency { key: self.once.clone(), hash: self.hash, remember_for: self.remember_for }
    }
}

impl Pending {
    pub(crate) fn input(&self) -> Input {
        let once = self.once.as_ref().map(Asked::idempotency);
        Input::Call { verb: self.verb.clone(), body: self.body.clone(), ticket: self.ticket, once }
    }

    pub(crate) fn weight(&self) -> usize {
        self.body.len() + 64
    }

    /// Answers the caller. If an answer that matters reaches no caller, returns the key and the ticket, so
    /// that the effects of the call can be taken back. Reads and errors have no effects.
    pub(crate) fn answer(mut self, reply: Reply) -> Option<(Key, Ticket)> {
        let matters = reply.is_ok() && self.borrow != Borrow::Shared;
        let is_heard = self.caller.answer(reply);
        (matters && !is_heard).then(|| (self.caller.key.clone(), self.ticket))
    }

    pub(crate) fn refuse(mut self, error: Error) {
        self.caller.answer(Err(error));
    }
}

/// The caller that waits for an answer. A caller that is dropped without an answer learns that the outcome
/// is unknown.
#[derive(Debug)]
pub(crate) struct Caller {
    key: Key,
    sender: Option<oneshot::Sender<Reply>>,
}

impl Caller {
    pub(crate) fn new(key: Key) -> (Self, oneshot::Receiver<Reply>) {
        let (sender, receiver) = oneshot::channel();
        (Self { key, sender: Some(sender) }, receiver)
    }

    /// Sends the answer; returns whether the caller was still there.
    pub(crate) fn answer(&mut self, reply: Reply) -> bool {
        self.sender.take().is_some_and(|sender| sender.send(reply).is_ok())
    }

    /// Whether the caller has left.
    pub(crate) fn is_gone(&self) -> bool {
        self.sender.as_ref().is_none_or(oneshot::Sender::is_closed)
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        if let Some(sender) = self.sender.take() {
            let _ = sender.send(Err(Error::Unknown { key: self.key.clone() }));
        }
    }
}
