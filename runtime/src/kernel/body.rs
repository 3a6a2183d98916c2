//! One entity in memory: its record, its turns on the way to the store, its inputs, its running work.
//!
//! A body belongs to one hand at a time, so nothing here locks. The files beside this one each add one verb to
//! it: `turning`, `stacking`, `settling`, `working`, `reading`, `letters`, `seating`. [`Body::step`] is the
//! order in which they happen.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use super::{
    chain::Chain,
    effects::{Effects, Ring},
    lease::Held,
    mail::{Asker, Mail},
    pages::Page,
    pending::Pending,
    seating::Seat,
    shared::Shared,
    source::{End, Origin, Source},
    sparse::Sparse,
    working::Running,
};
use crate::{
    Borrow, Entity, Error, Hot, Key, MessageId, Name, Parked, Range, Ticket, Version, Work, WorkId, store::Letter,
};

pub(crate) struct Body {
    pub(crate) key: Key,
    pub(crate) lease: Arc<Held>,
    /// Whether `committed` was read, or made, since this body is here.
    pub(crate) is_warm: bool,
    /// The entity as the store has it.
    pub(crate) committed: Option<Entity>,
    /// The entity after the last turn.
    pub(crate) tip: Option<Entity>,
    pub(crate) hot: Hot,
    /// Turns that wait for the writer.
    pub(crate) chain: Chain,
    /// Turns that are with the writer, and the entity after them.
    pub(crate) flying: Option<(Chain, Option<Entity>)>,

    pub(crate) ends: VecDeque<End>,
    pub(crate) alarm_is_due: bool,
    pub(crate) gone: VecDeque<Ticket>,
    /// Calls and messages, in order of arrival.
    pub(crate) queue: VecDeque<Source>,
    pub(crate) reads: VecDeque<Pending>,
    /// The work list must be asked for: a turn was taken, the entity was loaded, or somebody doubts it.
    pub(crate) relist: bool,

    /// Callers who wait for an answer that a later commit gives.
    pub(crate) held: Vec<(Name, Pending)>,
    pub(crate) running: Vec<Running>,
    /// What should run, as of what is durable.
    pub(crate) listed: Vec<Work>,
    /// All of it was started, and nothing was listed since.
    pub(crate) is_tended: bool,
    /// Work that was listed when the entity was taken up after a crash, and has not ended since: one of it may be what
    /// killed the process. `None` until it was listed.
    pub(crate) doubted: Option<BTreeSet<WorkId>>,
    /// Pieces that have ended since work was last listed.
    pub(crate) ended: Vec<WorkId>,
    /// Whether the last piece that borrowed exclusively was a call's: then listed work goes first.
    pub(crate) calls_went_last: bool,
    /// Whether the entity was read while it had work, and its list may have a piece that goes first. The transaction of such a
    /// piece may have left a state that is not taken yet (W6): a call that changed the struct now would be undone by it.
    pub(crate) may_have_left: bool,

    /// What must be read; sent off when the visit ends.
    pub(crate) is_reading: bool,
    /// The number of the read that is under way.
    pub(crate) reading: u64,
    /// The version of `committed` when the record was last asked for.
    pub(crate) asked_at: Option<Version>,
    pub(crate) wanted_rows: Vec<Range>,
    /// Rows that were read for the turn that waits for them.
    pub(crate) pages: Vec<Page>,
    /// The takeover after which the inbox was last read; letters wait until that is the last one.
    pub(crate) inbox_read: Option<u64>,
    /// The inbox may hold more than is queued here.
    pub(crate) inbox_has_more: bool,
    /// Something came that is not queued, since the inbox was last asked for.
    pub(crate) inbox_missed: bool,
    /// It is being read for what was missed: calls wait for that, so that they find it done (M2).
    pub(crate) inbox_awaited: bool,
    /// The takeover after which it was asked for, and from where on.
    pub(crate) inbox_asked: u64,
    pub(crate) inbox_after: Option<MessageId>,
    /// How many of those that were last read from the inbox are held.
    pub(crate) letters_held: usize,
    /// Letters whose code is not pure.
    pub(crate) impure_letters: BTreeSet<MessageId>,

