//! The work of one entity: running pieces, listed pieces, and pieces that are doubted after a crash.

use std::collections::BTreeSet;

use super::{
    super::{source::Origin, work::Running},
    admission::ONE_AT_A_TIME,
};
use crate::{Borrow, Crashes, Entity, Work, WorkId, kernel::util::sparse::Sparse};

/// Running and listed work. The handler lists the work that should run; the list counts once
/// its commit is durable.
#[derive(Debug)]
pub(crate) struct WorkSet {
    running: Vec<Running>,
    /// Work that should run, as of the last durable commit.
    listed: Vec<Work>,
    /// The handler must be asked which work should run: a turn was taken, the entity was loaded, or another
    /// loop requested it.
    is_to_list: bool,
    /// All of `listed` was started, and no new list has come since.
    is_tended: bool,
    /// Work that was listed when the entity was first listed after a crash and that has not ended since:
    /// one of these pieces may have killed the process. `None` until the first list.
    doubted: Option<BTreeSet<WorkId>>,
    /// Pieces of work that ended since the last list.
    ended: Vec<WorkId>,
    /// Whether a call was the last to borrow the struct exclusively. If so, listed work goes next (E3).
    calls_went_last: bool,
    /// Whether the entity had work when it was read, and the list may hold a piece that goes first. The
    /// transaction of such a piece may have left a state that the entity has not taken yet (W6). If a call
    /// changed the struct before that, the state would overwrite the change.
    may_have_left: bool,
}

impl Default for WorkSet {
    fn default() -> Self {
        Self {
            running: Vec::new(),
            listed: Vec::new(),
            is_to_list: false,
            is_tended: true,
            doubted: None,
            ended: Vec::new(),
            calls_went_last: false,
            may_have_left: false,
        }
    }
}

// Running work.
impl WorkSet {
    pub(crate) fn running(&self) -> &[Running] {
        &self.running
    }

    pub(crate) fn is_running(&self) -> bool {
        !self.running.is_empty()
    }

    pub(crate) fn find(&self, run: u64) -> Option<&Running> {
        self.running.iter().find(|running| running.run == run)
    }

    /// Adds a piece that was started.
    pub(crate) fn add(&mut self, running: Running) {
        if running.work.borrow == Borrow::Exclusive {
            self.struct_was_lent(matches!(running.origin, Origin::Listed));
        }
        self.running.add(running);
    }

    /// Notes who borrowed the struct last. After a listed piece has borrowed the struct, no piece goes first
    /// any more.
    fn struct_was_lent(&mut self, to_listed: bool) {
        self.calls_went_last = !to_listed;
        self.may_have_left &= self.calls_went_last;
    }

    /// Takes out a piece that has ended.
    pub(crate) fn take(&mut self, run: u64) -> Option<Running> {
        let index = self.running.iter().position(|running| running.run == run)?;
        Some(self.running.swap_remove(index))
    }

    /// Takes out everything that runs.
    pub(crate) fn take_running(&mut self) -> Vec<Running> {
        std::mem::take(&mut self.running)
    }

    /// Takes out the code that callers run.
    pub(crate) fn take_called(&mut self) -> Vec<Running> {
        let is_called = |running: &mut Running| matches!(running.origin, Origin::Call(_) | Origin::Read(_));
        self.running.extract_if(.., is_called).collect()
    }

    /// Drops listed work: the entity is parked.
    pub(crate) fn drop_listed(&mut self) {
        self.running.retain(|running| !matches!(running.origin, Origin::Listed));
    }

    /// Drops running work that is no longer listed.
    pub(crate) fn drop_unlisted(&mut self) {
        if self.running.is_empty() {
            return;
        }
        let listed = Named::of(self.listed.iter());
        self.running.retain(|running| !matches!(running.origin, Origin::Listed) || listed.has(&running.work));
    }

    /// Whether listed work runs.
    pub(crate) fn runs_listed(&self) -> bool {
        self.running_listed().next().is_some()
    }

    pub(crate) fn running_listed(&self) -> impl Iterator<Item = &Work> {
        self.running.iter().filter(|running| matches!(running.origin, Origin::Listed)).map(|running| &running.work)
    }

    /// Whether code runs that borrows the struct exclusively.
    pub(crate) fn runs_exclusively(&self) -> bool {
        self.running.iter().any(|running| running.work.borrow == Borrow::Exclusive)
    }
}

