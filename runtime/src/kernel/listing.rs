//! What should run, by the handler's word: asked once when a visit ends, for all turns that it took.

use super::{body::Body, chain::Link, seating::ONE_AT_A_TIME, shared::Shared, source::Source, turning::guarded};
use crate::{Crashes, Entity, Needed, Parked, Work, WorkId, planted::Bug};

/// What a listing says of the crashes that are counted (W2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Nothing.
    None,
    /// What has ended is not what kills; the next piece is judged by what happens while it runs.
    NextOne,
    /// The entity is cleared of them.
    Forgiven,
}

impl Body {
    /// Asks for the work list, if a turn was taken since, the entity was loaded, or somebody doubts it.
    pub(crate) fn list_if_due(&mut self, at: &Shared) {
        if (self.relist || self.is_to_be_cleared()) && self.is_warm && self.seat.is_taken() && !self.is_parked() {
            self.list(at);
        }
    }

    /// Whether crashes are held against it and nothing is left to do. What was last in its queue need not have been a turn that lists: a
    /// call that only reads, or that was refused. Nobody would ask again, and it would keep its count and its place in the window (W2).
    fn is_to_be_cleared(&self) -> bool {
        let has_work = self.tip.as_ref().is_some_and(|tip| tip.active);
        self.is_doubted() && !has_work && self.queue.is_empty() && !self.alarm_is_due
    }

    /// Whether crashes are held against the entity.
    pub(crate) fn is_doubted(&self) -> bool {
        self.tip.as_ref().is_some_and(|tip| !tip.crashes.is_none())
    }

    /// Whether rows that it asked for are here: then it comes before the next turn, which might change them.
    pub(crate) fn list_was_read_for(&self) -> bool {
        self.relist && !self.pages.is_empty()
    }

    /// Whether calls wait until it is known what should run: work that goes first may be among it (W6).
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
                // A turn may wait for rows of its own; it goes first.
                if self.wanted_rows.is_empty() {
                    self.read_rows_for(Source::Kernel, ranges);
                }
            }
            Err(message) => self.park(Parked::Poisoned(format!("listing its work panicked: {message}")), at),
        }
    }

    /// Its commits do not wait for the rows that are read to list its work: until that is known, it may have some.
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

    /// Whether it is news that it has work, or none. Work that is there because time has passed is found by its alarm, and no
    /// commit is made for it.
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

    /// It is durable that this should run.
    pub(crate) fn now_listed(&mut self, listed: Vec<Work>) {
        self.listed = listed;
        self.is_tended = false;
    }

    /// What happened clears the entity of its crashes (W2) if nothing is listed any more, or if a piece has ended and none is
    /// left of those that may have caused them. That another has ended says nothing of one that has not: work goes on one
    /// piece at a time.
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
