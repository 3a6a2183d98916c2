//! The caller's side of a call: it is checked, admitted and waited for.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use tokio::sync::oneshot;

use super::{
    call::UNPARK,
    pending_call::{Asked, Caller, Pending},
};
use crate::{
    Borrow, Error, Key, Limit, Reply, Ticket,
    kernel::{
        Call,
        resident::turn::borrow_of,
        state::{mail::Mail, shared::Shared},
        util::race::{First, race},
    },
    key_bytes_max, stable_hash,
    store::{Once, StoreErrorKind},
};

impl Shared {
    pub(crate) async fn call(&self, call: Call) -> Result<Bytes, Error> {
        let definition = self.registry.get(&call.definition)?;
        let key = Key::new(definition.space.clone(), call.key.clone())?;
        self.call_at(key, call).await
    }

    pub(crate) async fn call_at(&self, key: Key, call: Call) -> Result<Bytes, Error> {
        self.check(&call, &key)?;
        let deadline = self.driver.monotonic() + call.deadline.unwrap_or(self.options.deadline);
        let (caller, answer) = Caller::new(key.clone());
        let (ticket, borrow) = self.admit(&key, call, caller)?;
        let mut waiting = Waiting { shared: self, key: &key, ticket, answer: Some(answer), borrow };
        match race(&mut waiting, self.driver.sleep_until(deadline)).await {
            First::Left(reply) => reply.unwrap_or_else(|_| Err(Error::Unknown { key: key.clone() })),
            First::Right(()) => Err(match self.trouble() {
                Some(error) => Error::Store(error),
                None => Error::Deadline { key: key.clone() },
            }),
        }
    }

    fn check(&self, call: &Call, key: &Key) -> Result<(), Error> {
        if self.is_closing() {
            return Err(Error::Closing);
        }
        let limit = self.options.payload_bytes_max;
        if call.body.len() > limit {
            return Err(Error::TooLarge { what: Limit::PayloadBytes, found: call.body.len(), limit });
        }
        let once = call.once.as_ref().map_or(1, Once::len);
        if once == 0 || once > key_bytes_max() {
            return Err(Error::TooLarge { what: Limit::KeyBytes, found: once, limit: key_bytes_max() });
        }
        call.verb.clone().checked()?;
        if call.chain.contains(key) {
            let chain = call.chain.iter().chain([key]).cloned().collect();
            return Err(Error::Cycle { chain });
        }
        Ok(())
    }

    fn admit(&self, key: &Key, call: Call, caller: Caller) -> Result<(Ticket, Borrow), Error> {
        let borrow = match call.verb.as_str() {
            UNPARK => Borrow::None,
            verb => borrow_of(self.registry.get(&call.definition)?, verb),
        };
        let number = self.next_number();
        self.with(|core, _| {
            let epoch = core.lease_of(key)?.epoch;
            if let Some(error) = core.trouble.as_ref().filter(|error| error.kind() == StoreErrorKind::Full)
                && borrow != Borrow::Shared
            {
                return Err(Error::Store(error.clone()));
            }
            let ticket = Ticket { epoch, number };
            let pending = pending(call, caller, ticket, borrow);
            core.admit(key, pending, &self.options).map(|()| (ticket, borrow))
        })
    }
}

fn pending(call: Call, caller: Caller, ticket: Ticket, borrow: Borrow) -> Pending {
    let hash = || stable_hash(&[call.definition.as_bytes(), call.verb.as_bytes(), &call.body]) >> 1;
    let once = call.once.as_ref().map(|once| Asked {
        once: once.clone(),
        hash: hash(),
        remember_for: call.remember_for,
        is_new: false,
    });
    Pending {
        once,
        definition: call.definition,
        verb: call.verb,
        body: call.body,
        ticket,
        borrow,
        impure: false,
        chain: call.chain,
        caller,
    }
}

/// A caller that waits. A caller that stops waiting, at its deadline or because it was dropped, reports
/// that to the entity, even if an answer had arrived and was not fetched.
struct Waiting<'a> {
    shared: &'a Shared,
    key: &'a Key,
    ticket: Ticket,
    borrow: Borrow,
    /// `None` once the answer was fetched.
    answer: Option<oneshot::Receiver<Reply>>,
}

impl Future for Waiting<'_> {
    type Output = Result<Reply, oneshot::error::RecvError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(answer) = self.answer.as_mut() else { return Poll::Pending };
        let answered = Pin::new(answer).poll(context);
        if answered.is_ready() {
            self.answer = None;
        }
        answered
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let Some(mut answer) = self.answer.take() else { return };
        // After this, an answer finds no receiver. An answer that was sent before lies in the channel.
        answer.close();
        match answer.try_recv() {
            Ok(Ok(_)) if self.borrow != Borrow::Shared => self.shared.post(self.key, Mail::Unheard(self.ticket)),
            Ok(_) => {}
            Err(_) => self.shared.post_resident(self.key, Mail::Gone(self.ticket)),
        }
    }
}
