//! One turn of a run. The turn records what has happened, delivers it to the body and polls the body until
//! it rests. These three are repeated until nothing more is due.

use std::{collections::BTreeSet, marker::PhantomData, sync::Arc};

use bytes::Bytes;
use drystone_runtime::{Entity, Key, Mark, Millis, Name, Next, Now, Range, Row, Rows, To};
use serde_json::value::RawValue;

use super::{
    memory::{Fronts, Memory},
    revive::revived,
    steps::inputs::Shared,
    turn_commit::TurnCommit,
};
use crate::{
    Error, decode,
    planted::Bug,
    primitive::Thrown,
    workflow::{
        Divergence, Fault, Workflow,
        body::names::Names,
        client::{fault::Cause, status::Stopped},
        record::{Record, pending::Waiting, undo::Due},
        replay,
        replay::{
            core::Stop as CoreStop,
            foreign_wake::Nudge,
            journal::{self, End, Entry, What},
            live::{Identity, Live, Rest},
            op_id::OpId,
        },
    },
};

/// The input of a turn: the stored entity, the rows that were read, and the time.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) definition: &'a Name,
    pub(super) names: &'a Names,
    pub(super) nudge: &'a Arc<Nudge>,
    pub(super) key: &'a Key,
    pub(super) entity: Option<&'a Entity>,
    pub(super) rows: &'a Rows,
    pub(super) now: Millis,
    pub(super) mark: Mark,
}

impl Seen<'_> {
    /// Returns the time, and the mark for what begins in this turn.
    pub(super) fn moment(&self) -> Now {
        Now { at: self.now, mark: self.mark }
    }
}

/// Why a turn ends without a commit.
pub(super) enum Halt {
    /// These rows must be read first.
    Read(Vec<Range>),
    /// The caller gets this typed error, encoded as JSON.
    Failed(Bytes),
    Refuse(Error),
    Malformed(String),
    /// The stored data cannot be read: the entity is parked with this reason.
    Park(String),
}

impl Halt {
    pub(super) fn into_next(self, verb: &str) -> Next {
        match self {
            Self::Read(ranges) => Next::Read(ranges),
            Self::Failed(error) => Next::Refuse(Error::Declined(error)),
            Self::Refuse(error) => Next::Refuse(error),
            Self::Malformed(reason) => Next::Refuse(Error::Malformed { verb: verb.to_owned(), reason }),
            Self::Park(reason) => Next::Park(reason),
        }
    }
}

pub(super) type Turned = Result<Next, Halt>;

/// The rows that one commit of a run changes at most, messages included: slightly fewer than a commit may
/// (K3).
pub(super) const ROWS_MAX: usize = 990;

/// The length of a journal at which a warning is logged: its entries, and their bytes (W11).
const ENTRIES_WARN: u64 = 40_000;
const ALL_BYTES_WARN: u64 = journal::ALL_BYTES_MAX / 5 * 4;

/// The longest row, record or state: the limit of a payload (K3), less some room for what is written around
/// it.
pub(super) const BYTES_MAX: usize = (1 << 20) - 4_096;

/// The entries that the body is being given.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    /// Entries as they are recorded.
    Live,
    /// Entries that were recorded before: while the body was stopped, or before its generation began.
    Late,
    /// The whole journal. The operations that the body asks for meanwhile are not stored yet.
    Anew,
}

/// When the next turn comes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NextTurn {
    /// When something is due by itself.
    WhenDue,
    /// At once, unless the run is paused: this turn has done as much as a turn may.
    Now,
    /// At once, also if the run is paused: waits are still to be registered with their topics, and this commit
    /// can send no more messages. Registering them begins nothing.
    NowEvenPaused,
}

/// The generations that a turn has begun.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Began {
    Nothing,
    /// One generation. Its body was polled.
    Generation,
    /// A second generation, which waits for a turn of its own.
    Deferred,
}

/// A turn in progress.
pub(super) struct Turning<'a, W> {
    pub(super) seen: Seen<'a>,
    pub(super) record: Box<Record>,
    pub(super) live: Option<Live>,
    pub(super) fronts: Fronts,
    pub(super) commit: TurnCommit,
    pub(super) next_turn: NextTurn,
    pub(super) delivery: Delivery,
    pub(super) began: Began,
    /// Whether the run was stopped before: listeners were notified then, and are not notified again.
    pub(super) is_tried_again: bool,
    workflow: PhantomData<fn() -> W>,
    /// Operations asked for in this turn: steps that have not run yet, and waits whose deadline has passed
    /// already.
    pub(super) fresh: BTreeSet<OpId>,
    /// Undos that are due and not stored yet.
    pub(super) dues: Vec<Due>,
    /// The rows of shared inputs that this turn is filling.
    pub(super) shared: Shared,
    /// Whether something was undone since the run came into memory; a planted bug needs it.
    pub(super) has_undone: bool,
}

