//! Explains to a person what a key waits for (E14, R7).

use super::view::{Explain, Wait};
use crate::kernel::{
    resident::{
        Body,
        admission::Seat,
        source::{Origin, Source},
    },
    state::shared::Shared,
};

impl Body {
    pub(crate) fn explain(&self, at: &Shared) -> Explain {
        let mut waits = Vec::new();
        if let Some(reason) = self.tip.as_ref().and_then(|tip| tip.parked.clone()) {
            waits.push(Wait::Parked(reason));
        }
        waits.extend(self.running.iter().map(|running| Wait::Work(running.work.id.clone())));
        waits.extend(self.listed.iter().filter(|work| !self.runs(work)).map(|work| Wait::Listed(work.id.clone())));
        waits.extend(self.tip.as_ref().and_then(|tip| tip.alarm).map(Wait::Alarm));
        let held_back = match self.seat {
            Seat::HeldBack => Some(Wait::HeldBack),
            Seat::InLine => Some(Wait::InLine),
            _ => None,
        };
        waits.extend(held_back);
        waits.extend((self.letters_held > 0).then_some(Wait::HeldMessages(self.letters_held)));
        let letters = self.letters_queued();
        waits.extend((letters > 0).then_some(Wait::Inbox(letters)));
        let calls = self.queue.iter().filter(|source| matches!(source, Source::Call(_))).count();
        waits.extend((calls > 0).then_some(Wait::Calls(calls)));
        waits.extend((!self.held.is_empty()).then_some(Wait::Callers(self.held.len())));
        waits.extend((!self.chain.is_empty() || self.flying.is_some()).then_some(Wait::Commit));
        if waits.is_empty() {
            let stuck =
                self.tip.as_ref().is_some_and(crate::Entity::wants_wake) && self.ends.is_empty() && !self.relist;
            waits.push(if stuck && !at.is_closing() { Wait::Stuck } else { Wait::Rest });
        }
        let status = self.tip.as_ref().map(|tip| tip.status.word.to_string());
        let definition = self.tip.as_ref().map(|tip| tip.definition.clone());
        Explain { key: self.key.clone(), definition, status, waits }
    }

    fn runs(&self, work: &crate::Work) -> bool {
        let same = |other: &crate::Work| other.id == work.id && other.attempt == work.attempt;
        self.running.iter().any(|running| matches!(running.origin, Origin::Listed) && same(&running.work))
    }
}