    pub(crate) seat: Seat,
    /// The process has lived through its control.
    pub(crate) is_controlled: bool,
    /// Messages that were held and are to be tried again.
    pub(crate) to_release: Vec<Letter>,
    /// How often turns that nobody waits for failed in a row.
    pub(crate) failures: u32,
    /// Inputs whose turn failed, and when they are tried again.
    pub(crate) later: Vec<(Duration, Source)>,
    /// The store refused the last chain for a reason that is ours: to be parked when it is read again.
    pub(crate) refused_by_store: Option<Parked>,
    /// Who wants to know what it waits for.
    pub(crate) askers: Vec<Asker>,
}

impl Body {
    pub(crate) fn cold(key: Key, lease: Arc<Held>) -> Self {
        Self {
            key,
            lease,
            is_warm: false,
            committed: None,
            tip: None,
            hot: Hot::default(),
            chain: Chain::default(),
            flying: None,
            ends: VecDeque::new(),
            alarm_is_due: false,
            gone: VecDeque::new(),
            queue: VecDeque::new(),
            reads: VecDeque::new(),
            relist: false,
            held: Vec::new(),
            running: Vec::new(),
            listed: Vec::new(),
            is_tended: true,
            doubted: None,
            ended: Vec::new(),
            calls_went_last: false,
            may_have_left: false,
            is_reading: false,
            reading: 0,
            asked_at: None,
            wanted_rows: Vec::new(),
            pages: Vec::new(),
            inbox_read: None,
            inbox_has_more: false,
            inbox_missed: false,
            inbox_awaited: false,
            inbox_asked: 0,
            inbox_after: None,
            letters_held: 0,
            impure_letters: BTreeSet::new(),
            seat: Seat::Unasked,
            is_controlled: false,
            to_release: Vec::new(),
            failures: 0,
            later: Vec::new(),
            refused_by_store: None,
            askers: Vec::new(),
        }
    }

    /// Takes in what has arrived, in order. What rang comes last: code whose end is here has ended in time, however long ago that was.
    pub(crate) fn receive(&mut self, mail: Vec<Mail>, at: &Shared, out: &mut Effects) {
        let mut rings = Vec::new();
        for item in mail {
            match item {
                Mail::Call(pending) if pending.borrow == Borrow::Shared => self.reads.add(pending),
                Mail::Call(pending) => self.queue.add(Source::Call(pending)),
                Mail::Letter(letter) => self.queue_letter(letter),
                Mail::Look => self.look(),
                Mail::Alarm => self.alarm_is_due = true,
                Mail::Woken(entity) => self.warm_up(entity, at),
                Mail::Relist => self.relist = true,
                Mail::Ended { run, work, outcome } => self.work_ended(run, work, outcome, at, out),
                Mail::Rang(ring) => rings.push(ring),
                Mail::Gone(ticket) => self.caller_left(ticket),
                Mail::Unheard(ticket) => self.gone.push_back(ticket),
                // One that was asked for before all was forgotten says nothing any more.
                Mail::Found(read, reads, found) if read == self.reading => self.found(reads, found, at, out),
                Mail::Found(..) => {}
                Mail::Settled(version, verdict) => self.settle(version, verdict, at, out),
                Mail::Release(letters) => self.to_release.extend(letters),
                Mail::Explain(asker) => self.askers.push(asker),
            }
        }
        rings.into_iter().for_each(|ring| self.rang(ring, at, out));
    }

    /// Does the next thing, if there is one to do now. The order is the law: what ends and what is due first,
    /// then calls and messages as they came.
    pub(crate) fn step(&mut self, at: &Shared, out: &mut Effects) -> bool {
        if !self.is_warm {
            self.read_inbox(at, out);
            return false;
        }
        if !self.to_release.is_empty() && !self.chain.closed {
            self.release_letters(at);
        }
        if !self.is_seated(at, out) {
            return false;
        }
        if self.is_parked() {
            return self.turn_away(at, out);
        }
        if self.serve_read(at, out) {
            return true;
        }
        if !self.may_turn() {
            return false;
        }
        if self.list_was_read_for() || self.is_to_list_first() {
            self.list(at);
            return true;
        }
        let Some(source) = self.next_source(at, out) else { return false };
        self.turn(source, at, out);
        true
    }

