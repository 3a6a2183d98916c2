//! An entity in memory: the record, the turns on their way to the store, the inputs and the running work.
//!
//! A body belongs to one kernel thread at a time, so nothing here locks. The files beside this one each add
//! a group of methods: `turning`, `stacking`, `settling`, `working`, `reading`, `letters`, `seating`.
//! [`Body::step`] is the order in which they are called.

pub(crate) mod admission;
pub(crate) mod chain;
pub(crate) mod idempotency;
pub(crate) mod inbox;
pub(crate) mod inbox_crashes;
pub(crate) mod merge;
pub(crate) mod parked;
pub(crate) mod reads;
pub(crate) mod rows;
pub(crate) mod source;
pub(crate) mod turn;
pub(crate) mod verdict;
pub(crate) mod work;
pub(crate) mod work_list;

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use self::{
    admission::Seat,
    chain::Chain,
    rows::Page,
    source::{End, Origin, Source},
    work::Running,
};
use super::{
    api::pending_call::Pending,
    state::{
        effects::{Effects, Ring},
        lease::Held,
        mail::{Asker, Mail},
        shared::Shared,
    },
    util::sparse::Sparse,
};
use crate::{
    Borrow, Entity, Error, Hot, Key, MessageId, Name, Parked, Range, Ticket, Version, Work, WorkId, store::Letter,
};

pub(crate) struct Body {
    pub(crate) key: Key,
    pub(crate) lease: Arc<Held>,
    /// Whether `committed` and `tip` are loaded. If both are `None` in a warm body, the key is unbound.
    pub(crate) is_warm: bool,
    /// The entity as it is stored.
    pub(crate) committed: Option<Entity>,
    /// The entity after the last turn, stored or not.
    pub(crate) tip: Option<Entity>,
    pub(crate) hot: Hot,
    /// Turns that wait for the writer.
    pub(crate) chain: Chain,
    /// Turns in the batch in flight, and the entity after them.
    pub(crate) flying: Option<(Chain, Option<Entity>)>,

    /// Ends of work that wait for a turn.
    pub(crate) ends: VecDeque<End>,
    pub(crate) alarm_is_due: bool,
    /// Callers that left: each is an input of its own.
    pub(crate) gone: VecDeque<Ticket>,
    /// Calls and messages, in order of arrival.
    pub(crate) queue: VecDeque<Source>,
    /// Calls that only read; they do not wait for turns.
    pub(crate) reads: VecDeque<Pending>,
    /// The handler must be asked which work should run: a turn was taken, the entity was loaded, or another
    /// loop requested it.
    pub(crate) relist: bool,

    /// Callers that wait for an answer which a later commit gives.
    pub(crate) held: Vec<(Name, Pending)>,
    pub(crate) running: Vec<Running>,
    /// Work that should run, as of the last durable commit.
    pub(crate) listed: Vec<Work>,
    /// All of `listed` was started, and no new list has come since.
    pub(crate) is_tended: bool,
    /// Work that was listed when the entity was first listed after a crash and that has not ended since:
    /// one of these pieces may have killed the process. `None` until the first list.
    pub(crate) doubted: Option<BTreeSet<WorkId>>,
    /// Pieces of work that ended since the last list.
    pub(crate) ended: Vec<WorkId>,
    /// Whether a call was the last to borrow the struct exclusively. If so, listed work goes next (E3).
    pub(crate) calls_went_last: bool,
    /// Whether the entity had work when it was read, and the list may hold a piece that goes first. The
    /// transaction of such a piece may have left a state that the entity has not taken yet (W6). If a call
    /// changed the struct before that, the state would overwrite the change.
    pub(crate) may_have_left: bool,

    /// Whether a read was requested and has not been answered. The requests are sent when the visit ends.
    pub(crate) is_reading: bool,
    /// The number of the read in flight. An answer with another number is ignored.
    pub(crate) reading: u64,
    /// The version of `committed` when the record was last requested.
    pub(crate) asked_at: Option<Version>,
    /// Rows that a turn or a listing needs before it can be taken.
    pub(crate) wanted_rows: Vec<Range>,
    /// Rows that were read for the waiting turn or listing.
    pub(crate) pages: Vec<Page>,
    /// The value of `Shared::unseen` for which the inbox was last read. Messages wait until that is the
    /// current value.
    pub(crate) inbox_read: Option<u64>,
    /// The inbox may hold messages that are not queued here.
    pub(crate) inbox_has_more: bool,
    /// A message arrived that was not queued, and the inbox was not requested since.
    pub(crate) inbox_missed: bool,
    /// The inbox is being read for a missed message. Calls wait for that read, because a message that
    /// arrived before a call is taken before the call (M2).
    pub(crate) inbox_awaited: bool,
    /// The value of `Shared::unseen` when the inbox was last requested.
    pub(crate) inbox_asked: u64,
    /// The message after which the next page of the inbox begins; `None` for the first page.
    pub(crate) inbox_after: Option<MessageId>,
    /// The number of held messages in the last page of the inbox.
    pub(crate) letters_held: usize,
    /// Messages whose code is not pure: it starts only on a durable state.
    pub(crate) impure_letters: BTreeSet<MessageId>,

