//! The work that should run, as the handler lists it: asked once when a visit ends, for all turns of the
//! visit.

use super::{
    Resident,
    parts::{chain::Link, work_set::Judgement},
    source::Source,
    turn::guarded,
};
use crate::{Needed, Parked, Work, kernel::state::shared::Shared, planted::Bug};

impl Resident {
    /// Asks for the work list if a turn was taken since the last list, the entity was loaded, or another
    /// loop requested it.
    pub(crate) fn list_if_due(&mut self, at: &Shared) {
        if (self.work.is_to_list() || self.is_to_be_cleared())
            && self.is_warm
            && self.admission.may_run()
            && !self.is_parked()
        {
            self.list(at);
        }
    }

    /// Whether crashes are held against the entity and nothing is left to do. The last input in the queue
    /// need not have led to a listing: it may have been a call that only reads, or a call that was refused.
    /// Without this check the list would not be asked for again, and the entity would keep its count and
    /// its place in the window (W2).
    fn is_to_be_cleared(&self) -> bool {
        let has_work = self.tip.as_ref().is_some_and(|tip| tip.active);
        self.is_doubted() && !has_work && !self.is_waiting()
    }

    /// Whether an input waits for a turn that may lead to work.
    fn is_waiting(&self) -> bool {
        !self.queue.is_empty() || self.inputs.has_rung()
    }

    /// Whether crashes are held against the entity.
    pub(crate) fn is_doubted(&self) -> bool {
        self.tip.as_ref().is_some_and(|tip| !tip.crashes.is_none())
    }

    /// Whether the rows that a listing asked for are here. Then the listing comes before the next turn,
    /// which might change these rows.
    pub(crate) fn list_was_read_for(&self) -> bool {
        self.work.is_to_list() && self.reads.has_pages()
    }

    /// Whether calls wait for the list: work that goes first may be in it (W6).
    pub(crate) fn is_to_list_first(&self) -> bool {
        self.work.is_to_list() && self.work.may_have_left() && !self.queue.is_empty()
    }

    pub(crate) fn list(&mut self, at: &Shared) {
        self.work.list_was_requested();
        let Some(tip) = &self.tip else { return self.set_listed(Vec::new()) };
        let Ok(definition) = at.registry.get(&tip.definition).cloned() else {
            return self.park(Parked::Unregistered, at);
        };
        let (rows, now) = (self.rows(), at.time.now());
        match guarded(|| definition.handler.work(&mut self.hot, tip, &rows, now)) {
            Ok(Needed::Ready(listed)) => self.listed_anew(listed, at),
            Ok(Needed::Read(ranges)) => {
                self.work.request_list();
                self.taken_for_active(at);
                // A turn may wait for rows of its own; its read goes first.
                if !self.reads.wants_rows() {
                    self.read_rows_for(Source::Kernel, ranges);
                }
            }
            Err(message) => self.park(Parked::Poisoned(format!("listing its work panicked: {message}")), at),
        }
    }

    /// Marks the entity as active. Its commits do not wait for the rows that the listing reads, and until
    /// the list is known the entity may have work.
    fn taken_for_active(&mut self, at: &Shared) {
        if self.tip.as_ref().is_some_and(|tip| !tip.active) {
            self.stack_own(at, Link::kernel(), |entity| entity.active = true);
        }
    }

    fn listed_anew(&mut self, listed: Vec<Work>, at: &Shared) {
        self.work.listed_anew(&listed);
        let (is_doubted, is_waiting) = (self.is_doubted(), self.is_waiting());
        let (active, judgement) = (!listed.is_empty(), self.work.judge(&listed, is_doubted, is_waiting));
        self.reads.drop_pages();
        if judgement != Judgement::Open || self.is_to_be_said(active, at) {
            self.stack_own(at, Link::kernel(), |entity| {
                entity.active = active;
                judgement.apply(entity);
            });
        }
        self.set_listed(listed);
    }

    /// Whether `active` changed and must be stored. Work that is due by the clock alone is found by its
    /// alarm, so no commit is made for it.
    fn is_to_be_said(&self, active: bool, at: &Shared) -> bool {
        let Some(tip) = self.tip.as_ref().filter(|tip| tip.active != active) else { return false };
        let is_due = tip.alarm.is_some_and(|alarm| alarm <= at.time.now());
        self.commits.chain().writes() || !(active && is_due)
    }

    fn set_listed(&mut self, listed: Vec<Work>) {
        if Bug::WorkBeforeCommit.planted() {
            self.work.set_listed(listed.clone());
        }
        if let Some(listed) = self.commits.keep_list(listed) {
            self.work.set_listed(listed);
        }
    }
}
