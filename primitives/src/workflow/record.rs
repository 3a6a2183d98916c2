//! The record of a run: everything that is stored beside its journal and its state.

pub(crate) mod cached_json;
pub(crate) mod inline_journal;
pub(crate) mod pending;
#[cfg(feature = "cron")]
pub(crate) mod schedule;
pub(crate) mod undo;

use std::collections::BTreeMap;

use bytes::Bytes;
use drystone_runtime::{Key, Mark, Message, Millis, Name, Now, Range, Row, Rows, Status};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use self::{
    cached_json::Written,
    inline_journal::Brief,
    pending::{Pending, Stepping},
    undo::Undos,
};
use super::{
    body::call::KeyText,
    client::{
        history::Waits,
        status::{QueuedEvents, RunPhase, Stopped, WaitsFor},
    },
    replay::{
        journal::{self, Entry},
        op_id::OpId,
    },
};
/// The parent of a run is the wait for its end.
pub(super) use crate::system::topics::wire::WaitAddress as Parent;
use crate::{Retry, planted::Bug, system::topics::wire::Seen, values::stored::is_default};

/// The record of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Record {
    /// The generation, counted from 1.
    pub(super) generation: u32,
    /// The seed of the run's random values.
    pub(super) seed: u64,
    /// The mark under which the generation began: a part of the work ids of its steps.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::values::stored::mark")]
    pub(super) mark: Option<Mark>,
    /// The hash of the input.
    pub(super) input: u64,
    pub(super) started_at: i64,
    /// The number of journal entries.
    pub(super) entries: u64,
    /// The bytes of all journal entries.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) bytes: u64,
    /// All journal entries, while the journal is short. The entries of a longer journal lie in rows.
    #[serde(default, skip_serializing_if = "Brief::is_empty")]
    pub(super) brief: Brief,
    /// How many journal entries are not delivered to the body yet: 0, unless the run is stopped or a
    /// generation has yet to begin.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) untold: u64,
    /// The pending operations, in the order in which the body asked for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty", serialize_with = "cached_json::parts")]
    pub(super) pending: Vec<Written<Pending>>,
    /// How many rows of inputs were made so far: the number of the last.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) inputs: u64,
    /// How many events were sent so far: the number of the last.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) events: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) queues: BTreeMap<String, Queue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cancel: Option<Cancel>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stopped: Option<Halted>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) end: Option<Ended>,
    /// The parent run, if this run is a child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<Parent>,
    /// The permits that the run holds or waits for, by operation.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) permits: BTreeMap<OpId, Permit>,
    /// The generation in whose lane the journal lies, if not this one; otherwise 0. Entries that a restart
    /// keeps stay in their lane.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) lane: u32,
    /// How many entries were kept of the generation before.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) kept: u64,
    /// How often all queued events were dropped. The lanes of the queues are numbered by this.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) drops: u32,
    /// How many steps ended too late: released before, or of older generations.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) late: u64,
    /// Whether listeners were told that the run waits for very many operations at once (W11).
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) is_wide: bool,
    /// The versions of its code that the run is pinned to (R5).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) versions: BTreeMap<String, u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) paused: Option<Paused>,
    /// The steps that are due to be undone.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) undos: Undos,
    /// The schedule that waits for the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) notify: Option<Notify>,
    /// The last event that was seen of each log topic, for as long as the log may keep the event.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) seen: BTreeMap<String, LastSeen>,
    /// Messages beyond the number that one commit may send.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) owes: Owes,
    /// Whether the run was destroyed. It is removed when all its messages are sent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) goes: bool,
}

/// The last event that a run has seen of a log topic, and when the event was published.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct LastSeen {
    #[serde(flatten)]
    pub(super) seen: Seen,
    #[serde(default)]
    pub(super) at: i64,
}

/// The rows of messages that are still to be sent: from `first` up to, not including, `next`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owes {
    pub(super) first: u64,
    pub(super) next: u64,
}

impl Owes {
    pub(super) fn is_nothing(self) -> bool {
        self.first == self.next
    }
}

