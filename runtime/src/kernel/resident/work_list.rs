//! The work that should run, as the handler lists it: asked once when a visit ends, for all turns of the
//! visit.

use super::{Body, admission::ONE_AT_A_TIME, chain::Link, source::Source, turn::guarded};
use crate::{Crashes, Entity, Needed, Parked, Work, WorkId, kernel::state::shared::Shared, planted::Bug};

/// What a listing means for the crashes that are held against the entity (W2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// No change.
    None,
    /// The work that has ended does not kill the process. The next piece is judged while it runs.
    NextOne,
    /// The entity is cleared.
    Forgiven,
}

impl Body {
    /// Asks for the work list if a turn was taken since the last list, the entity was loaded, or another
    /// loop requested it.
    pub(crate) fn list_if_due(&mut self, at: &Shared) {
        if (self.relist || self.is_to_be_cleared()) && self.is_warm && self.seat.is_taken() && !self.is_parked() {
            self.list(at);
        }
    }

    /// Whether crashes are held against the entity and nothing is left to do. The last input in the queue
    /// need not have led to a listing: it may have been a call that only reads, or a call that was refused.
    /// Without this check the list would not be asked for again, and the entity would keep its count and
    /// its place in the window (W2).
    fn is_to_be_cleared(&self) -> bool {
        let has_work = self.tip.as_ref().is_some_and(|tip| tip.active);
        self.is_doubted() && !has_work && self.queue.is_empty() && !self.alarm_is_due
    }

    /// Whether crashes are held against the entity.
    pub(crate) fn is_doubted(&self) -> bool {
        self.tip.as_ref().is_some_and(|tip| !tip.crashes.is_none())
    }

    /// Whether the rows that a listing asked for are here. Then the listing comes before the next turn,
    /// which might change these rows.
    pub(crate) fn list_was_read_for(&self) -> bool {
        self.relist && !self.pages.is_empty()
    }

    /// Whether calls wait for the list: work that goes first may be in it (W6).
    pub(crate) fn is_to_list_first(&self) -> bool {
        self.relist && self.may_have_left && !self.queue.is_empty()
    }

    pub(crate) fn list(&mut self, at: &Shared) {
        self.relist = false;
        let Some(tip) = &self.tip else { return self.set_listed(Vec::new()) };
        let Ok(definition) = at.registry.get(&tip.definition).cloned() else {
            return self.park(Parked::Unregistered, at);
        };
        let (rows, now) = (self.rows(), at.time.now());
        match guarded(|| definition.handler.work(&mut self.hot, tip, &rows, now)) {
            Ok(Needed::Ready(listed)) => self.listed_anew(listed, at),
            Ok(Needed::Read(ranges)) => {
                self.relist = true;
                self.taken_for_active(at);
                // A turn may wait for rows of its own; its read goes first.
                if self.wanted_rows.is_empty() {
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
        self.may_have_left &= listed.iter().any(|work| work.goes_first);
        let (active, verdict) = (!listed.is_empty(), self.judge(&listed));
        self.pages.clear();
        if verdict != Verdict::None || self.is_to_be_said(active, at) {
            self.stack_own(at, Link::kernel(), |entity| {
                entity.active = active;
                verdict.apply(entity);
            });
        }
        self.set_listed(listed);
    }

    /// Whether `active` changed and must be stored. Work that is due by the clock alone is found by its
    /// alarm, so no commit is made for it.
    fn is_to_be_said(&self, active: bool, at: &Shared) -> bool {
        let Some(tip) = self.tip.as_ref().filter(|tip| tip.active != active) else { return false };
        let is_due = tip.alarm.is_some_and(|alarm| alarm <= at.time.now());
        self.chain.writes() || !(active && is_due)
    }

    fn set_listed(&mut self, listed: Vec<Work>) {
        if Bug::WorkBeforeCommit.planted() {
            self.now_listed(listed.clone());
        }
        if !self.chain.is_empty() {
            self.chain.listed = Some(listed);
        } else if let Some((flying, _)) = &mut self.flying {
            flying.listed = Some(listed);
        } else {
            self.now_listed(listed);
        }
    }

    /// Sets the work that should run, now that the list is durable.
    pub(crate) fn now_listed(&mut self, listed: Vec<Work>) {
        self.listed = listed;
        self.is_tended = false;
    }

    /// Judges the crashes that are held against the entity (W2). The entity is cleared if nothing is listed
    /// any more, or if a piece has ended and no doubted piece is left. The end of one piece does not clear
    /// a piece that has not ended: work continues one piece at a time.
    fn judge(&mut self, listed: &[Work]) -> Verdict {
        let ended = std::mem::take(&mut self.ended);
        if !self.is_doubted() {
            return Verdict::None;
        }
        let doubted = self.doubted.get_or_insert_with(|| listed.iter().map(|work| work.id.clone()).collect());
        if ended.is_empty() {
            let nothing_to_do = listed.is_empty() && self.queue.is_empty() && !self.alarm_is_due;
            return if nothing_to_do { Verdict::Forgiven } else { Verdict::None };
        }
        let goes_on = |id: &WorkId| listed.iter().any(|work| work.id == *id);
        doubted.retain(|id| goes_on(id) && !ended.contains(id));
        if doubted.is_empty() { Verdict::Forgiven } else { Verdict::NextOne }
    }
}

impl Verdict {
    fn apply(self, entity: &mut Entity) {
        match self {
            Self::None => {}
            Self::NextOne => (entity.crashes, entity.suspect) = (entity.crashes.at_most(ONE_AT_A_TIME), None),
            Self::Forgiven => (entity.crashes, entity.suspect) = (Crashes::NONE, None),
        }
    }
}
