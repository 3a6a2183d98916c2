//! One turn of a run: what has happened is recorded, the body is told and polled until it rests, and so on until nothing more is
//! due.

use std::{collections::BTreeSet, marker::PhantomData, sync::Arc};

use bytes::Bytes;
use drystone_runtime::{Commit, Entity, Key, Mark, Millis, Name, Next, Now, Range, Row, Rows, To};
use serde_json::{Value, value::RawValue};

use super::{
    super::{
        Divergence, Fault, Workflow,
        core::Stop as CoreStop,
        fault::Cause,
        journal::{self, End, Entry, What},
        live::{Identity, Live, Rest},
        names::Names,
        nudge::Nudge,
        pending::Waiting,
        record::Record,
        replay,
        status::Stopped,
        undo::Due,
    },
    inputs::Shared,
    memory::{Fronts, Memory},
    reviving::revived,
};
use crate::{Error, decode, encode, planted::Bug, primitive::Thrown};

/// What a turn sees.
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
    /// The time, and the mark of what begins in this turn.
    pub(super) fn moment(&self) -> Now {
        Now { at: self.now, mark: self.mark }
    }
}

/// Why a turn does not come to a commit.
pub(super) enum Halt {
    /// These rows are needed first.
    Read(Vec<Range>),
    /// The caller gets this error of ours, as JSON.
    Failed(Bytes),
    Refuse(Error),
    Malformed(String),
    /// What is stored cannot be read.
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

/// Entries that one turn records at most, and their bytes: then the run goes on in another turn, so that a commit stays within
/// its limits (K3).
const ENTRIES_PER_TURN: usize = 200;
const BYTES_PER_TURN: usize = 1 << 20;

/// Rows that one turn changes before it leaves the rest to another. A wait takes fewer than that at once (V8), so that whatever
/// comes first has room; and more than as many are left for what the body asks for then.
const ROWS_PER_TURN: usize = 400;

/// Rows that a commit of ours changes at most, messages and all: some less than a commit may (K3).
pub(super) const ROWS_MAX: usize = 990;

/// Where one is warned of a journal that grows long: its entries, and their bytes (W11).
const ENTRIES_WARN: u64 = 40_000;
const ALL_BYTES_WARN: u64 = journal::ALL_BYTES_MAX / 5 * 4;

/// What a row, a record or a state may hold: a payload (K3), with some room for what is written around it.
pub(super) const BYTES_MAX: usize = (1 << 20) - 4_096;

/// A turn under way.
pub(super) struct Turning<'a, W> {
    pub(super) seen: Seen<'a>,
    pub(super) record: Box<Record>,
    pub(super) live: Option<Live>,
    pub(super) fronts: Fronts,
    pub(super) commit: Commit,
    /// Whether there is more to do than one turn may.
    pub(super) is_more: bool,
    /// Whether there is more to say than one commit can send.
    pub(super) has_more_to_say: bool,
    recorded: (usize, usize),
    /// Whether it was stopped before, and nobody need be told again.
    pub(super) is_tried_again: bool,
    /// Whether it has begun a generation: another one is another turn's.
    pub(super) has_continued: bool,
    /// Whether a generation waits for a turn of its own to begin.
    pub(super) is_deferred: bool,
    /// Whether the body is told all that is recorded in this very turn: what it waits for, nobody has seen yet.
    pub(super) is_told_anew: bool,
    /// Whether the body is told what was recorded before it was stopped: it gets there only now.
    pub(super) is_told_late: bool,
    workflow: PhantomData<fn() -> W>,
    /// What was asked for in this very turn: a step that has not run yet, a wait whose time is up already.
    pub(super) fresh: BTreeSet<String>,
    /// What is due to be undone, and not written down yet.
    pub(super) dues: Vec<Due>,
    /// The rows of inputs that this turn has begun to fill.
    pub(super) shared: Shared,
    /// Whether something was undone since the run is in memory.
    pub(super) has_undone: bool,
}