// Listed work.
impl WorkSet {
    pub(crate) fn listed(&self) -> &[Work] {
        &self.listed
    }

    /// Has the handler asked for the list.
    pub(crate) fn request_list(&mut self) {
        self.is_to_list = true;
    }

    pub(crate) fn is_to_list(&self) -> bool {
        self.is_to_list
    }

    /// Notes that the handler is asked for the list now, or will not be asked.
    pub(crate) fn list_was_requested(&mut self) {
        self.is_to_list = false;
    }

    /// Sets the work that should run, now that the list is durable.
    pub(crate) fn set_listed(&mut self, listed: Vec<Work>) {
        self.listed = listed;
        self.is_tended = false;
    }

    /// Whether listed work may have to be started or dropped. While a new list is due, the current list may
    /// name work that has ended.
    pub(crate) fn is_to_tend(&self) -> bool {
        !self.is_to_list && !self.is_tended
    }

    /// Notes whether all listed work was started.
    pub(crate) fn set_tended(&mut self, is_tended: bool) {
        self.is_tended = is_tended;
    }

    /// Returns work that is listed and not `under_way`. If a `later` list is on its way with a commit, work
    /// missing from that list is left out: it has ended, or is not wanted any more.
    pub(crate) fn to_start<'a>(
        &'a self,
        ending: impl Iterator<Item = &'a Work>,
        later: Option<&'a Vec<Work>>,
    ) -> Vec<Work> {
        if self.listed.is_empty() {
            return Vec::new();
        }
        let under_way = Named::of(self.running_listed().chain(ending));
        let later = later.map(|later| Named::of(later.iter()));
        let is_new = |work: &&Work| !under_way.has(work) && later.as_ref().is_none_or(|later| later.has(work));
        self.listed.iter().filter(is_new).cloned().collect()
    }

    /// Notes that the entity was loaded. If it had work, the list is asked for.
    pub(crate) fn entity_loaded(&mut self, has_work: bool) {
        self.may_have_left = has_work;
        self.is_to_list |= has_work;
    }

    /// Whether work may go first, because it may have left a state (W6).
    pub(crate) fn may_have_left(&self) -> bool {
        self.may_have_left
    }

    /// Notes a new list: only work that goes first may have left a state.
    pub(crate) fn listed_anew(&mut self, listed: &[Work]) {
        self.may_have_left &= listed.iter().any(|work| work.goes_first);
    }

    /// Notes that the turn of a call changed the struct.
    pub(crate) fn call_changed_struct(&mut self) {
        self.calls_went_last = true;
    }

    pub(crate) fn calls_went_last(&self) -> bool {
        self.calls_went_last
    }

    /// Forgets the list, and the ends since: the entity is read again. Returns the code that runs.
    pub(crate) fn forget(&mut self) -> Vec<Running> {
        self.set_listed(Vec::new());
        self.ended.clear();
        self.take_running()
    }
}

/// What a listing means for the crashes that are held against the entity (W2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// No change.
    Open,
    /// The work that has ended does not kill the process. The next piece is judged while it runs.
    NextOne,
    /// The entity is cleared.
    Cleared,
}

impl Judgement {
    pub(crate) fn apply(self, entity: &mut Entity) {
        match self {
            Self::Open => {}
            Self::NextOne => (entity.crashes, entity.suspect) = (entity.crashes.at_most(ONE_AT_A_TIME), None),
            Self::Cleared => (entity.crashes, entity.suspect) = (Crashes::NONE, None),
        }
    }
}

// Judging crashes.
impl WorkSet {
    /// Notes the end of a piece, for the next [`judge`](Self::judge).
    pub(crate) fn note_end(&mut self, id: WorkId) {
        self.ended.push(id);
    }

    /// Judges the crashes that are held against the entity (W2). The entity is cleared if nothing is listed
    /// any more, or if a piece has ended and no doubted piece is left. The end of one piece does not clear
    /// a piece that has not ended: work continues one piece at a time.
    ///
    /// `is_doubted`: crashes are held against the entity. `is_waiting`: an input waits for a turn.
    pub(crate) fn judge(&mut self, listed: &[Work], is_doubted: bool, is_waiting: bool) -> Judgement {
        let ended = std::mem::take(&mut self.ended);
        if !is_doubted {
            return Judgement::Open;
        }
        let doubted = self.doubted.get_or_insert_with(|| listed.iter().map(|work| work.id.clone()).collect());
        if ended.is_empty() {
            let has_nothing_to_do = listed.is_empty() && !is_waiting;
            return if has_nothing_to_do { Judgement::Cleared } else { Judgement::Open };
        }
        let continues = |id: &WorkId| listed.iter().any(|work| work.id == *id);
        doubted.retain(|id| continues(id) && !ended.contains(id));
        if doubted.is_empty() { Judgement::Cleared } else { Judgement::NextOne }
    }
}