    /// Whether a turn can be taken at all before something else has come.
    pub(crate) fn may_turn(&self) -> bool {
        // While its end is on the way nothing is asked of it: the next turn is of whatever comes after (E8).
        let is_ending = self.flying.as_ref().is_some_and(|(flying, _)| flying.destroys);
        let waits = self.chain.closed || is_ending || !self.wanted_rows.is_empty();
        self.is_warm && self.seat.is_taken() && !self.is_parked() && !waits
    }

    /// Whether the end of a piece of work can be taken in now.
    pub(crate) fn has_ends(&self) -> bool {
        !self.ends.is_empty() && self.may_turn()
    }

    fn next_source(&mut self, at: &Shared, out: &mut Effects) -> Option<Source> {
        if let Some(reason) = self.refused_by_store.take() {
            self.park(reason, at);
            return None;
        }
        if self.definition_changed(at) {
            return Some(Source::Changed);
        }
        if let Some(end) = self.ends.pop_front() {
            return Some(Source::End(end));
        }
        if at.is_closing() {
            // Ends of work are still taken; nothing new begins (R2).
            self.send_away(out);
            return None;
        }
        if let Some(source) = self.due_again(at) {
            return Some(source);
        }
        if let Some(due) = self.alarm_now(at, out) {
            return Some(Source::Alarm(due));
        }
        if let Some(ticket) = self.gone.pop_front() {
            return Some(Source::Gone(ticket));
        }
        self.pick(at, out)
    }

    /// The alarm, if it is due; a stale wake-up does nothing (A7).
    fn alarm_now(&mut self, at: &Shared, out: &mut Effects) -> Option<crate::Millis> {
        if !std::mem::take(&mut self.alarm_is_due)
            || self.later.iter().any(|(_, source)| matches!(source, Source::Alarm(_)))
        {
            return None;
        }
        let due = self.tip.as_ref()?.alarm.filter(|due| *due <= at.time.now())?;
        out.rung += 1;
        Some(due)
    }

    fn definition_changed(&self, at: &Shared) -> bool {
        let Some(entity) = &self.tip else { return false };
        let waits = self.later.iter().any(|(_, source)| matches!(source, Source::Changed));
        !waits && at.registry.find(&entity.definition).is_some_and(|found| found.fingerprint != entity.config)
    }

    fn due_again(&mut self, at: &Shared) -> Option<Source> {
        if self.later.is_empty() {
            return None;
        }
        // An alarm that was cleared or moved meanwhile is not tried again (A7).
        let alarm = self.tip.as_ref().and_then(|tip| tip.alarm);
        self.later.retain(|(_, source)| !matches!(source, Source::Alarm(at) if Some(*at) != alarm));
        let now = at.driver.monotonic();
        let index = self.later.iter().position(|(when, _)| *when <= now)?;
        Some(self.later.swap_remove(index).1)
    }

    /// The inbox may hold something that is not here.
    fn look(&mut self) {
        self.inbox_read = None;
        self.inbox_has_more = true;
        self.inbox_missed = true;
        self.inbox_after = None;
    }

    /// One who is not held will be answered yet, and if nobody hears that, it is [`Mail::Unheard`].
    fn caller_left(&mut self, ticket: Ticket) {
        if self.held.iter().any(|(_, pending)| pending.ticket == ticket) {
            self.gone.push_back(ticket);
        }
    }

    fn rang(&mut self, ring: Ring, at: &Shared, out: &mut Effects) {
        match ring {
            Ring::Again => {}
            Ring::TimedOut(run) => self.check_timeout(run, at, out),
            Ring::Silent(run) => self.check_silence(run, at, out),
            Ring::Probation => self.end_probation(at, out),
            Ring::Control => self.end_control(at, out),
        }
    }

    pub(crate) fn is_parked(&self) -> bool {
        self.tip.as_ref().is_some_and(|entity| entity.parked.is_some())
    }

