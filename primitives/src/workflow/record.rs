//! What is stored of a run beside its journal and its state: what it waits for, and where it stands.

use std::collections::BTreeMap;

use bytes::Bytes;
use drystone_runtime::{Key, Mark, Message, Millis, Name, Now, Range, Row, Rows, Status};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    brief::Brief,
    called::KeyText,
    history::Waits,
    journal::{self, Entry},
    pending::{Pending, Stepping},
    status::{QueuedEvents, RunPhase, Stopped, WaitsFor},
    undo::Undos,
    written::{self, Written},
};
use crate::{Retry, planted::Bug, stored::is_default, topics::wire::Seen};

/// The record of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Record {
    /// Counted from 1: the same key may begin anew.
    pub(super) generation: u32,
    /// What chance begins with.
    pub(super) seed: u64,
    /// The mark that its generation began under: it is a part of the work ids of its steps.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::stored::mark")]
    pub(super) mark: Option<Mark>,
    /// The hash of its input.
    pub(super) input: u64,
    pub(super) started_at: i64,
    /// How many entries the journal has.
    pub(super) entries: u64,
    /// How many bytes they have.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) bytes: u64,
    /// All of them, as long as they are few; then they lie in rows.
    #[serde(default, skip_serializing_if = "Brief::is_empty")]
    pub(super) brief: Brief,
    /// How many of them the body was told: all, unless it was stopped.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) untold: u64,
    /// What it waits for, in the order in which it asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty", serialize_with = "written::parts")]
    pub(super) pending: Vec<Written<Pending>>,
    /// How many inputs lie in rows of their own, of all time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) inputs: u64,
    /// How many events were sent, of all time.
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
    /// The run that began it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<Parent>,
    /// The permits that it holds or waits for, by operation.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) permits: BTreeMap<String, Permit>,
    /// The generation in whose lane the journal lies, if it is not this one: what was kept of it stays where it is.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) lane: u32,
    /// How many entries were kept of the generation before.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) kept: u64,
    /// How often all events that were queued were let go: their lanes are numbered by it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) drops: u32,
    /// How many ends of steps came too late: let go before, or of older generations.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) late: u64,
    /// Whether it was told that it waits for very much at once (W11).
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) is_wide: bool,
    /// Which versions of its code it is pinned to (R5).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) versions: BTreeMap<String, u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) paused: Option<Paused>,
    /// What is due to be undone.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) undos: Undos,
    /// The schedule that waits for its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) notify: Option<Notify>,
    /// The last that was seen of each log that is read on, for as long as the log may keep it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) seen: BTreeMap<String, LastSeen>,
    /// Messages that were more than one commit may send.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) owes: Owes,
    /// Whether it was destroyed, and goes when nothing of it is left to be told.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) goes: bool,
}

/// The last event that a run has seen of a log, and when it was published.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct LastSeen {
    #[serde(flatten)]
    pub(super) seen: Seen,
    #[serde(default)]
    pub(super) at: i64,
}

/// The rows of messages that are still to be sent: those from a number to before another.
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
}

impl Owed {
    pub(super) fn of(message: &Message) -> Option<Self> {
        Some(Self {
            space: message.to.space.to_string(),
            key: KeyText::of(&message.to.key),
            definition: message.definition.to_string(),
            verb: message.verb.to_string(),
            body: crate::decode(&message.body).ok()?,
        })
    }

    pub(super) fn message(self) -> Option<Message> {
        let to = Key::new(Name::from(self.space), self.key.bytes()).ok()?;
        let body = Bytes::from(String::from(Box::<str>::from(self.body)));
        Some(Message { to, definition: Name::from(self.definition), verb: Name::from(self.verb), body })
    }
}

/// A schedule that waits for the end of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Notify {
    /// Its key.
    pub(super) schedule: Vec<u8>,
    /// The time that the run stands for.
    pub(super) time: i64,
}

/// A permit that was asked for, and has not been let go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Permit {
    /// The primitive of its semaphore.
    pub(super) definition: String,
    pub(super) key: KeyText,
    /// The run has heard that it was given.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_given: bool,
}

/// A run that waits, and where in it: for another's end (L6), or for an event of a topic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Parent {
    pub(crate) space: String,
    pub(crate) key: KeyText,
    pub(crate) definition: String,
    pub(crate) op: String,
    pub(crate) generation: u32,
    pub(crate) seed: u64,
}

/// Somebody holds the run (H2).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Paused {
    /// Since when.
    pub(super) at: i64,
    /// Steps that ran then, and have not ended yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) runs: Vec<String>,
    /// What was asked for since, and when.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) asked: BTreeMap<String, i64>,
}

/// Events of one type that wait to be taken.
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
    /// Whether some were lost: that is told for as long as the run is there.
    pub(super) fn has_lost(&self) -> bool {
        self.overwritten + self.expired + self.discarded > 0
    }
}

/// Somebody wants the run to end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Cancel {
    /// The entry with which the `#[cancelled]` body began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) began: Option<u64>,
}

/// Why the body is not polled.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Halted {
    pub(super) why: Stopped,
    /// The hash of the code that it was: other code is tried.
    pub(super) code: u64,
    /// What has changed may not show in that: now and then it is tried all the same.
    pub(super) retry_at: i64,
    pub(super) tries: u32,
}