impl<'a, W: Workflow> Turning<'a, W> {
    /// The turn of a run that is there.
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
        let (commit, fronts) = (Commit::default(), Fronts::new());
        Self {
            seen,
            record,
            live: None,
            fronts,
            commit,
            is_more: false,
            has_more_to_say: false,
            recorded: (0, 0),
            is_tried_again: false,
            has_continued: false,
            is_deferred: false,
            is_told_anew: false,
            is_told_late: false,
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

    /// How many entries the body was told.
    pub(super) fn told(&self) -> u64 {
        self.record.entries - self.record.untold
    }

    /// Has the body at hand, as the journal left it. One that has gone from memory is replayed.
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
            // Its first poll has come to nothing before.
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

    /// A bug that can be planted: what a sleep had left is not taken into account.
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

    /// The whole journal.
    pub(super) fn journal(&self) -> Result<Vec<Entry>, Halt> {
        let entries = self.record.entries_in(self.seen.rows).map_err(|range| Halt::Read(vec![range]))?;
        entries.map_err(Halt::Park)
    }

    pub(super) fn rows(&self, range: &Range) -> Result<&'a [Row], Halt> {
        self.seen.rows.get(range).ok_or_else(|| Halt::Read(vec![range.clone()]))
    }

    /// Lets the body go on if anything is due for it. One that has left memory is not brought back for nothing (V4).
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
        self.leave_overdue();
        Ok(())
    }

    /// Lets the body go on with what is due now, and with what follows from that.
    pub(super) fn go_on(&mut self) -> Result<(), Halt> {
        if self.is_deferred || self.record.holds_timers() {
            return Ok(());
        }
        self.prefetch()?;
        self.wake()?;
        self.tell_untold()?;
        if Bug::TakenBeforeRecorded.planted() && self.is_more {
            return Ok(());
        }
        while self.record.goes_on() && !self.record.winds_down() {
            self.begin_children()?;
            let Some(ready) = self.next_ready()? else {
                self.leave_overdue();
                break;
            };
            // Before anything is taken: what is taken is recorded.
            if self.is_enough(ready.rows()) {
                self.is_more = true;
                break;
            }
            let entry = self.entry_of(ready);
            self.happened(&entry)?;
        }
        Ok(())
    }

    /// Entries that are recorded and that the body has not been told, for it was stopped.
    pub(super) fn tell_untold(&mut self) -> Result<(), Halt> {
        if self.record.untold == 0 || !self.record.goes_on() || self.record.winds_down() {
            return Ok(());
        }
        let entries = self.journal()?;
        let from = usize::try_from(self.told()).unwrap_or(0);
        self.tell_all(&entries[from.min(entries.len())..])?;
        self.end_if_too_much()
    }

    /// Tells the body entries that are recorded, as long as it goes on as this generation.
    pub(super) fn tell_all(&mut self, untold: &[Entry]) -> Result<(), Halt> {
        (self.is_told_anew, self.is_told_late) = (self.told() == 0, self.is_tried_again);
        let told = self.tell_each(untold);
        (self.is_told_anew, self.is_told_late) = (false, false);
        self.write_dues();
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
        if let Some(index) = self.record.position(&entry.op) {
            let pending = self.record.pending.remove(index);
            self.step_ended(&pending, (entry, number));
        }
    }

    /// Whether so many rows more are for another turn.
    pub(super) fn is_enough(&self, more: usize) -> bool {
        let (entries, bytes) = self.recorded;
        let rows = self.rows_changed() + self.commit.send.len();
        entries >= ENTRIES_PER_TURN || bytes >= BYTES_PER_TURN || rows > 0 && rows + more > ROWS_PER_TURN
    }

    /// How many rows of its own this turn has changed so far.
    pub(super) fn rows_changed(&self) -> usize {
        self.commit.put.len() + self.commit.remove.len() + self.commit.drop.len()
    }

    /// Something has happened: it is recorded, and the body is told.
    pub(super) fn happened(&mut self, entry: &Entry) -> Result<(), Halt> {
        self.wake()?;
        let is_undoing = self.record.undoes();
        let full = self.record.journal_limit().filter(|_| !is_undoing);
        if let Some((what, limit)) = full
            && entry.op.is_empty()
        {
            return self.end(beyond(&entry.op, what, limit));
        }
        self.append(entry)?;
        if self.record.end.is_some() || self.record.undoes() != is_undoing {
            // It was too long.
            return Ok(());
        }
        self.no_longer_pending(entry, self.record.entries - 1);
        if let Some((what, limit)) = full {
            return self.end(beyond(&entry.op, what, limit));
        }
        self.keep_state()?;
        if self.record.goes_on() && !self.record.winds_down() {
            self.tell(entry)?;
        } else if self.record.stopped.is_some() {
            self.record.untold += 1;
        }
        Ok(())
    }

    /// Tells the body, and takes in what it does then.
    fn tell(&mut self, entry: &Entry) -> Result<(), Halt> {
        let Some(live) = &mut self.live else {
            self.begin_anew(entry);
            return Ok(());
        };
        match live.tell(entry) {
            Ok(()) => {
                if let What::Updated(_) = &entry.what {
                    // It was taken, whatever the body makes of it.
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

    /// The first entry is the start: whoever is told it begins.
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

    /// The first poll of a body.
    pub(super) fn begin(&mut self, mut live: Live) {
        live.told = self.told();
        live.generation = self.record.generation;
        self.live = Some(live);
        self.settle();
    }

    /// Polls the body until it rests, and writes down what it waits for.
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
        // First of all: a state that is too long ends the run, and then nobody is told what the body returned (L1).
        let kept = self.keep_state();
        debug_assert!(kept.is_ok(), "what a body has changed can be written");
        if self.record.end.is_some() || self.record.undoes() {
            return;
        }
        let end = replay::end_of(ended, is_cleanup);
        let ended = self.end(end);
        debug_assert!(ended.is_ok(), "the end of a run reads nothing");
    }

    /// A row that this very turn has put is not there at all.
    pub(super) fn remove_row(&mut self, (lane, key): (Name, Bytes)) {
        let before = self.commit.put.len();
        self.commit.put.retain(|row| row.lane != lane || row.key != key);
        if self.commit.put.len() == before {
            self.commit.remove.push((lane, key));
        }
    }

    /// Adds an entry to the journal. One that is too long for a row ends the run.
    pub(super) fn append(&mut self, entry: &Entry) -> Result<(), Halt> {
        let body = entry.written().map_err(Halt::Malformed)?;
        let has_begun = self.record.entries > 0;
        if body.len() > BYTES_MAX && has_begun {
            return self.end(beyond(&entry.op, "bytes in one entry of its journal", BYTES_MAX));
        }
        self.recorded = (self.recorded.0 + 1, self.recorded.1 + body.len());
        let bytes = self.record.bytes;
        if Bug::EntryForgotten.planted() && self.record.entries % 3 == 2 {
            self.record.entries += 1;
        } else {
            self.commit.put.extend(self.record.add_entry(body));
        }
        self.warn_of_length(bytes);
        Ok(())
    }

    /// Says once that little more may be recorded. `before` is how many bytes there were.
    fn warn_of_length(&mut self, before: u64) {
        let Record { entries, bytes, .. } = *self.record;
        if entries == ENTRIES_WARN || (before..bytes).contains(&(ALL_BYTES_WARN - 1)) {
            tracing::warn!(key = %self.seen.key, entries, bytes, "a journal grows long");
            self.tell_listeners("workflow.long", &[("entries", entries.into()), ("bytes", bytes.into())]);
        }
    }

    pub(super) fn tell_listeners(&mut self, name: &'static str, fields: &[(&'static str, Value)]) {
        let fields = fields.iter().filter_map(|(name, value)| Some((Name::new(name), encode(value).ok()?))).collect();
        self.commit.emit.push(drystone_runtime::Lifecycle { name: Name::new(name), fields });
    }

    /// Answers everybody who waits for the result.
    pub(super) fn answer_result(&mut self, reply: drystone_runtime::Reply) {
        self.commit.replies.push((To::All(Name::new(super::calling::RESULT)), reply));
    }
}

/// The end of a run that goes beyond a limit (W11).
pub(super) fn beyond(step: &str, what: &str, limit: usize) -> End {
    let cause = Cause::Limit { what: what.to_owned(), limit: limit as u64 };
    End::Fault(Fault { step: step.to_owned(), cause })
}

/// Whether a body in memory is as the journal left it.
pub(super) fn is_of(live: &Live, record: &Record) -> bool {
    live.told == record.entries - record.untold
        && live.is_cleanup == record.cancel.is_some()
        && live.generation == record.generation
}

pub(super) fn raw(bytes: &[u8]) -> Result<Box<RawValue>, String> {
    decode(bytes)
}