    fn send_away(&mut self, out: &mut Effects) {
        let queue = std::mem::take(&mut self.queue);
        let calls = queue.into_iter().filter_map(Source::into_pending);
        out.answers.extend(calls.map(|pending| (pending, Err(Error::Closing))));
    }

    /// Tells those who asked, once there is something to tell.
    pub(crate) fn answer_askers(&mut self, at: &Shared) {
        if self.is_warm {
            for asker in std::mem::take(&mut self.askers) {
                asker.answer(self.explain(at));
            }
        }
    }

    /// Whether nothing here would be lost if it left memory.
    pub(crate) fn is_idle(&self) -> bool {
        self.held.is_empty() && self.only_holds()
    }

    /// Whether nothing is here but callers who wait for an answer.
    pub(crate) fn only_holds(&self) -> bool {
        self.chain.is_empty()
            && self.flying.is_none()
            && self.running.is_empty()
            && self.queue.is_empty()
            && self.reads.is_empty()
            && self.ends.is_empty()
            && self.gone.is_empty()
            && self.later.is_empty()
            && self.listed.is_empty()
            && self.askers.is_empty()
            && !self.is_reading
            && !self.alarm_is_due
            && !self.relist
            && !matches!(self.seat, Seat::HeldBack | Seat::InLine | Seat::Counting | Seat::Watched)
            && self.to_release.is_empty()
    }

    /// Gives back the room of what has been dealt with: in most keys nothing waits most of the time, and a place in these
    /// lines is as large as a quarter of all else that a body is.
    pub(crate) fn slim(&mut self) {
        if self.queue.is_empty() {
            self.queue = VecDeque::new();
        }
        if self.ends.is_empty() {
            self.ends = VecDeque::new();
        }
        if self.reads.is_empty() {
            self.reads = VecDeque::new();
        }
    }

    pub(crate) fn weight(&self) -> usize {
        let queue = self.queue.capacity() * size_of::<Source>();
        size_of::<Self>() + self.committed.as_ref().map_or(0, Entity::weight) + queue + self.hot.weight()
    }

    /// Drops what the handler remembers; nothing changes but time (E13).
    pub(crate) fn forget(&mut self) {
        // While a piece of work holds the struct, or a row is awaited, the memory may be part of a turn.
        if self.pages.is_empty() {
            self.hot.clear();
        }
    }

    /// What the handler remembers: whoever takes it drops it where it may take its time.
    pub(crate) fn take_memory(&mut self) -> Hot {
        if self.pages.is_empty() { std::mem::take(&mut self.hot) } else { Hot::default() }
    }

    /// It leaves memory at once: whoever has not begun gets `error`, of the others nothing is known.
    pub(crate) fn abandon(&mut self, error: &Error, out: &mut Effects) {
        let queued = self.queue.drain(..).filter_map(Source::into_pending).chain(self.reads.drain(..));
        out.answers.extend(queued.map(|pending| (pending, Err(error.clone()))));
        self.keep_half_of_the_chain(out);
        // Callers who are dropped unanswered learn that the outcome is unknown.
        out.dropped.append(&mut self.running);
        self.held.clear();
        self.ends.clear();
        self.chain = Chain::default();
        self.flying = None;
    }

    /// A planted bug: callers of a chain's first half are told that all is well.
    fn keep_half_of_the_chain(&mut self, out: &mut Effects) {
        if !crate::planted::Bug::HalfAChainKept.planted() {
            return;
        }
        let links = std::mem::take(&mut self.chain).links;
        let half = links.len().div_ceil(2);
        for mut link in links.into_iter().take(half) {
            let reply = link.replies.pop().map_or(Ok(bytes::Bytes::new()), |(_, reply)| reply);
            out.answers.extend(link.source.into_pending().map(|pending| (pending, reply)));
        }
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Body").field("key", &self.key).field("tip", &self.tip).finish_non_exhaustive()
    }
}

/// The origin of a run that a caller or a message waits for.
pub(crate) fn origin_of(source: Source) -> Origin {
    match source {
        Source::Call(pending) => Origin::Call(pending),
        Source::Letter(letter) => Origin::Letter(letter),
        Source::End(end) => end.origin,
        _ => Origin::Listed,
    }
}
