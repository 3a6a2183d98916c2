//! After the store's verdict: what was waiting for it is released, or taken again.

use bytes::Bytes;

use super::{
    body::Body,
    chain::{Chain, Link},
    effects::{Effects, Event},
    mail::Settled,
    pending::Pending,
    shared::Shared,
    source::{Origin, Source},
    stacking::again,
    working::Running,
};
use crate::{
    Borrow, Error, Key, Millis, Name, Parked, Reply, To, Version,
    planted::Bug,
    store::{Letter, Outgoing, StoreError, Write},
};

impl Body {
    /// Takes the chain to the writer, if there is one that writes and none is there yet; with the version that it makes.
    pub(crate) fn take_off(&mut self) -> Option<(Version, Write)> {
        let version = self.chain.version.filter(|_| self.flying.is_none())?;
        let chain = std::mem::take(&mut self.chain);
        let write = chain.write(&self.key, self.lease.partition, self.tip.as_ref())?;
        self.flying = Some((chain, self.tip.clone()));
        Some((version, write))
    }

    /// The verdict on the chain that makes this version. Another's says nothing: while it was on its way the partition may have been
    /// lost and won again, with all that was in memory.
    pub(crate) fn settle(&mut self, version: Version, verdict: Settled, at: &Shared, out: &mut Effects) {
        let is_meant =
            |(flying, _): &mut (Chain, _)| flying.version == Some(version) || Bug::VerdictOfAnother.planted();
        let Some((flying, after)) = self.flying.take_if(is_meant) else { return };
        match verdict {
            Settled::Applied => self.applied(flying, after, at, out),
            Settled::Stale => {
                // A lost twin of this write may have put its messages: later ones must not overtake them (M1).
                out.looks.extend(flying.sent.iter().map(|sent| sent.to.clone()));
                self.take_again(flying, None, out);
            }
            Settled::Failed(error) => self.take_again(flying, Some(&error), out),
            Settled::Refused(why) => {
                let error = StoreError::new(crate::store::StoreErrorKind::Misused, why.clone());
                self.take_again(flying, Some(&error), out);
                self.refused_by_store = Some(Parked::Broken(why));
            }
        }
    }

    fn applied(&mut self, flying: Chain, after: Option<crate::Entity>, at: &Shared, out: &mut Effects) {
        let (destroyed, evicts) = (flying.destroys, flying.evicts);
        // They were read before this commit, and it no longer lies over them.
        self.pages.clear();
        let before = std::mem::replace(&mut self.committed, after);
        out.alarm = Some(self.committed.as_ref().filter(|entity| entity.parked.is_none()).and_then(|e| e.alarm));
        for sent in flying.sent {
            let to = sent.to.clone();
            out.letters.push((to, letter(sent, &self.key, at.time.now())));
        }
        let ended_by = flying.links.last().and_then(|link| link.source.pending()).map(|pending| pending.ticket);
        // What an entity tells with the commit that destroys it is told in its own name.
        let ended = before.filter(|_| destroyed).map(|entity| entity.definition);
        for link in flying.links {
            self.release_of(link, ended.as_ref(), out);
        }
        if let Some(listed) = flying.listed {
            self.now_listed(listed);
        }
        self.seat_settled(at, out);
        if destroyed {
            self.entity_ended(ended_by, out);
        } else if evicts {
            self.evict(out);
        }
    }

    /// Everything a durable turn lets go: its answer, the answers to those who waited, what it tells.
    pub(crate) fn release(&mut self, link: Link, out: &mut Effects) {
        self.release_of(link, None, out);
    }