    /// How far the entity is admitted after a crash (W2).
    pub(crate) seat: Seat,
    /// The process survived the control of this entity (W2).
    pub(crate) is_controlled: bool,
    /// Held messages that are to be tried again.
    pub(crate) to_release: Vec<Letter>,
    /// How many turns without a caller failed in a row.
    pub(crate) failures: u32,
    /// Inputs whose turn failed, each with the time of its next try.
    pub(crate) later: Vec<(Duration, Source)>,
    /// Set when the store refused the last chain because of a bug of ours. The entity is parked with this
    /// reason once it is read again.
    pub(crate) refused_by_store: Option<Parked>,
    /// Callers of `explain` that wait for an answer.
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

    /// Takes in the mail, in order. Timers come last: work whose end is in the same mail has ended in time,
    /// even if its timeout has passed meanwhile.
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
                // The read was requested before the body forgot everything; its results are outdated.
                Mail::Found(read, reads, found) if read == self.reading => self.found(reads, found, at, out),
                Mail::Found(..) => {}
                Mail::Settled(version, verdict) => self.settle(version, verdict, at, out),
                Mail::Release(letters) => self.to_release.extend(letters),
                Mail::Explain(asker) => self.askers.push(asker),
            }
        }
        rings.into_iter().for_each(|ring| self.rang(ring, at, out));
    }

    /// Takes the next step, if one is possible now; returns whether there may be another. The order is a
    /// promise: ends of work and due inputs first, then calls and messages in order of arrival.
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

    /// Whether a turn can be taken now, without waiting for a read, a verdict or an admission.
    pub(crate) fn may_turn(&self) -> bool {
        // While the commit that destroys the entity is in flight, no turn is taken: later inputs are for
        // the next entity of this key (E8).
        let is_ending = self.flying.as_ref().is_some_and(|(flying, _)| flying.destroys);
        let waits = self.chain.closed || is_ending || !self.wanted_rows.is_empty();
        self.is_warm && self.seat.is_taken() && !self.is_parked() && !waits
    }

    /// Whether the end of a piece of work waits here and can be taken now.
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

    /// Returns the alarm if it is due. A stale wake-up does nothing (A7).
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
        // An alarm that was cleared or moved since its turn failed is not retried (A7).
        let alarm = self.tip.as_ref().and_then(|tip| tip.alarm);
        self.later.retain(|(_, source)| !matches!(source, Source::Alarm(at) if Some(*at) != alarm));
        let now = at.driver.monotonic();
        let index = self.later.iter().position(|(when, _)| *when <= now)?;
        Some(self.later.swap_remove(index).1)
    }

    /// Notes that the inbox may hold messages that are not queued here.
    fn look(&mut self) {
        self.inbox_read = None;
        self.inbox_has_more = true;
        self.inbox_missed = true;
        self.inbox_after = None;
    }

    /// Notes that a caller left. Only a held caller matters here. Any other caller is about to be answered,
    /// and an answer that reaches no caller comes back as [`Mail::Unheard`].
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

    /// Answers the callers of `explain`, once the entity is loaded.
    pub(crate) fn answer_askers(&mut self, at: &Shared) {
        if self.is_warm {
            for asker in std::mem::take(&mut self.askers) {
                asker.answer(self.explain(at));
            }
        }
    }

    /// Whether the body can leave memory without losing anything.
    pub(crate) fn is_idle(&self) -> bool {
        self.held.is_empty() && self.only_holds()
    }

    /// Whether the body has nothing but callers that wait for a held answer.
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

    /// Frees the buffers of empty queues. In most keys nothing waits most of the time, and one slot in
    /// these queues takes a quarter as much memory as the rest of the body.
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

    /// Drops the handler's memory; only the time of the next turn changes (E13).
    pub(crate) fn forget(&mut self) {
        // While rows are read for a turn, the memory may be a part of that turn.
        if self.pages.is_empty() {
            self.hot.clear();
        }
    }

    /// Takes the handler's memory out of the body, so that the caller can drop it outside the core lock.
    pub(crate) fn take_memory(&mut self) -> Hot {
        if self.pages.is_empty() { std::mem::take(&mut self.hot) } else { Hot::default() }
    }

    /// Empties the body before it leaves memory. Callers whose input has not begun get `error`; for all
    /// others the outcome is unknown.
    pub(crate) fn abandon(&mut self, error: &Error, out: &mut Effects) {
        let queued = self.queue.drain(..).filter_map(Source::into_pending).chain(self.reads.drain(..));
        out.answers.extend(queued.map(|pending| (pending, Err(error.clone()))));
        self.keep_half_of_the_chain(out);
        // Dropping a caller without an answer reports an unknown outcome.
        out.dropped.append(&mut self.running);
        self.held.clear();
        self.ends.clear();
        self.chain = Chain::default();
        self.flying = None;
    }

    /// A planted bug: callers in the first half of the chain are answered as if the chain were durable.
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

/// Returns the origin of code that runs for `source`: the call or message that waits for its end.
pub(crate) fn origin_of(source: Source) -> Origin {
    match source {
        Source::Call(pending) => Origin::Call(pending),
        Source::Letter(letter) => Origin::Letter(letter),
        Source::End(end) => end.origin,
        _ => Origin::Listed,
    }
}
