//! Permits that a run holds: asked for under a name of its own, given back by a message of the commit in which it lets them go (M5, S5).

use bytes::Bytes;
use drystone_runtime::{Message, Name};

use super::{
    super::{
        Workflow,
        called::{Called, KeyText},
        pending::Code,
        permit::{RELEASE, WITHDRAW},
        record::Permit,
    },
    turning::Turning,
};
use crate::{encode, planted::Bug};

impl<W: Workflow> Turning<'_, W> {
    /// A permit that the body asks for: from here on it is to be given back, whether or not it has come.
    pub(super) fn permit_input(&mut self, op: &str, called: &Called) -> Code {
        let definition = self.seen.names.of(&called.of).to_string();
        let permit = Permit { definition, key: KeyText::of(&called.key), is_given: false };
        self.record.permits.insert(op.to_owned(), permit);
        let holder = self.holder(op);
        let weight = crate::decode::<[u64; 1]>(&called.body).map_or(1, |[weight]| weight);
        let body = encode(&(weight, holder)).expect("a number and a text can be written");
        self.call_input(&Called { body, ..called.clone() })
    }

    /// The same in every replay, and no other run's.
    fn holder(&self, op: &str) -> String {
        format!("{:016x}/{}/{op}", self.record.seed, self.record.generation)
    }

    /// The run hears that an operation has come to a value: if that is a permit, the run holds it.
    pub(super) fn permit_is_given(&mut self, op: &str) {
        if let Some(permit) = self.record.permits.get_mut(op) {
            permit.is_given = true;
        }
    }

    /// The body holds a permit no more. One that a replay drops again was given back before, and so was one that was kept of the
    /// generation before: of this one no semaphore knows.
    pub(super) fn release_permit(&mut self, op: &str) {
        let permit = self.record.permits.remove(op).filter(|_| !self.is_told_anew && !Bug::PermitKept.planted());
        let Some(Permit { definition, key, is_given }) = permit else { return };
        let body = encode(&[self.holder(op)]).unwrap_or_else(|_| Bytes::from_static(b"[]"));
        let definition = Name::from(definition);
        let verb = Name::new(if is_given { RELEASE } else { WITHDRAW });
        if let Ok(to) = self.seen.names.key(&definition, key.bytes()) {
            self.commit.send.push(Message { to, definition, verb, body });
        }
    }

    /// The run has ended, or begins anew: all of them come back.
    pub(super) fn release_permits(&mut self) {
        let held: Vec<String> = self.record.permits.keys().cloned().collect();
        held.iter().for_each(|op| self.release_permit(op));
    }
}
