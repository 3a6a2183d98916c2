//! The permits that a run holds (M5, S5). The run asks for a permit under a name of its own. A message of
//! the commit that releases the permit gives it back.

use std::collections::BTreeMap;

use bytes::Bytes;
use drystone_runtime::{Message, Name};

use crate::{
    encode,
    planted::Bug,
    workflow::{
        Workflow,
        body::{
            call::{Called, KeyText},
            names::Names,
            permit::{RELEASE, WITHDRAW},
        },
        engine::{
            turn::{Delivery, Turning},
            turn_commit::TurnCommit,
        },
        record::Permit,
        replay::op_id::OpId,
    },
};

/// The permits that a run holds or waits for.
pub(in crate::workflow::engine) struct Permits<'t> {
    permits: &'t mut BTreeMap<OpId, Permit>,
    commit: &'t mut TurnCommit,
    names: &'t Names,
    seed: u64,
    generation: u32,
    delivery: Delivery,
}

impl<W: Workflow> Turning<'_, W> {
    pub(in crate::workflow::engine) fn permits(&mut self) -> Permits<'_> {
        let (seed, generation) = (self.record.seed, self.record.generation);
        let (names, delivery) = (self.seen.names, self.delivery);
        Permits { permits: &mut self.record.permits, commit: &mut self.commit, names, seed, generation, delivery }
    }
}

impl Permits<'_> {
    /// Builds the call for a permit that the body asks for. From here on the run must give the permit back,
    /// whether or not it was given.
    pub(in crate::workflow::engine) fn ask(&mut self, op: &OpId, called: &Called) -> Called {
        let definition = self.names.of(&called.of).to_string();
        let permit = Permit { definition, key: KeyText::of(&called.key), is_given: false };
        self.permits.insert(op.clone(), permit);
        let weight = crate::decode::<[u64; 1]>(&called.body).map_or(1, |[weight]| weight);
        let body = encode(&(weight, self.holder(op))).expect("a number and a text can be written");
        Called { body, ..called.clone() }
    }

    /// Returns the name of the holder, which is the same in every replay and different in every run.
    fn holder(&self, op: &OpId) -> String {
        format!("{:016x}/{}/{op}", self.seed, self.generation)
    }

    /// Notes that an operation has returned a value. If the operation is a permit, the run holds it.
    pub(in crate::workflow::engine) fn note_given(self, op: &OpId) {
        if let Some(permit) = self.permits.get_mut(op) {
            permit.is_given = true;
        }
    }

    /// Gives back a permit that the body released. A permit that is released while kept entries are
    /// delivered was given back before, and the semaphore does not know it under this generation, so nothing
    /// is sent.
    pub(in crate::workflow::engine) fn release(&mut self, op: &OpId) {
        let is_known = self.delivery != Delivery::Anew;
        let permit = self.permits.remove(op).filter(|_| is_known && !Bug::PermitKept.planted());
        let Some(Permit { definition, key, is_given }) = permit else { return };
        let body = encode(&[self.holder(op)]).unwrap_or_else(|_| Bytes::from_static(b"[]"));
        let definition = Name::from(definition);
        let verb = Name::new(if is_given { RELEASE } else { WITHDRAW });
        if let Ok(to) = self.names.key(&definition, key.bytes()) {
            self.commit.send([Message { to, definition, verb, body }]);
        }
    }

    /// Gives back all permits, because the run has ended or begins anew.
    pub(in crate::workflow::engine) fn release_all(mut self) {
        let held: Vec<OpId> = self.permits.keys().cloned().collect();
        held.iter().for_each(|op| self.release(op));
    }
}
