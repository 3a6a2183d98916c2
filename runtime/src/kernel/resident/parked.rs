//! Parked entities: which callers are refused, and what resumes the entity (E10, W2).

use bytes::Bytes;

use super::{Resident, source::Source};
use crate::{
    Error, Parked,
    kernel::{
        api::{call::UNPARK, pending_call::Pending},
        state::{effects::Effects, shared::Shared},
    },
};

impl Resident {
    /// Refuses the callers of a parked entity with the reason, unless the entity can resume. Everything
    /// else stays as it is until the reason is gone. Returns whether the entity was resumed.
    pub(crate) fn turn_away(&mut self, at: &Shared, out: &mut Effects) -> bool {
        let Some(entity) = &self.tip else { return false };
        let Some(reason) = entity.parked.clone() else { return false };
        let registered = at.registry.find(&entity.definition);
        let cured = match &reason {
            Parked::Unregistered => registered.is_some(),
            // Another process may have mended code with the same options, so each owner tries once.
            Parked::Undecodable(_) => {
                let is_others = entity.version.epoch() < self.lease.epoch;
                registered.is_some_and(|found| found.fingerprint != entity.config || is_others)
            }
            Parked::Held(conviction) => {
                conviction.build != at.options.build
                    || registered.is_some_and(|found| found.fingerprint != entity.config)
            }
            Parked::Poisoned(_) | Parked::Broken(_) => false,
        };
        if cured && !self.commits.is_closed() {
            self.unpark(None, at);
            return true;
        }
        // Work that ended is listed again when the entity resumes.
        let ended = self.inputs.take_ends().into_iter().filter_map(|end| Source::End(end).into_pending());
        let key = self.key.clone();
        out.answers.extend(ended.chain(self.queue.take_reads()).map(|read| {
            let error = Error::Parked { key: key.clone(), reason: reason.clone() };
            (read, Err(error))
        }));
        self.turn_calls_away(&reason, at, out)
    }

    fn turn_calls_away(&mut self, reason: &Parked, at: &Shared, out: &mut Effects) -> bool {
        let mut unparked = false;
        for pending in self.queue.take_calls(|_| true) {
            if let Some(answer) =
                self.answer_of_unparking(&pending, at).filter(|_| !self.commits.is_closed() && !unparked)
            {
                self.unpark(Some((pending, answer)), at);
                unparked = true;
            } else {
                let error = Error::Parked { key: self.key.clone(), reason: reason.clone() };
                out.answers.push((pending, Err(error)));
            }
        }
        unparked
    }

    /// Returns the answer to this call if the call resumes the parked entity.
    fn answer_of_unparking(&self, pending: &Pending, at: &Shared) -> Option<Bytes> {
        let entity = self.tip.as_ref()?;
        if pending.verb == UNPARK {
            return Some(Bytes::new());
        }
        let is_held = matches!(entity.parked, Some(Parked::Held(_)));
        at.registry.get(&entity.definition).ok().filter(|_| is_held)?.handler.resumes(&pending.verb)
    }
}
