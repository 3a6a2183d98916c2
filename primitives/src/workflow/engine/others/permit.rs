//! The permits that a run holds (M5, S5). The run asks for a permit under a name of its own. A message of
//! the commit that releases the permit gives it back.

use bytes::Bytes;
use drystone_runtime::{Message, Name};

use crate::{
    encode,
    planted::Bug,
    workflow::{
        Workflow,
        body::{
            call::{Called, KeyText},
            permit::{RELEASE, WITHDRAW},
        },
        engine::turn::{Delivery, Turning},
        record::{Permit, pending::Code},
        replay::op_id::OpId,
    },
};

impl<W: Workflow> Turning<'_, W> {
    /// Builds the call for a permit that the body asks for. From here on the run must give the permit back,
    /// whether or not it was given.
    pub(in crate::workflow::engine) fn permit_input(&mut self, op: &OpId, called: &Called) -> Code {
        let definition = self.seen.names.of(&called.of).to_string();
        let permit = Permit { definition, key: KeyText::of(&called.key), is_given: false };
        self.record.permits.insert(op.clone(), permit);
        let holder = self.holder(op);
        let weight = crate::decode::<[u64; 1]>(&called.body).map_or(1, |[weight]| weight);
        let body = encode(&(weight, holder)).expect("a number and a text can be written");
        self.call_input(&Called { body, ..called.clone() })
    }

    /// Returns the name of the holder, which is the same in every replay and different in every run.
    fn holder(&self, op: &OpId) -> String {
        format!("{:016x}/{}/{op}", self.record.seed, self.record.generation)
    }

    /// Notes that an operation has returned a value. If the operation is a permit, the run holds it.
    pub(in crate::workflow::engine) fn permit_is_given(&mut self, op: &OpId) {
        if let Some(permit) = self.record.permits.get_mut(op) {
            permit.is_given = true;
        }
    }

    /// Gives back a permit that the body released. A permit that is released while kept entries are
    /// delivered was given back before, and the semaphore does not know it under this generation, so nothing
    /// is sent.
    pub(in crate::workflow::engine) fn release_permit(&mut self, op: &OpId) {
        let permit =
            self.record.permits.remove(op).filter(|_| self.delivery != Delivery::Anew && !Bug::PermitKept.planted());
        let Some(Permit { definition, key, is_given }) = permit else { return };
        let body = encode(&[self.holder(op)]).unwrap_or_else(|_| Bytes::from_static(b"[]"));
        let definition = Name::from(definition);
        let verb = Name::new(if is_given { RELEASE } else { WITHDRAW });
        if let Ok(to) = self.seen.names.key(&definition, key.bytes()) {
            self.commit.send([Message { to, definition, verb, body }]);
        }
    }

    /// Gives back all permits, because the run has ended or begins anew.
    pub(in crate::workflow::engine) fn release_permits(&mut self) {
        let held: Vec<OpId> = self.record.permits.keys().cloned().collect();
        held.iter().for_each(|op| self.release_permit(op));
    }
}