impl<'a, W: Workflow> Turning<'a, W> {
    /// Opens the turn of an existing run; `None` if the key is not bound.
    pub(super) fn open(memory: &mut Memory, seen: Seen<'a>) -> Result<Option<Self>, Halt> {
        let Some(entity) = seen.entity else { return Ok(None) };
        let record = memory.take_record(&entity.head).map_err(Halt::Park)?;
        let mut turning = Self::new(seen, record);
        turning.live = memory.live.take();
        turning.fronts = std::mem::take(&mut memory.fronts);
        turning.has_undone = std::mem::take(&mut memory.has_undone);
        Ok(Some(turning))
    }

    pub(super) fn new(seen: Seen<'a>, record: Box<Record>) -> Self {
        let (commit, fronts) = (TurnCommit::new(seen.entity.is_some()), Fronts::new());
        Self {
            seen,
            record,
            live: None,
            fronts,
            commit,
            next_turn: NextTurn::WhenDue,
            delivery: Delivery::Live,
            began: Began::Nothing,
            is_tried_again: false,
            workflow: PhantomData,
            fresh: BTreeSet::new(),
            dues: Vec::new(),
            shared: Shared::default(),
            has_undone: false,
        }
    }

    pub(super) fn identity(&self) -> Identity {
        Identity::in_kernel(self.seen.key, &self.record, self.seen.nudge)
    }

    /// Returns how many entries were delivered to the body.
    pub(super) fn told(&self) -> u64 {
        self.record.entries - self.record.untold
    }

    /// Ensures that the body is in memory, as the journal left it. A body that was evicted is replayed.
    pub(super) fn wake(&mut self) -> Result<(), Halt> {
        if !self.record.goes_on() || self.record.winds_down() {
            return Ok(());
        }
        let told = self.told();
        if self.live.as_ref().is_some_and(|live| is_of(live, &self.record)) {
            self.stop_if_woken();
            return Ok(());
        }
        self.live = None;
        let entries = self.journal()?;
        if told == 0 {
            // No entry was delivered yet: `tell_untold` begins the body with the first entry.
            return Ok(());
        }
        match revived::<W>(&self.identity(), &self.record, &entries) {
            Ok(live) => {
                self.live = Some(live);
                self.move_deadlines();
            }
            Err(replay::Halt::Diverged(divergence)) => self.diverge(divergence),
            Err(replay::Halt::Panicked { message, entry }) => self.halt(Stopped::Panicked { message, entry }),
        }
        Ok(())
    }

    /// A planted bug: the time that a sleep had left is ignored after a replay.
    fn move_deadlines(&mut self) {
        if !Bug::DeadlineMoved.planted() {
            return;
        }
        let started_at = self.record.started_at;
        for pending in &mut self.record.pending {
            if let Waiting::Sleep(until) = &mut pending.what {
                *until += (self.seen.now.0 - started_at).min(1_000);
            }
        }
    }

    /// Returns the whole journal.
    pub(super) fn journal(&self) -> Result<Vec<Entry>, Halt> {
        let entries = self.record.entries_in(self.seen.rows).map_err(|range| Halt::Read(vec![range]))?;
        entries.map_err(Halt::Park)
    }