/// A message that is still to be sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Owed {
    space: String,
    key: KeyText,
    definition: String,
    verb: String,
    body: Box<RawValue>,
    /// Whether the body is the next row instead.
    #[serde(default, skip_serializing_if = "is_default")]
    is_long: bool,
}

impl Owed {
    /// A message with its body.
    pub(super) fn of(message: &Message) -> Option<Self> {
        Some(Self { body: crate::decode(&message.body).ok()?, is_long: false, ..Self::long(message) })
    }

    /// A long message, without its body.
    pub(super) fn long(message: &Message) -> Self {
        Self {
            space: message.to.space.to_string(),
            key: KeyText::of(&message.to.key),
            definition: message.definition.to_string(),
            verb: message.verb.to_string(),
            body: RawValue::NULL.to_owned(),
            is_long: true,
        }
    }

    pub(super) fn is_long(&self) -> bool {
        self.is_long
    }

    /// Returns the message; `None` if its key is not valid. `next` is the body of a long message.
    pub(super) fn message(self, next: Option<&Bytes>) -> Option<Message> {
        let to = Key::new(Name::from(self.space), self.key.bytes()).ok()?;
        let body = if self.is_long { next?.clone() } else { Bytes::from(String::from(Box::<str>::from(self.body))) };
        Some(Message { to, definition: Name::from(self.definition), verb: Name::from(self.verb), body })
    }
}

/// A schedule that waits for the end of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Notify {
    /// The key of the schedule.
    pub(super) schedule: Vec<u8>,
    /// The scheduled time that the run stands for.
    pub(super) time: i64,
}

/// A permit that was asked for and is not released yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Permit {
    /// The primitive of the semaphore.
    pub(super) definition: String,
    pub(super) key: KeyText,
    /// Whether the run has heard that the permit was given.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_given: bool,
}

/// A pause of the run (H2).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Paused {
    /// When the pause began.
    pub(super) at: i64,
    /// Steps that ran when the pause began and have not ended yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) runs: Vec<OpId>,
    /// Operations that were asked for during the pause, and when.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) asked: BTreeMap<OpId, i64>,
}

/// The queue of one event type.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Queue {
    pub(super) count: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) overwritten: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) expired: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) discarded: u64,
}

impl Queue {
    /// Whether events of this type were lost. The counts are shown for as long as the run exists.
    pub(super) fn has_lost(&self) -> bool {
        self.overwritten + self.expired + self.discarded > 0
    }
}

/// A caller asked the run to end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Cancel {
    /// The number of the entry with which the `#[cancelled]` body began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) began: Option<u64>,
}

/// A stopped body, which is not polled.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Halted {
    pub(super) why: Stopped,
    /// The hash of the code that was stopped. Changed code is tried at once.
    pub(super) code: u64,
    /// When unchanged code is tried again: the cause may lie outside the hashed code.
    pub(super) retry_at: i64,
    pub(super) tries: u32,
}

impl Halted {
    pub(super) fn new(why: Stopped, code: u64, now: Millis) -> Self {
        Self { why, code, retry_at: 0, tries: 0 }.tried(0, now)
    }

    /// The same stop after this many tries.
    pub(super) fn tried(self, tries: u32, now: Millis) -> Self {
        let pause = TRIES.pause_after(tries + 1, 0).unwrap_or_default();
        Self { retry_at: now.after(pause).0, tries, ..self }
    }
}

/// The pauses between tries of a stopped run.
const TRIES: Retry = Retry::parse("1m..1h");

/// How the run ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Ended {
    pub(super) phase: RunPhase,
    pub(super) at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cleanup_error: Option<String>,
}

impl Record {
    pub(super) fn new(seed: u64, input: u64, Now { at: now, mark }: Now) -> Self {
        Self { generation: 1, seed, mark: Some(mark), input, started_at: now.0, ..Self::default() }
    }

    pub(super) fn position(&self, op: impl AsRef<str>) -> Option<usize> {
        let op = op.as_ref();
        self.pending.iter().position(|pending| pending.op.as_str() == op)
    }

