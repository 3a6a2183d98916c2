//! An entity in memory: the record, the turns on their way to the store, the inputs and the running work.
//!
//! A resident belongs to one turn thread at a time, so nothing here locks. It is made of [`parts`], each with
//! rules of its own. The files beside this one hold the phases of a visit: each adds a group of methods that
//! need several parts. [`Resident::step`] is the order in which they are called.

pub(crate) mod crashes;
mod explain;
pub(crate) mod idempotency;
pub(crate) mod merge;
pub(crate) mod message_crashes;
pub(crate) mod messages;
pub(crate) mod parked;
pub(crate) mod parts;
pub(crate) mod reads;
pub(crate) mod source;
pub(crate) mod turn;
pub(crate) mod verdict;
pub(crate) mod work;
pub(crate) mod work_list;

use std::sync::Arc;

use self::{
    parts::{
        admission::Admission, callers::Callers, commits::Commits, inbox::Inbox, inputs::Inputs, queue::Queue,
        row_reads::RowReads, work_set::WorkSet,
    },
    source::{Origin, Source},
    work::Running,
};
use super::{
    api::pending_call::Pending,
    state::{
        effects::{Effects, Ring},
        lease::Held,
        mail::Mail,
        shared::Shared,
    },
};
use crate::{Entity, Error, Hot, Key, Millis, Ticket};

/// The parts of an entity in memory. The fields of a part are private to its file, where its rules are kept.
///
/// The methods of `Resident` are spread over the files of this folder, one file for each phase of a visit:
/// a phase needs several parts, the kernel's shared state and the effects of the visit.
pub(crate) struct Resident {
    key: Key,
    lease: Arc<Held>,
    /// Whether `committed` and `tip` are loaded. If both are `None` in a warm resident, the key is unbound.
    is_warm: bool,
    /// The entity as it is stored.
    committed: Option<Entity>,
    /// The entity after the last turn, stored or not.
    tip: Option<Entity>,
    hot: Hot,
    /// Turns that are not durable yet.
    commits: Commits,
    inputs: Inputs,
    queue: Queue,
    inbox: Inbox,
    callers: Callers,
    work: WorkSet,
    reads: RowReads,
    admission: Admission,
}

impl Resident {
    pub(crate) fn cold(key: Key, lease: Arc<Held>) -> Self {
        Self {
            key,
            lease,
            is_warm: false,
            committed: None,
            tip: None,
            hot: Hot::default(),
            commits: Commits::default(),
            inputs: Inputs::default(),
            queue: Queue::default(),
            inbox: Inbox::default(),
            callers: Callers::default(),
            work: WorkSet::default(),
            reads: RowReads::default(),
            admission: Admission::default(),
        }
    }