/// Pieces of work by id and attempt, sorted. An entity may list a thousand pieces and is tended after every
/// batch, so a linear search would be slow. Most entities list one piece, for which a set would cost too
/// much.
struct Named<'a>(Vec<(&'a WorkId, u32)>);

impl<'a> Named<'a> {
    fn of(work: impl Iterator<Item = &'a Work>) -> Self {
        let mut named: Vec<_> = work.map(named).collect();
        named.sort_unstable();
        Self(named)
    }

    fn has(&self, work: &Work) -> bool {
        self.0.binary_search(&named(work)).is_ok()
    }
}

fn named(work: &Work) -> (&WorkId, u32) {
    (&work.id, work.attempt)
}

#[cfg(test)]
mod tests {
    use super::{super::samples::work, *};

    fn some(ids: &[&'static str]) -> Vec<Work> {
        ids.iter().map(|id| work(id, Borrow::None)).collect()
    }

    fn ids(work: &[Work]) -> Vec<&str> {
        work.iter().map(|work| work.id.as_str()).collect()
    }

    #[test]
    fn work_is_started_unless_it_is_under_way_or_no_longer_wanted() {
        let mut set = WorkSet::default();
        set.set_listed(some(&["a", "b", "c"]));
        assert!(set.is_to_tend());
        let (ending, later) = (some(&["b"]), some(&["b", "c"]));
        assert_eq!(ids(&set.to_start(ending.iter(), Some(&later))), ["c"]);
        assert_eq!(ids(&set.to_start(ending.iter(), None)), ["a", "c"]);
        let next = Work { attempt: 2, ..ending[0].clone() };
        assert_eq!(ids(&set.to_start([&next].into_iter(), None)), ["a", "b", "c"], "another attempt is other work");
    }

    #[test]
    fn nothing_is_started_while_a_new_list_is_due() {
        let mut set = WorkSet::default();
        assert!(!set.is_to_tend());
        set.set_listed(some(&["a"]));
        set.request_list();
        assert!(!set.is_to_tend());
        set.list_was_requested();
        assert!(set.is_to_tend());
        set.set_tended(true);
        assert!(!set.is_to_tend());
    }

    /// W2
    #[test]
    fn the_end_of_one_piece_does_not_clear_another() {
        let mut set = WorkSet::default();
        assert_eq!(set.judge(&some(&["a", "b"]), true, false), Judgement::Open);
        set.note_end(WorkId::new("a"));
        assert_eq!(set.judge(&some(&["b"]), true, false), Judgement::NextOne);
        set.note_end(WorkId::new("b"));
        assert_eq!(set.judge(&some(&["c"]), true, false), Judgement::Cleared);
    }

    /// W2
    #[test]
    fn an_entity_that_waits_for_nothing_is_cleared() {
        let mut set = WorkSet::default();
        assert_eq!(set.judge(&[], true, true), Judgement::Open);
        assert_eq!(set.judge(&[], false, false), Judgement::Open);
        assert_eq!(set.judge(&[], true, false), Judgement::Cleared);
    }

    /// W6
    #[test]
    fn only_work_that_goes_first_may_have_left_a_state() {
        let mut set = WorkSet::default();
        set.entity_loaded(true);
        assert!(set.may_have_left() && set.is_to_list());
        let first = Work { goes_first: true, ..work("a", Borrow::Exclusive) };
        set.listed_anew(&[first]);
        assert!(set.may_have_left());
        set.listed_anew(&some(&["b"]));
        assert!(!set.may_have_left());
    }

    /// E3, W6
    #[test]
    fn listed_work_and_calls_borrow_the_struct_alternately() {
        let mut set = WorkSet::default();
        set.entity_loaded(true);
        set.struct_was_lent(false);
        assert!(set.calls_went_last() && set.may_have_left());
        set.struct_was_lent(true);
        assert!(!set.calls_went_last() && !set.may_have_left());
        set.call_changed_struct();
        assert!(set.calls_went_last());
    }
}