    /// The same of a turn that destroyed an entity of the definition `ended`.
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
            self.forget_held(*ticket);
        }
        let Some(pending) = link.source.into_pending() else { return };
        match (own, link.hold) {
            (None, Some(name)) => {
                // It may have left while its call was on the way.
                if pending.caller.is_gone() {
                    self.gone.push_back(pending.ticket);
                }
                self.held.push((name, pending));
            }
            (own, _) => {
                let reply = own.unwrap_or_else(|| Ok(Bytes::new()));
                self.answer_repeats(&pending, &reply, out);
                out.answers.push((pending, reply));
            }
        }
    }

    fn answer_held(&mut self, to: &To, reply: &Reply, out: &mut Effects) {
        let meant = |name: &crate::Name, ticket| *to == To::Ticket(ticket) || *to == To::All(name.clone());
        let (answered, waiting) =
            std::mem::take(&mut self.held).into_iter().partition(|(name, pending)| meant(name, pending.ticket));
        self.held = waiting;
        // Its caller left, or asked an earlier owner: what the kind gave it comes back (S1).
        if let (To::Ticket(ticket), Ok(_), true) = (to, reply, answered.is_empty()) {
            self.gone.push_back(*ticket);
        }
        for (_, pending) in answered {
            self.answer_repeats(&pending, reply, out);
            out.answers.push((pending, reply.clone()));
        }
    }

    /// Its kind knows that it left, and will not answer it. One with an idempotency key may come back for its answer.
    fn forget_held(&mut self, ticket: crate::Ticket) {
        self.held.retain(|(_, pending)| pending.ticket != ticket || pending.once.is_some());
    }

    /// Calls with the same idempotency key that waited for this one (E12).
    fn answer_repeats(&mut self, first: &super::pending::Pending, reply: &Reply, out: &mut Effects) {
        let Some(asked) = &first.once else { return };
        let is_repeat = |source: &Source| match source {
            Source::Call(pending) => pending.once.as_ref().is_some_and(|other| other.once == asked.once),
            _ => false,
        };
        if !matches!(reply, Ok(_) | Err(Error::Failed(_))) || !self.queue.iter().any(is_repeat) {
            return;
        }
        let (repeats, others): (Vec<_>, Vec<_>) = self.queue.drain(..).partition(is_repeat);
        self.queue = others.into();
        for pending in repeats.into_iter().filter_map(Source::into_pending) {
            let same = pending.once.as_ref().is_some_and(|other| other.hash == asked.hash);
            let mismatch = Error::IdempotencyMismatch { key: self.key.clone() };
            out.answers.push((pending, if same { reply.clone() } else { Err(mismatch) }));
        }
    }

    /// The key is free: whoever waited for the entity learns that it is gone (E8).
    /// Whoever asked before it ended asked it, and not the next one of the key. If no call ended it but its own work did,
    /// those are the ones who waited for the struct that the work had borrowed.
    fn turn_out(&mut self, ended_by: Option<crate::Ticket>, out: &mut Effects) {
        let asked_it = |pending: &Pending| match ended_by {
            Some(by) => pending.ticket.number < by.number,
            None => pending.borrow == Borrow::Exclusive,
        };
        let is_older = |source: &Source| matches!(source, Source::Call(pending) if asked_it(pending));
        let (older, newer): (Vec<_>, Vec<_>) = self.queue.drain(..).partition(is_older);
        self.queue = newer.into();
        let older = older.into_iter().filter_map(Source::into_pending);
        out.answers.extend(older.map(|pending| (pending, Err(Error::Destroyed { key: self.key.clone() }))));
    }

    /// Code of callers would hold up what is left to be done before the entity ends, perhaps for ever.
    fn evict(&mut self, out: &mut Effects) {
        let is_asked_for = |running: &Running| matches!(running.origin, Origin::Call(_) | Origin::Read(_));
        let (mut evicted, kept): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.running).into_iter().partition(is_asked_for);
        self.running = kept;
        let callers = evicted.iter_mut().filter_map(Running::take_caller);
        let held = self.held.drain(..).map(|(_, pending)| pending);
        let destroyed = |pending| (pending, Err(Error::Destroyed { key: self.key.clone() }));
        out.answers.extend(held.chain(callers).map(destroyed));
        out.dropped.append(&mut evicted);
    }

    fn entity_ended(&mut self, ended_by: Option<crate::Ticket>, out: &mut Effects) {
        self.turn_out(ended_by, out);
        let error = || Err(Error::Destroyed { key: self.key.clone() });
        let held = self.held.drain(..).map(|(_, pending)| pending);
        let mut running = std::mem::take(&mut self.running);
        let callers = running.iter_mut().filter_map(Running::take_caller);
        let ended = std::mem::take(&mut self.ends).into_iter().filter_map(|end| Source::End(end).into_pending());
        out.answers.extend(held.chain(callers).chain(ended).map(|pending| (pending, error())));
        out.dropped.append(&mut running);
        self.gone.clear();
        self.later.clear();
        out.trash.push(Box::new(std::mem::take(&mut self.hot)));
        self.inbox_read = None;
    }

    /// The chain did not come about: the entity is read again and pure turns are taken again from their
    /// inputs. What ran on the old state is dropped, and its callers learn that nothing is known.
    fn take_again(&mut self, flying: Chain, error: Option<&StoreError>, out: &mut Effects) {
        let chain = std::mem::take(&mut self.chain);
        let links: Vec<Link> = flying.links.into_iter().chain(chain.links).collect();
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
                // Looked up again: what made this turn stale may be the call itself.
                if let Some(asked) = &mut pending.once {
                    asked.is_new = false;
                }
                self.queue.push_front(Source::Call(pending));
            }
            Source::End(end) => {
                if let Some(source) = again(end) {
                    self.take_link_again(source);
                }
            }
            Source::Alarm(_) => self.alarm_is_due = true,
            Source::Gone(ticket) => self.gone.push_front(ticket),
            // Letters are read from the inbox again, the rest is noticed again.
            Source::Letter(_) | Source::Changed | Source::Kernel => {}
        }
    }

    /// Forgets all that was read or made here; the next visit reads it again.
    fn cool_down(&mut self, out: &mut Effects) {
        self.is_warm = false;
        self.committed = None;
        self.tip = None;
        out.trash.push(Box::new(std::mem::take(&mut self.hot)));
        out.trash.push(Box::new(std::mem::take(&mut self.ends)));
        out.dropped.append(&mut self.running);
        (self.is_reading, self.reading) = (false, 0);
        self.now_listed(Vec::new());
        self.ended.clear();
        self.later.clear();
        self.queue.retain(|source| matches!(source, Source::Call(_)));
        self.inbox_read = None;
        self.wanted_rows.clear();
        self.pages.clear();
        self.seat = super::seating::Seat::Unasked;
    }
}

/// A message as its receiver finds it.
pub(crate) fn letter(sent: Outgoing, from: &Key, at: Millis) -> Letter {
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