    /// Takes in the mail, in order. Timers come last: work whose end is in the same mail has ended in time,
    /// even if its timeout has passed meanwhile.
    pub(crate) fn receive(&mut self, mail: Vec<Mail>, at: &Shared, out: &mut Effects) {
        let mut rings = Vec::new();
        for item in mail {
            match item {
                Mail::Call(pending) => self.queue.add_call(pending),
                Mail::Message(letter) => self.queue_message(letter),
                Mail::Look => self.inbox.look(),
                Mail::Alarm => self.inputs.ring(),
                Mail::Woken(entity) => self.warm_up(entity, at),
                Mail::Relist => self.work.request_list(),
                Mail::Ended { run, work, outcome } => self.work_ended(run, work, outcome, at, out),
                Mail::Rang(ring) => rings.push(ring),
                Mail::Gone(ticket) => self.caller_left(ticket),
                Mail::Unheard(ticket) => self.inputs.caller_left(ticket),
                // The read was requested before the resident forgot everything; its results are outdated.
                Mail::Found(read, reads, found) if self.reads.awaits(read) => self.found(reads, found, at, out),
                Mail::Found(..) => {}
                Mail::Settled(version, verdict) => self.settle(version, verdict, at, out),
                Mail::Release(letters) => self.inbox.request_release(letters),
                Mail::Explain(asker) => self.callers.ask(asker),
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
        if self.inbox.has_to_release() && !self.commits.is_closed() {
            self.release_messages(at);
        }
        if !self.is_admitted(at, out) {
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
        let waits = self.commits.is_closed() || self.commits.is_destroying() || self.reads.wants_rows();
        self.is_warm && self.admission.may_run() && !self.is_parked() && !waits
    }

    /// Whether the end of a piece of work waits here and can be taken now.
    pub(crate) fn has_ends(&self) -> bool {
        self.inputs.has_ends() && self.may_turn()
    }

    fn next_source(&mut self, at: &Shared, out: &mut Effects) -> Option<Source> {
        if let Some(reason) = self.commits.take_refusal() {
            self.park(reason, at);
            return None;
        }
        if self.definition_changed(at) {
            return Some(Source::Changed);
        }
        if let Some(end) = self.inputs.next_end() {
            return Some(Source::End(end));
        }
        if at.is_closing() {
            // Ends of work are still taken; nothing new begins (R2).
            out.answers.extend(self.queue.take_all_calls().map(|pending| (pending, Err(Error::Closing))));
            return None;
        }
        let (now, alarm) = (|| at.driver.monotonic(), || self.tip.as_ref().and_then(|tip| tip.alarm));
        if let Some(source) = self.inputs.due_again(now, alarm) {
            return Some(source);
        }
        if let Some(due) = self.alarm_now(at, out) {
            return Some(Source::Alarm(due));
        }
        if let Some(ticket) = self.inputs.next_gone() {
            return Some(Source::Gone(ticket));
        }
        self.pick(at, out)
    }

    /// Returns the alarm if it is due. A stale wake-up does nothing (A7).
    fn alarm_now(&mut self, at: &Shared, out: &mut Effects) -> Option<Millis> {
        if !self.inputs.take_ring() {
            return None;
        }
        let due = self.tip.as_ref()?.alarm.filter(|due| *due <= at.time.now())?;
        out.rung += 1;
        Some(due)
    }

    fn definition_changed(&self, at: &Shared) -> bool {
        let Some(entity) = &self.tip else { return false };
        !self.inputs.retries_change()
            && at.registry.find(&entity.definition).is_some_and(|found| found.fingerprint != entity.config)
    }

    /// Notes that a caller left. Only a held caller matters here. Any other caller is about to be answered,
    /// and an answer that reaches no caller comes back as [`Mail::Unheard`].
    fn caller_left(&mut self, ticket: Ticket) {
        if self.callers.holds(ticket) {
            self.inputs.caller_left(ticket);
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

    /// Answers the callers of `explain`, once the entity is loaded.
    pub(crate) fn answer_askers(&mut self, at: &Shared) {
        if self.is_warm {
            for asker in self.callers.take_askers() {
                asker.answer(self.explain(at));
            }
        }
    }

    /// Whether the resident can leave memory without losing anything.
    pub(crate) fn is_idle(&self) -> bool {
        self.callers.holds_none() && self.only_holds()
    }

    /// Whether the resident has nothing but callers that wait for a held answer.
    pub(crate) fn only_holds(&self) -> bool {
        self.commits.is_empty()
            && !self.work.is_running()
            && self.queue.is_empty()
            && !self.queue.has_reads()
            && self.inputs.is_empty()
            && self.work.listed().is_empty()
            && self.callers.asks_for_nothing()
            && !self.reads.is_reading()
            && !self.work.is_to_list()
            && !self.admission.is_under_way()
            && !self.inbox.has_to_release()
    }

    /// Whether nothing runs and nothing is on its way to the store, so that a closing kernel can end.
    pub(crate) fn is_at_rest(&self) -> bool {
        !self.work.is_running() && self.commits.is_empty() && !self.inputs.has_ends()
    }

    /// Frees the buffers of empty queues.
    pub(crate) fn slim(&mut self) {
        self.queue.slim();
        self.inputs.slim();
    }

    pub(crate) fn weight(&self) -> usize {
        let record = self.committed.as_ref().map_or(0, Entity::weight);
        size_of::<Self>() + record + self.queue.weight() + self.hot.weight()
    }

    /// Drops the handler's memory; only the time of the next turn changes (E13).
    pub(crate) fn forget(&mut self) {
        // While rows are read for a turn, the memory may be a part of that turn.
        if !self.reads.has_pages() {
            self.hot.clear();
        }
    }

    /// Takes the handler's memory out of the resident, so that the caller can drop it outside the core lock.
    pub(crate) fn take_memory(&mut self) -> Hot {
        if self.reads.has_pages() { Hot::default() } else { std::mem::take(&mut self.hot) }
    }

    /// Empties the resident before it leaves memory. Callers whose input has not begun get `error`; for all
    /// others the outcome is unknown.
    pub(crate) fn abandon(&mut self, error: &Error, out: &mut Effects) {
        out.answers.extend(self.queue.take_all_calls().map(|pending| (pending, Err(error.clone()))));
        out.answers.extend(self.queue.take_reads().map(|pending| (pending, Err(error.clone()))));
        self.keep_half_of_the_chain(out);
        // Dropping a caller without an answer reports an unknown outcome.
        out.dropped.append(&mut self.work.take_running());
        drop(self.callers.take_held());
        drop(self.inputs.take_ends());
        self.commits.abandon();
    }

    /// A planted bug: callers in the first half of the chain are answered as if the chain were durable.
    fn keep_half_of_the_chain(&mut self, out: &mut Effects) {
        if !crate::planted::Bug::HalfAChainKept.planted() {
            return;
        }
        let links = self.commits.take_waiting().take_links();
        let half = links.len().div_ceil(2);
        for mut link in links.into_iter().take(half) {
            let reply = link.replies.pop().map_or(Ok(bytes::Bytes::new()), |(_, reply)| reply);
            out.answers.extend(link.source.into_pending().map(|pending| (pending, reply)));
        }
    }
}

// What the kernel's shared state asks of a resident.
impl Resident {
    pub(crate) fn lease(&self) -> &Arc<Held> {
        &self.lease
    }

    /// Whether the record was read.
    pub(crate) fn is_warm(&self) -> bool {
        self.is_warm
    }

    /// The entity as it is stored; `None` if the key is unbound or the record was not read.
    pub(crate) fn stored(&self) -> Option<&Entity> {
        self.committed.as_ref()
    }

    /// The alarm as it is stored. A parked entity has none.
    pub(crate) fn stored_alarm(&self) -> Option<Millis> {
        self.committed.as_ref().filter(|entity| entity.parked.is_none())?.alarm
    }

    /// Takes out the stored record of a resident that leaves memory.
    pub(crate) fn take_stored(&mut self) -> Option<Entity> {
        self.committed.take()
    }

    /// Whether a chain waits for the writer, and none of this entity is in flight.
    pub(crate) fn is_writable(&self) -> bool {
        self.commits.is_writable()
    }

    /// Sets the number under which the answer of the requested read will come.
    pub(crate) fn read_was_sent(&mut self, number: u64) {
        self.reads.sent_as(number);
    }

    /// Calls and reads whose input waits here.
    pub(crate) fn waiting_callers(&self) -> impl Iterator<Item = &Pending> {
        self.queue.callers()
    }

    /// Takes out everything that runs.
    pub(crate) fn take_running(&mut self) -> Vec<Running> {
        self.work.take_running()
    }
}

impl std::fmt::Debug for Resident {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Resident").field("key", &self.key).field("tip", &self.tip).finish_non_exhaustive()
    }
}

/// Returns the origin of code that runs for `source`: the call or message that waits for its end.
pub(crate) fn origin_of(source: Source) -> Origin {
    match source {
        Source::Call(pending) => Origin::Call(pending),
        Source::Message(letter) => Origin::Message(letter),
        Source::End(end) => end.origin,
        _ => Origin::Listed,
    }
}
