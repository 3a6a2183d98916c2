//! What can arrive at a key. Only the thread that visits the key reads its mail.

use tokio::sync::oneshot;

use super::effects::Ring;
use crate::{
    Entity, Outcome, Ticket, Version, Work,
    kernel::api::{pending_call::Pending, view::Explain},
    store::{Found, Letter, Read, StoreError},
};

#[derive(Debug)]
pub(crate) enum Mail {
    /// A call.
    Call(Pending),
    /// A durable message from an entity of this worker.
    Message(Letter),
    /// The inbox may hold new messages.
    Look,
    /// The alarm may be due.
    Alarm,
    /// A scan found this record. It is used unless memory has a newer one.
    Woken(Box<Entity>),
    /// The work list must be asked for again.
    Relist,
    /// A run has ended.
    Ended { run: u64, work: Work, outcome: Outcome },
    /// A timer has rung.
    Rang(Ring),
    /// A caller left before it was answered.
    Gone(Ticket),
    /// An answer reached no caller: the caller left while the answer was on its way.
    Unheard(Ticket),
    /// The results of a read, with the number of the read.
    Found(u64, Vec<Read>, Vec<Found>),
    /// The verdict on the turns of a batch, with the version that they make.
    Settled(Version, Settled),
    /// Held messages that are to be tried again.
    Release(Vec<Letter>),
    /// A caller asks what the key waits for.
    Explain(Asker),
}

/// The verdict on a chain.
#[derive(Clone, Debug)]
pub(crate) enum Settled {
    /// The chain is durable.
    Applied,
    /// Another write came first: the turns are taken again.
    Stale,
    /// The store will never take the chain: its callers get the error.
    Failed(StoreError),
    /// The store refused this chain alone, which is a bug of ours: the entity is parked.
    Refused(String),
}

/// The caller that asked for an explanation.
#[derive(Debug)]
pub(crate) struct Asker(pub(crate) oneshot::Sender<Explain>);

impl Asker {
    pub(crate) fn answer(self, explain: Explain) {
        // The caller may have left.
        let _ = self.0.send(explain);
    }
}
