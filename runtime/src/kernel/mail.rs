//! What can arrive at a key. Only a hand that visits the key opens its mail.

use tokio::sync::oneshot;

use super::{effects::Ring, pending::Pending, view::Explain};
use crate::{
    Entity, Outcome, Ticket, Version, Work,
    store::{Found, Letter, Read, StoreError},
};

#[derive(Debug)]
pub(crate) enum Mail {
    /// Somebody asks.
    Call(Pending),
    /// A message, durable, from an entity of this worker.
    Letter(Letter),
    /// The inbox may hold something new.
    Look,
    /// The alarm may be due.
    Alarm,
    /// A scan found this record; it is used if nothing newer is here.
    Woken(Box<Entity>),
    /// What should run is to be asked for anew.
    Relist,
    /// A run is over.
    Ended { run: u64, work: Work, outcome: Outcome },
    /// A set time has come.
    Rang(Ring),
    /// A caller left before it was answered.
    Gone(Ticket),
    /// An answer reached nobody: its caller left while it was on the way.
    Unheard(Ticket),
    /// What was read, by the number of the read.
    Found(u64, Vec<Read>, Vec<Found>),
    /// What became of the turns that were with the writer, by the version that they make.
    Settled(Version, Settled),
    /// These messages are held; they are to be tried again.
    Release(Vec<Letter>),
    /// Somebody wants to know what the key waits for.
    Explain(Asker),
}

/// What became of a chain.
#[derive(Clone, Debug)]
pub(crate) enum Settled {
    /// It is durable.
    Applied,
    /// Somebody else has written: its turns are taken again.
    Stale,
    /// The store will not take it, ever: its callers are told.
    Failed(StoreError),
    /// The store refused it alone: a bug of ours; the entity is parked.
    Refused(String),
}

/// Who asked for an explanation.
#[derive(Debug)]
pub(crate) struct Asker(pub(crate) oneshot::Sender<Explain>);

impl Asker {
    pub(crate) fn answer(self, explain: Explain) {
        // Whoever asked may have left.
        let _ = self.0.send(explain);
    }
}