impl Halted {
    pub(super) fn new(why: Stopped, code: u64, now: Millis) -> Self {
        Self { why, code, retry_at: 0, tries: 0 }.tried(0, now)
    }

    /// The same after so many tries.
    pub(super) fn tried(self, tries: u32, now: Millis) -> Self {
        let pause = TRIES.pause_after(tries + 1, 0).unwrap_or_default();
        Self { retry_at: now.after(pause).0, tries, ..self }
    }
}

/// The pauses between tries of a run that was stopped.
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

    pub(super) fn position(&self, op: &str) -> Option<usize> {
        self.pending.iter().position(|pending| pending.op == op)
    }

    pub(super) fn pending(&self) -> impl Iterator<Item = &Pending> {
        self.pending.iter().map(|pending| &**pending)
    }

    /// What the body waits for, with the hash of what it asked; `None` if it is gone, or was not told all there is.
    pub(super) fn waits(&self) -> Option<Waits> {
        let has_body = self.end.is_none() && !self.winds_down() && self.untold == 0;
        has_body.then(|| self.pending().map(|pending| (pending.op.clone(), pending.hash)).collect())
    }

    /// Whether its body, or its `#[cancelled]` body, may go on.
    pub(super) fn goes_on(&self) -> bool {
        self.end.is_none() && self.stopped.is_none()
    }

    /// Whether the body is gone: steps that run are waited for, and what is due is undone.
    pub(super) fn winds_down(&self) -> bool {
        self.undoes() || self.end.is_none() && self.cancel.as_ref().is_some_and(|cancel| cancel.began.is_none())
    }

    /// Whether it was cancelled and waits for steps that ran then. Undos and the `#[cancelled]` body begin later.
    pub(super) fn awaits_last_steps(&self) -> bool {
        self.winds_down() && !self.undoes() && !self.pending.is_empty()
    }

    /// Whether steps are being undone.
    pub(super) fn undoes(&self) -> bool {
        self.end.is_none() && self.undos.is_under_way()
    }

    /// Whether a generation has not begun yet.
    pub(super) fn is_deferred(&self) -> bool {
        self.untold > 0 && self.goes_on() && !self.winds_down()
    }

    /// Whether nothing of it may begin.
    pub(super) fn is_held(&self) -> bool {
        self.paused.is_some()
    }

    /// Whether what is due must wait.
    pub(super) fn holds_timers(&self) -> bool {
        self.is_held() && !Bug::PausedTimerFires.planted()
    }

    /// The number of the lane that the journal lies in.
    pub(super) fn journal(&self) -> u32 {
        if self.lane == 0 { self.generation } else { self.lane }
    }

    /// Whether the journal lies here, and not in rows.
    pub(super) fn is_brief(&self) -> bool {
        self.brief.len() == self.entries
    }

    /// One more entry is in the journal. The rows that it takes: none, or those of all entries that lay here before.
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

    /// Which limit of a journal it has reached, and what of (W11): all of it is read at once.
    pub(super) fn journal_limit(&self) -> Option<(&'static str, usize)> {
        let limits = [
            (self.entries, "journal entries", journal::ENTRIES_MAX),
            (self.bytes, "bytes in its journal", journal::ALL_BYTES_MAX),
        ];
        limits.into_iter().find(|(has, _, max)| has >= max).map(|(_, what, max)| (what, max as usize))
    }

    /// What must be read of the journal before all of it is here.
    pub(super) fn unread(&self) -> Option<Range> {
        (!self.is_brief()).then(|| journal::range(self.journal(), 0, self.entries))
    }

    /// The whole journal; the rows that it needs if they were not read.
    pub(super) fn entries_in(&self, rows: &Rows) -> Result<Result<Vec<Entry>, String>, Range> {
        let texts = self.texts_in(rows, 0, self.entries)?;
        Ok(texts.into_iter().map(|(number, text)| Entry::of_text(number, text)).collect())
    }

    /// The texts of entries with their numbers, from one to before another.
    pub(super) fn texts_in<'a>(&'a self, rows: &'a Rows, from: u64, until: u64) -> Result<Vec<(u64, &'a [u8])>, Range> {
        if self.is_brief() {
            return Ok((from..until).filter_map(|number| Some((number, self.brief.get(number)?))).collect());
        }
        let range = journal::range(self.journal(), from, until);
        let rows = rows.get(&range).ok_or(range)?;
        Ok(rows.iter().map(|row| (journal::number_of(&row.key), &row.body[..])).collect())
    }

    /// Steps whose code should run now; of a run that is held, those that ran before.
    pub(super) fn steps_due(&self, now: Millis) -> impl Iterator<Item = (&Pending, &Stepping)> {
        let goes_on = self.goes_on();
        let due = move |step: &Stepping| goes_on && step.retry_at.is_none_or(|at| at <= now.0);
        let may_run = |op: &str| self.paused.as_ref().is_none_or(|paused| paused.runs.iter().any(|runs| runs == op));
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

    /// What its phase means to the kernel: one that waits for an event alone is woken by whoever sends it.
    pub(super) fn status(&self, alarm: Option<Millis>) -> Status {
        let phase = self.phase();
        let word = phase.word();
        match phase {
            RunPhase::Running | RunPhase::Undoing => Status::live(word),
            // The steps that ran then wake it; those that it has let go since do not.
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

    /// When something is due next without anybody's doing.
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
        // A wait that asks its topic holds back what is due later than its deadline: the answer wakes the run, not the clock.
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
