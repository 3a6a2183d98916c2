//! Explains to a person what a key waits for (E14, R7).

use super::Resident;
use crate::{
    Entity, Work,
    kernel::{
        api::view::{Explain, Wait},
        state::shared::Shared,
    },
};

impl Resident {
    pub(crate) fn explain(&self, at: &Shared) -> Explain {
        let mut waits = Vec::new();
        if let Some(reason) = self.tip.as_ref().and_then(|tip| tip.parked.clone()) {
            waits.push(Wait::Parked(reason));
        }
        waits.extend(self.work.running().iter().map(|running| Wait::Work(running.work.id.clone())));
        waits.extend(
            self.work.listed().iter().filter(|work| !self.runs(work)).map(|work| Wait::Listed(work.id.clone())),
        );
        waits.extend(self.tip.as_ref().and_then(|tip| tip.alarm).map(Wait::Alarm));
        waits.extend(self.admission.is_held_back().then_some(Wait::HeldBack));
        waits.extend(self.admission.is_in_line().then_some(Wait::InLine));
        let held = self.inbox.held();
        waits.extend((held > 0).then_some(Wait::HeldMessages(held)));
        let letters = self.queue.message_count();
        waits.extend((letters > 0).then_some(Wait::Inbox(letters)));
        let calls = self.queue.call_count();
        waits.extend((calls > 0).then_some(Wait::Calls(calls)));
        let callers = self.callers.held().len();
        waits.extend((callers > 0).then_some(Wait::Callers(callers)));
        waits.extend((!self.commits.is_empty()).then_some(Wait::Commit));
        if waits.is_empty() {
            let wants_wake = self.tip.as_ref().is_some_and(Entity::wants_wake);
            let stuck = wants_wake && !self.inputs.has_ends() && !self.work.is_to_list();
            waits.push(if stuck && !at.is_closing() { Wait::Stuck } else { Wait::Rest });
        }
        let status = self.tip.as_ref().map(|tip| tip.status.word.to_string());
        let definition = self.tip.as_ref().map(|tip| tip.definition.clone());
        Explain { key: self.key.clone(), definition, status, waits }
    }

    fn runs(&self, work: &Work) -> bool {
        self.work.running_listed().any(|other| other.id == work.id && other.attempt == work.attempt)
    }
}