    pub(super) fn pending(&self) -> impl Iterator<Item = &Pending> {
        self.pending.iter().map(|pending| &**pending)
    }

    /// The pending operations, with the hashes of their requests. `None` if the body is gone, or has
    /// entries that are not delivered yet.
    pub(super) fn waits(&self) -> Option<Waits> {
        let has_body = self.end.is_none() && !self.winds_down() && self.untold == 0;
        has_body.then(|| self.pending().map(|pending| (pending.op.clone(), pending.hash)).collect())
    }

    /// Whether the body, or the `#[cancelled]` body, may continue.
    pub(super) fn goes_on(&self) -> bool {
        self.end.is_none() && self.stopped.is_none()
    }

    /// Whether the body is gone, and the last steps are awaited or steps are undone.
    pub(super) fn winds_down(&self) -> bool {
        self.undoes() || self.end.is_none() && self.cancel.as_ref().is_some_and(|cancel| cancel.began.is_none())
    }

    /// Whether the run was cancelled and waits for the steps that ran then. Undos and the `#[cancelled]`
    /// body begin later.
    pub(super) fn awaits_last_steps(&self) -> bool {
        self.winds_down() && !self.undoes() && !self.pending.is_empty()
    }

    /// Whether steps are being undone.
    pub(super) fn undoes(&self) -> bool {
        self.end.is_none() && self.undos.is_under_way()
    }

    /// Whether a generation waits for a turn of its own to begin.
    pub(super) fn is_deferred(&self) -> bool {
        self.untold > 0 && self.goes_on() && !self.winds_down()
    }

    /// Whether the run is paused, so that nothing may begin.
    pub(super) fn is_held(&self) -> bool {
        self.paused.is_some()
    }

    /// Whether due timers must wait.
    pub(super) fn holds_timers(&self) -> bool {
        self.is_held() && !Bug::PausedTimerFires.planted()
    }

    /// The generation in whose lane the journal lies.
    pub(super) fn journal(&self) -> u32 {
        if self.lane == 0 { self.generation } else { self.lane }
    }

    /// Whether the journal lies in the record, and not in rows.
    pub(super) fn is_brief(&self) -> bool {
        self.brief.len() == self.entries
    }

    /// Adds an entry to the journal, and returns the rows to put: none while the journal is short; all
    /// entries when it becomes long.
    pub(super) fn add_entry(&mut self, text: Bytes) -> Vec<Row> {
        let (number, is_added) = (self.entries, self.is_brief() && self.brief.add(&text));
        self.entries += 1;
        self.bytes += text.len() as u64;
        if is_added {
            return Vec::new();
        }
        let lane = journal::lane(self.journal());
        let rows = self.brief.take().chain([(number, text)]);
        rows.map(|(number, body)| Row { lane: lane.clone(), key: journal::row_key(number), body }).collect()
    }

    /// The limit of a journal that this journal has reached (W11). Limits are needed because a replay reads
    /// the whole journal at once.
    pub(super) fn journal_limit(&self) -> Option<(&'static str, usize)> {
        let limits = [
            (self.entries, "journal entries", journal::ENTRIES_MAX),
            (self.bytes, "bytes in its journal", journal::ALL_BYTES_MAX),
        ];
        limits.into_iter().find(|(has, _, max)| has >= max).map(|(_, what, max)| (what, max as usize))
    }

    /// The rows of the journal that must be read first; `None` if the record has all entries.
    pub(super) fn unread(&self) -> Option<Range> {
        (!self.is_brief()).then(|| journal::range(self.journal(), 0, self.entries))
    }

    /// The whole journal. The outer error names the rows to read first.
    pub(super) fn entries_in(&self, rows: &Rows) -> Result<Result<Vec<Entry>, String>, Range> {
        let texts = self.texts_in(rows, 0, self.entries)?;
        Ok(texts.into_iter().map(|(number, text)| Entry::of_text(number, text)).collect())
    }

