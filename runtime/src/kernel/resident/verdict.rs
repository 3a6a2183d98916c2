//! After the store's verdict on a chain: its answers and effects are released, or its turns are taken
//! again.

use bytes::Bytes;

use super::{
    Resident,
    merge::again,
    parts::{
        chain::{Chain, Link},
        commits::InFlight,
    },
    source::Source,
    work::Running,
};
use crate::{
    Borrow, Error, Key, Millis, Name, Parked, Reply, To, Version,
    kernel::{
        api::pending_call::Pending,
        state::{
            effects::{Effects, Event},
            mail::Settled,
            shared::Shared,
        },
    },
    planted::Bug,
    store::{Letter, Outgoing, StoreError, Write},
};

impl Resident {
    /// Takes the chain for the next batch, with the version that the chain makes. Returns `None` if the
    /// chain writes nothing, or if the chain before is still in flight.
    pub(crate) fn take_write(&mut self) -> Option<(Version, Write)> {
        self.commits.take_write(&self.key, self.lease.partition, self.tip.as_ref())
    }

    /// Takes in the verdict on the chain that makes `version`. A verdict on another chain is ignored: while
    /// it was on its way, the partition may have been lost and regained, and the memory of that chain with
    /// it.
    pub(crate) fn settle(&mut self, version: Version, verdict: Settled, at: &Shared, out: &mut Effects) {
        let is_meant = |chain: &Chain| chain.version() == Some(version) || Bug::VerdictOfAnother.planted();
        let Some(InFlight { chain, after }) = self.commits.take_in_flight(is_meant) else { return };
        match verdict {
            Settled::Applied => self.applied(chain, after, at, out),
            Settled::Stale => {
                // A lost attempt of this write may have put its messages: later messages must not overtake
                // them (M1).
                out.looks.extend(chain.sent().iter().map(|sent| sent.to.clone()));
                self.take_again(chain, None, out);
            }
            Settled::Failed(error) => self.take_again(chain, Some(&error), out),
            Settled::Refused(why) => {
                let error = StoreError::new(crate::store::StoreErrorKind::Misused, why.clone());
                self.take_again(chain, Some(&error), out);
                self.commits.refuse(Parked::Broken(why));
            }
        }
    }

    fn applied(&mut self, mut chain: Chain, after: Option<crate::Entity>, at: &Shared, out: &mut Effects) {
        let (destroyed, evicts) = (chain.destroys(), chain.evicts());
        // The pages were read before this commit, and the chain no longer lies over them.
        self.reads.drop_pages();
        let before = std::mem::replace(&mut self.committed, after);
        out.alarm = Some(self.committed.as_ref().filter(|entity| entity.parked.is_none()).and_then(|e| e.alarm));
        for sent in chain.take_sent() {
            let to = sent.to.clone();
            out.messages.push((to, inbox_form(sent, &self.key, at.time.now())));
        }
        let (links, listed) = (chain.take_links(), chain.take_listed());
        let ended_by = links.last().and_then(|link| link.source.pending()).map(|pending| pending.ticket);
        // Events of the commit that destroys an entity carry the definition of that entity.
        let ended = before.filter(|_| destroyed).map(|entity| entity.definition);
        for link in links {
            self.release_of(link, ended.as_ref(), out);
        }
        if let Some(listed) = listed {
            self.work.set_listed(listed);
        }
        self.admission_settled(at, out);
        if destroyed {
            self.entity_ended(ended_by, out);
        } else if evicts {
            self.evict(out);
        }
    }

    /// Releases everything that waited for a durable turn: its answer, the answers to held callers, its
    /// events.
    pub(crate) fn release(&mut self, link: Link, out: &mut Effects) {
        self.release_of(link, None, out);
    }

    /// Does the same for a turn that destroyed an entity of the definition `ended`.
    fn release_of(&mut self, link: Link, ended: Option<&Name>, out: &mut Effects) {
        let bound = || self.tip.as_ref().or(self.committed.as_ref()).map(|entity| entity.definition.clone());
        let definition = if link.emit.is_empty() { None } else { ended.cloned().or_else(bound) };
        for lifecycle in link.emit {
            let definition = definition.clone().unwrap_or_else(|| "unbound".into());
            out.events.push(Event { key: self.key.clone(), definition, lifecycle });
        }
        let mut own: Option<Reply> = None;
        let ticket = link.source.pending().map(|pending| pending.ticket);
        for (to, reply) in link.replies {
            match to {
                To::Ticket(one) if Some(one) == ticket => own = Some(reply),
                to => self.answer_held(&to, &reply, out),
            }
        }
        if let Source::Gone(ticket) = &link.source {
            self.callers.forget(*ticket);
        }
        let Some(pending) = link.source.into_pending() else { return };
        match (own, link.hold) {
            (None, Some(name)) => {
                // The caller may have left while the commit was in flight.
                if pending.caller.is_gone() {
                    self.inputs.caller_left(pending.ticket);
                }
                self.callers.hold(name, pending);
            }
            (own, _) => {
                let reply = own.unwrap_or_else(|| Ok(Bytes::new()));
                self.answer_repeats(&pending, &reply, out);
                out.answers.push((pending, reply));
            }
        }
    }

    fn answer_held(&mut self, to: &To, reply: &Reply, out: &mut Effects) {
        let answered = self.callers.take_answered(to);
        // The caller left, or asked an earlier owner: the kind takes back what it gave to the caller (S1).
        if let (To::Ticket(ticket), Ok(_), true) = (to, reply, answered.is_empty()) {
            self.inputs.caller_left(*ticket);
        }
        for pending in answered {
            self.answer_repeats(&pending, reply, out);
            out.answers.push((pending, reply.clone()));
        }
    }