    pub(super) fn rows(&self, range: &Range) -> Result<&'a [Row], Halt> {
        self.seen.rows.get(range).ok_or_else(|| Halt::Read(vec![range.clone()]))
    }

    /// Resumes the body if anything is due for it. A body that was evicted is not replayed for nothing (V4).
    pub(super) fn go_on_if_due(&mut self) -> Result<(), Halt> {
        let is_here = self.live.as_ref().is_some_and(|live| is_of(live, &self.record));
        let is_at_rest = self.record.goes_on() && !self.record.winds_down() && self.record.untold == 0;
        if is_here || !is_at_rest || self.record.holds_timers() {
            return self.go_on();
        }
        self.prefetch()?;
        if self.next_ready()?.is_some() {
            return self.go_on();
        }
        let now = self.seen.now;
        self.topic_waits().leave_overdue(now);
        Ok(())
    }

    /// Resumes the body with what is due, and with everything that follows from that.
    pub(super) fn go_on(&mut self) -> Result<(), Halt> {
        if self.began == Began::Deferred || self.record.holds_timers() {
            return Ok(());
        }
        self.prefetch()?;
        self.wake()?;
        self.tell_untold()?;
        if Bug::TakenBeforeRecorded.planted() && self.next_turn != NextTurn::WhenDue {
            return Ok(());
        }
        while self.record.goes_on() && !self.record.winds_down() {
            self.begin_children()?;
            let Some(ready) = self.next_ready()? else {
                let now = self.seen.now;
                self.topic_waits().leave_overdue(now);
                break;
            };
            // Checked before events are taken, because a turn that takes events must also record them.
            if self.commit.is_enough(ready.rows()) {
                self.leave_rest();
                break;
            }
            let entry = self.entry_of(ready);
            self.happened(&entry)?;
        }
        Ok(())
    }

    /// Delivers the entries that were recorded while the body was stopped.
    pub(super) fn tell_untold(&mut self) -> Result<(), Halt> {
        if self.record.untold == 0 || !self.record.goes_on() || self.record.winds_down() {
            return Ok(());
        }
        let entries = self.journal()?;
        let from = usize::try_from(self.told()).unwrap_or(0);
        self.tell_all(&entries[from.min(entries.len())..])?;
        self.end_if_too_much()
    }

    /// Delivers recorded entries to the body, as long as the run stays in this generation.
    pub(super) fn tell_all(&mut self, untold: &[Entry]) -> Result<(), Halt> {
        self.delivery = if self.told() == 0 { Delivery::Anew } else { Delivery::Late };
        let told = self.tell_each(untold);
        self.delivery = Delivery::Live;
        self.undo_stack().write();
        told
    }

    fn tell_each(&mut self, untold: &[Entry]) -> Result<(), Halt> {
        let generation = self.record.generation;
        for entry in untold {
            self.keep_state()?;
            let is_another = self.record.generation != generation;
            if !self.record.goes_on() || self.record.winds_down() || is_another {
                return Ok(());
            }
            self.no_longer_pending(entry, self.told());
            self.record.untold -= 1;
            self.tell(entry)?;
        }
        Ok(())
    }

    fn no_longer_pending(&mut self, entry: &Entry, number: u64) {
        if let Some(index) = entry.op.as_ref().and_then(|op| self.record.position(op)) {
            let pending = self.record.pending.remove(index);
            self.step_ended(&pending, (entry, number));
        }
    }

    /// Leaves the rest of the work to the next turn, which comes at once unless the run is paused.
    pub(super) fn leave_rest(&mut self) {
        self.next_turn = self.next_turn.max(NextTurn::Now);
    }

    /// Records an entry, and delivers it to the body.
    pub(super) fn happened(&mut self, entry: &Entry) -> Result<(), Halt> {
        self.wake()?;
        let is_undoing = self.record.undoes();
        let full = self.record.journal_limit().filter(|_| !is_undoing);
        if let Some((what, limit)) = full
            && entry.op.is_none()
        {
            return self.end(beyond(entry.op_text(), what, limit));
        }
        self.append(entry)?;
        if self.record.end.is_some() || self.record.undoes() != is_undoing {
            // The entry was too long, and has ended the run.
            return Ok(());
        }
        self.no_longer_pending(entry, self.record.entries - 1);
        if let Some((what, limit)) = full {
            return self.end(beyond(entry.op_text(), what, limit));
        }
        self.keep_state()?;
        if self.record.goes_on() && !self.record.winds_down() {
            self.tell(entry)?;
        } else if self.record.stopped.is_some() {
            self.record.untold += 1;
        }
        Ok(())
    }

    /// Delivers an entry to the body, and stores the operations that the body asks for then.
    fn tell(&mut self, entry: &Entry) -> Result<(), Halt> {
        let Some(live) = &mut self.live else {
            self.begin_anew(entry);
            return Ok(());
        };
        match live.tell(entry) {
            Ok(()) => {
                if let What::Updated(_) = &entry.what {
                    // An accepted update counts even if the body panics at the next poll, so the state is
                    // kept first.
                    self.keep_state()?;
                }
                self.settle();
            }
            Err(divergence) => {
                self.record.untold += 1;
                self.diverge(divergence);
            }
        }
        Ok(())
    }

    /// Begins the body with the first entry, which is the start.
    pub(super) fn begin_anew(&mut self, entry: &Entry) {
        let Some(input) = entry.input() else { return };
        match Live::begin::<W>(&self.identity(), input.get().as_bytes(), Millis(entry.at)) {
            Ok(live) => self.begin(live),
            Err(reason) => {
                self.record.untold += 1;
                self.diverge(Divergence::unreadable(0, "its input", &reason));
            }
        }
    }

    /// Polls a new body for the first time.
    pub(super) fn begin(&mut self, mut live: Live) {
        live.told = self.told();
        live.generation = self.record.generation;
        self.live = Some(live);
        self.settle();
    }

    /// Polls the body until it rests, and stores the operations that the body waits for.
    fn settle(&mut self) {
        let Some(mut live) = self.live.take() else { return };
        self.tell_versions(&live);
        let rest = live.poll();
        if self.record.untold > 0 && rest.is_an_end() {
            self.record.untold += 1;
            return self.diverge(Divergence::ended_early(self.told(), None));
        }
        match rest {
            Rest::Waits => {
                let moves = live.take_moves();
                self.live = Some(live);
                self.take_in(moves);
            }
            Rest::Ended(ended) => self.body_ended(live, ended),
            Rest::Panicked(message) => {
                self.record.untold += 1;
                self.halt(Stopped::Panicked { message, entry: self.told() });
            }
            Rest::Stopped(CoreStop::Fault(fault)) => {
                let end = replay::fault_of(fault, live.is_cleanup);
                self.live = Some(live);
                let ended = self.end(end);
                debug_assert!(ended.is_ok(), "the end of a run reads nothing");
            }
            Rest::Stopped(CoreStop::Unreadable(op, reason)) => {
                self.record.untold += 1;
                self.diverge(Divergence::unreadable(self.told(), &format!("`{op}`"), &reason));
            }
            Rest::Stopped(CoreStop::Continue(input)) => self.continue_as(live, &input),
            Rest::Stopped(CoreStop::Unsupported(unsupported)) => {
                self.record.untold += 1;
                self.diverge(unsupported.divergence(self.told()));
            }
        }
    }

    fn body_ended(&mut self, live: Live, ended: Result<Bytes, Thrown>) {
        let is_cleanup = live.is_cleanup;
        self.live = Some(live);
        // The state is kept first: a state that is too long ends the run, and no caller may then get the
        // value that the body returned (L1).
        let kept = self.keep_state();
        debug_assert!(kept.is_ok(), "what a body has changed can be written");
        if self.record.end.is_some() || self.record.undoes() {
            return;
        }
        let end = replay::end_of(ended, is_cleanup);
        let ended = self.end(end);
        debug_assert!(ended.is_ok(), "the end of a run reads nothing");
    }

    /// Appends an entry to the journal. An entry that is too long for a row ends the run.
    pub(super) fn append(&mut self, entry: &Entry) -> Result<(), Halt> {
        let body = entry.written().map_err(Halt::Malformed)?;
        let has_begun = self.record.entries > 0;
        if body.len() > BYTES_MAX && has_begun {
            return self.end(beyond(entry.op_text(), "bytes in one entry of its journal", BYTES_MAX));
        }
        self.commit.count_entry(body.len());
        let bytes = self.record.bytes;
        if Bug::EntryForgotten.planted() && self.record.entries % 3 == 2 {
            self.record.entries += 1;
        } else {
            self.commit.put_all(self.record.add_entry(body));
        }
        self.warn_of_length(bytes);
        Ok(())
    }

    /// Warns once when the journal comes near its limit. `before` is the number of bytes before the last
    /// entry.
    fn warn_of_length(&mut self, before: u64) {
        let Record { entries, bytes, .. } = *self.record;
        if entries == ENTRIES_WARN || (before..bytes).contains(&(ALL_BYTES_WARN - 1)) {
            tracing::warn!(key = %self.seen.key, entries, bytes, "a journal grows long");
            self.commit.emit("workflow.long", &[("entries", entries.into()), ("bytes", bytes.into())]);
        }
    }

    /// Answers every caller that waits for the result.
    pub(super) fn answer_result(&mut self, reply: drystone_runtime::Reply) {
        self.commit.reply(To::All(Name::new(super::verbs::RESULT)), reply);
    }
}

/// Returns the end of a run that exceeds a limit (W11).
pub(super) fn beyond(step: &str, what: &str, limit: usize) -> End {
    let cause = Cause::Limit { what: what.to_owned(), limit: limit as u64 };
    End::Fault(Fault { step: step.to_owned(), cause })
}

/// Whether the body in memory has been given exactly the entries that the record says it was given.
pub(super) fn is_of(live: &Live, record: &Record) -> bool {
    live.told == record.entries - record.untold
        && live.is_cleanup == record.cancel.is_some()
        && live.generation == record.generation
}

pub(super) fn raw(bytes: &[u8]) -> Result<Box<RawValue>, String> {
    decode(bytes)
}