    /// The texts of entries, with their numbers, from `from` up to, not including, `until`.
    pub(super) fn texts_in<'a>(&'a self, rows: &'a Rows, from: u64, until: u64) -> Result<Vec<(u64, &'a [u8])>, Range> {
        if self.is_brief() {
            return Ok((from..until).filter_map(|number| Some((number, self.brief.get(number)?))).collect());
        }
        let range = journal::range(self.journal(), from, until);
        let rows = rows.get(&range).ok_or(range)?;
        Ok(rows.iter().map(|row| (journal::number_of(&row.key), &row.body[..])).collect())
    }

    /// The steps whose code should run now. Of a paused run, these are the steps that ran before.
    pub(super) fn steps_due(&self, now: Millis) -> impl Iterator<Item = (&Pending, &Stepping)> {
        let goes_on = self.goes_on();
        let due = move |step: &Stepping| goes_on && step.retry_at.is_none_or(|at| at <= now.0);
        let may_run = |op: &OpId| self.paused.as_ref().is_none_or(|paused| paused.runs.iter().any(|runs| runs == op));
        let steps = self.pending().filter_map(|pending| Some((pending, pending.step()?)));
        steps.filter(move |(pending, step)| due(step) && may_run(&pending.op))
    }

    pub(super) fn phase(&self) -> RunPhase {
        if let Some(end) = &self.end {
            return end.phase;
        }
        if self.is_held() {
            return RunPhase::Paused;
        }
        match &self.stopped {
            Some(Halted { why: Stopped::Panicked { .. }, .. }) => return RunPhase::Panicked,
            Some(Halted { why: Stopped::Diverged(_), .. }) => return RunPhase::Diverged,
            None => {}
        }
        if self.undoes() {
            return RunPhase::Undoing;
        }
        if self.cancel.is_some() {
            return RunPhase::Cancelling;
        }
        let runs = self.pending().filter_map(Pending::step).any(|step| step.retry_at.is_none());
        if runs { RunPhase::Running } else { RunPhase::Suspended }
    }

    /// The status of the run for the kernel. A run that waits only for an event rests: the sender of the
    /// event wakes it.
    pub(super) fn status(&self, alarm: Option<Millis>) -> Status {
        let phase = self.phase();
        let word = phase.word();
        match phase {
            RunPhase::Running | RunPhase::Undoing => Status::live(word),
            // Steps that ran when the pause began wake the run. Steps released since then do not.
            RunPhase::Paused
                if self.paused.iter().flat_map(|paused| &paused.runs).any(|op| self.position(op).is_some()) =>
            {
                Status::live(word)
            }
            RunPhase::Suspended | RunPhase::Cancelling if alarm.is_some() => Status::live(word),
            RunPhase::Panicked | RunPhase::Diverged => Status::failing(word),
            _ => Status::resting(word),
        }
    }

    /// When something is due next by itself.
    pub(super) fn next_due(&self) -> Option<i64> {
        if self.holds_timers() {
            return None;
        }
        if let Some(halted) = &self.stopped {
            return Some(halted.retry_at);
        }
        if let Some(began) = self.undos.began.filter(|_| self.undoes() && self.pending.is_empty()) {
            return Some(began.at);
        }
        // A wait that asks its topic holds back everything that is due later than its deadline: the topic's
        // answer wakes the run, not the clock.
        let leaving = self.pending().filter_map(Pending::leaves_since).min();
        let is_held = |pending: &Pending, at: i64| pending.step().is_none() && leaving.is_some_and(|since| at >= since);
        let due = self.pending().filter_map(|pending| pending.due_at().filter(|at| !is_held(pending, *at)));
        due.min()
    }

    pub(super) fn shown_pending(&self) -> Vec<WaitsFor> {
        self.pending().map(Pending::shown).collect()
    }

    pub(super) fn shown_queues(&self) -> Vec<QueuedEvents> {
        let shown = |(event, queue): (&String, &Queue)| QueuedEvents {
            event: event.clone(),
            count: queue.count,
            overwritten: queue.overwritten,
            expired: queue.expired,
            discarded: queue.discarded,
        };
        self.queues.iter().map(shown).collect()
    }
}