    /// Answers queued calls that have the same idempotency key as this call (E12).
    fn answer_repeats(&mut self, first: &Pending, reply: &Reply, out: &mut Effects) {
        let Some(asked) = &first.once else { return };
        if !matches!(reply, Ok(_) | Err(Error::Failed(_))) {
            return;
        }
        let is_repeat = |pending: &Pending| pending.once.as_ref().is_some_and(|other| other.once == asked.once);
        for pending in self.queue.take_calls(is_repeat) {
            let same = pending.once.as_ref().is_some_and(|other| other.hash == asked.hash);
            let mismatch = Error::IdempotencyMismatch { key: self.key.clone() };
            out.answers.push((pending, if same { reply.clone() } else { Err(mismatch) }));
        }
    }

    /// Refuses the calls that were meant for the entity that has ended (E8); the key is free now. A call
    /// that was made before the call which ended the entity was meant for that entity, and not for the next
    /// entity of the key. If the entity's own work ended it, these are the calls that waited for the struct
    /// which that work had borrowed.
    fn turn_out(&mut self, ended_by: Option<crate::Ticket>, out: &mut Effects) {
        let asked_it = |pending: &Pending| match ended_by {
            Some(by) => pending.ticket.number < by.number,
            None => pending.borrow == Borrow::Exclusive,
        };
        let older = self.queue.take_calls(asked_it).into_iter();
        out.answers.extend(older.map(|pending| (pending, Err(Error::Destroyed { key: self.key.clone() }))));
    }

    /// Drops the code of callers and refuses held callers. They would delay the work that is left before
    /// the entity ends, perhaps forever.
    fn evict(&mut self, out: &mut Effects) {
        let mut evicted = self.work.take_called();
        let callers = evicted.iter_mut().filter_map(Running::take_caller);
        let held = self.callers.take_held();
        let destroyed = |pending| (pending, Err(Error::Destroyed { key: self.key.clone() }));
        out.answers.extend(held.chain(callers).map(destroyed));
        out.dropped.append(&mut evicted);
    }

    /// Clears the resident after its entity was destroyed. Callers that still wait get `Destroyed`.
    fn entity_ended(&mut self, ended_by: Option<crate::Ticket>, out: &mut Effects) {
        self.turn_out(ended_by, out);
        let error = || Err(Error::Destroyed { key: self.key.clone() });
        let held = self.callers.take_held();
        let mut running = self.work.take_running();
        let callers = running.iter_mut().filter_map(Running::take_caller);
        let ended = self.inputs.take_ends().into_iter().filter_map(|end| Source::End(end).into_pending());
        out.answers.extend(held.chain(callers).chain(ended).map(|pending| (pending, error())));
        out.dropped.append(&mut running);
        self.inputs.entity_ended();
        out.trash.push(Box::new(std::mem::take(&mut self.hot)));
        self.inbox.forget();
    }

    /// Handles a chain that was not applied: the entity is read again, and pure turns are taken again from
    /// their inputs. With an error, the callers of the turns get that error instead. Code that ran on the
    /// old state is dropped, and its callers get an unknown outcome.
    fn take_again(&mut self, mut chain: Chain, error: Option<&StoreError>, out: &mut Effects) {
        let mut links = chain.take_links();
        links.append(&mut self.commits.take_waiting().take_links());
        for link in links.into_iter().rev() {
            match error {
                Some(error) => {
                    let reply = Err(Error::Store(error.clone()));
                    out.answers.extend(link.source.into_pending().map(|pending| (pending, reply)));
                }
                None => self.take_link_again(link.source),
            }
        }
        self.cool_down(out);
    }

    fn take_link_again(&mut self, source: Source) {
        match source {
            Source::Call(mut pending) => {
                // Look the idempotency key up again: the turn may be stale because this very call was
                // applied before.
                if let Some(asked) = &mut pending.once {
                    asked.is_new = false;
                }
                self.queue.put_first(Source::Call(pending));
            }
            Source::End(end) => {
                if let Some(source) = again(end) {
                    self.take_link_again(source);
                }
            }
            Source::Alarm(_) => self.inputs.ring(),
            Source::Gone(ticket) => self.inputs.put_gone_first(ticket),
            // Messages are read from the inbox again; the other inputs are noticed again.
            Source::Message(_) | Source::Changed | Source::Kernel => {}
        }
    }

    /// Forgets everything that was read or made here. The next visit reads it again.
    fn cool_down(&mut self, out: &mut Effects) {
        self.is_warm = false;
        self.committed = None;
        self.tip = None;
        out.trash.push(Box::new(std::mem::take(&mut self.hot)));
        out.trash.push(Box::new(self.inputs.forget()));
        out.dropped.append(&mut self.work.forget());
        self.queue.forget_messages();
        self.inbox.forget();
        self.reads.forget();
        self.admission.check_again();
    }
}

/// Converts an outgoing message to the form of the receiver's inbox.
pub(crate) fn inbox_form(sent: Outgoing, from: &Key, at: Millis) -> Letter {
    Letter {
        id: sent.id,
        from: from.clone(),
        definition: sent.definition,
        verb: sent.verb,
        body: sent.body,
        mark: sent.mark,
        attempts: 0,
        at,
    }
}
