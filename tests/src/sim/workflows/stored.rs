//! Parts of the stored record, journal and queues of a run, as far as the checks need them.

use std::collections::BTreeMap;

use drystone::{Fault, RunError, workflow::RunPhase};
use serde::Deserialize;
use serde_json::Value;

use super::{Told, Trip};
use crate::sim::apps::Errand;

/// The record of a run.
#[derive(Clone, Debug, Default, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Record {
    pub generation: u32,
    pub seed: u64,
    pub entries: u64,
    #[serde(default)]
    pub untold: u64,
    #[serde(default)]
    pub started_at: i64,
    #[serde(default)]
    pub lane: u32,
    #[serde(default)]
    pub kept: u64,
    #[serde(default)]
    pub paused: Option<Paused>,
    #[serde(default)]
    pub parent: Option<ParentOf>,
    #[serde(default)]
    pub permits: BTreeMap<String, Value>,
    #[serde(default)]
    pub pending: Vec<Pending>,
    #[serde(default)]
    pub events: u64,
    #[serde(default)]
    pub queues: BTreeMap<String, QueueOf>,
    #[serde(default)]
    pub cancel: Option<serde_json::Value>,
    #[serde(default)]
    pub stopped: Option<Halted>,
    #[serde(default)]
    pub end: Option<Ended>,
    #[serde(default)]
    pub undos: Undos,
    #[serde(default)]
    pub goes: bool,
}

/// A pause of the run.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Paused {
    pub at: i64,
    #[serde(default)]
    pub runs: Vec<String>,
}

/// The parent of the run.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct ParentOf {
    pub key: String,
    pub op: String,
    pub generation: u32,
}

/// The state of the undos.
#[derive(Clone, Debug, Default, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Undos {
    #[serde(default)]
    pub began: Option<Began>,
    #[serde(default)]
    pub is_over: bool,
}

/// The time at which undoing began.
#[derive(Clone, Copy, Debug, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Began {
    pub at: i64,
}

/// Why a run is stopped, and when it is tried again.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Halted {
    pub why: serde_json::Value,
    pub retry_at: i64,
}

/// The end of a run.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Ended {
    pub phase: RunPhase,
    pub at: i64,
}

/// A pending operation.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Pending {
    pub op: String,
    pub what: Waiting,
}

/// The kind of a pending operation.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "as the kind names them")]
pub enum Waiting {
    Step(Stepping),
    Sleep(i64),
    Event(Awaited),
    Child(Childing),
}

/// A pending child.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Childing {
    pub key: String,
    /// `None` once the child was begun.
    #[serde(default)]
    pub input: Option<Value>,
    #[serde(default)]
    pub is_abandoned: bool,
}

/// A pending step.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Stepping {
    pub attempt: u32,
    #[serde(default)]
    pub retry_at: Option<i64>,
    #[serde(default)]
    pub claimed: bool,
}

/// A pending wait for events.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Awaited {
    #[serde(default)]
    pub until: Option<(i64, u64)>,
}

/// The queued events of one type.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct QueueOf {
    pub count: u64,
    #[serde(default)]
    pub overwritten: u64,
    #[serde(default)]
    pub expired: u64,
    #[serde(default)]
    pub discarded: u64,
}

impl Record {
    /// The number of the lane that contains the journal.
    pub fn journal(&self) -> u32 {
        if self.lane == 0 { self.generation } else { self.lane }
    }

    /// Whether the generation waits for a turn of its own to begin.
    pub fn is_deferred(&self) -> bool {
        (self.entries, self.untold) == (1, 1) && self.stopped.is_none()
    }

    /// The pending step of this operation.
    pub fn step(&self, op: &str) -> Option<&Stepping> {
        self.pending.iter().find(|pending| pending.op == op).and_then(|pending| match &pending.what {
            Waiting::Step(step) => Some(step),
            _ => None,
        })
    }
}

impl Pending {
    /// The time at which the operation is due.
    pub fn due_at(&self) -> Option<i64> {
        match &self.what {
            Waiting::Step(step) => step.retry_at,
            Waiting::Sleep(until) => Some(*until),
            Waiting::Event(awaited) => awaited.until.map(|(until, _)| until),
            Waiting::Child(_) => None,
        }
    }
}

/// An entry of a journal.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Entry {
    #[serde(default)]
    pub op: String,
    pub at: i64,
    pub what: What,
}

impl Entry {
    /// The input in an entry that begins a generation.
    pub fn trip(&self) -> Option<&Trip> {
        match &self.what {
            What::Started((trip,)) | What::StartedAs { input: (trip,), .. } => Some(trip),
            _ => None,
        }
    }

    /// Whether the body has ended before this entry.
    pub fn is_of_the_end(&self) -> bool {
        matches!(self.what, What::Ended(_) | What::UndoBegan(_))
    }

    /// The return value of a step.
    pub fn value(&self) -> Option<u64> {
        match &self.what {
            What::Ok(value) => value.as_u64(),
            _ => None,
        }
    }

    /// The answer of a till.
    pub fn rung(&self) -> Option<u64> {
        match &self.what {
            What::Ok(answer) => answer.get(0)?.as_u64(),
            _ => None,
        }
    }

    /// The key of a detached child.
    pub fn began(&self) -> Option<String> {
        match &self.what {
            What::Ok(key) => key.as_str().map(str::to_owned),
            _ => None,
        }
    }

    /// The end of a child.
    pub fn ended(&self) -> Option<Result<Box<Told>, RunError<String>>> {
        match &self.what {
            What::Ok(told) => serde_json::from_value(told.clone()).ok().map(Ok),
            What::Failed(error) => serde_json::from_value(error.clone()).ok().map(Err),
            _ => None,
        }
    }
}

/// The content of an entry.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "as the kind names them")]
pub enum What {
    Started((Trip,)),
    StartedAs { generation: u32, input: (Trip,) },
    Ok(Value),
    Failed(Value),
    Fault(Fault),
    Woke,
    Events(Vec<Ledgered>),
    TimedOut(u64),
    CancelAsked,
    CancelBegan(Errand),
    Ended(End),
    UndoBegan(End),
    Updated(Update),
}

/// An update of the state.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Update {
    pub input: (u64,),
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "as the kind names them")]
pub enum End {
    Succeeded(Told),
    Failed(String),
    Fault(Fault),
    Cancelled(Option<String>),
    Terminated,
}

/// The fields that events have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[expect(missing_docs, reason = "as the events name them")]
pub struct Ledgered {
    pub number: u64,
    #[serde(default)]
    pub shelf: Option<u8>,
}

/// A queued event.
#[derive(Clone, Copy, Debug, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Queued {
    pub at: i64,
    pub event: Ledgered,
}

/// Splits the name of a step's work into generation and operation.
pub fn of_work(work: &str) -> (u32, &str) {
    let numbered = work.strip_prefix('@').and_then(|rest| rest.split_once('/'));
    numbered.and_then(|(generation, op)| Some((generation.parse().ok()?, op))).unwrap_or((1, work))
}

/// The name of the work of an operation.
pub fn work_name(generation: u32, op: &str) -> String {
    if generation == 1 { op.to_owned() } else { format!("@{generation}/{op}") }
}
