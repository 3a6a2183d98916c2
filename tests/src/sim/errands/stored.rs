//! The record, the journal and the queues of a run, as they are stored: what the checks need of them.

use std::collections::BTreeMap;

use drystone::{Fault, workflow::RunPhase};
use serde::Deserialize;

use super::{Told, Trip};
use crate::sim::authors::Errand;

/// The record of a run.
#[derive(Clone, Debug, Default, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Record {
    pub generation: u32,
    pub seed: u64,
    pub entries: u64,
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
}

/// What is due to be undone.
#[derive(Clone, Debug, Default, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Undos {
    #[serde(default)]
    pub began: Option<Began>,
    #[serde(default)]
    pub is_over: bool,
}

/// When undoing began.
#[derive(Clone, Copy, Debug, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Began {
    pub at: i64,
}

/// Why a run does not go on, and when it is tried all the same.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Halted {
    pub why: serde_json::Value,
    pub retry_at: i64,
}

/// How a run has ended.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Ended {
    pub phase: RunPhase,
    pub at: i64,
}

/// Something that a run waits for.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Pending {
    pub op: String,
    pub what: Waiting,
}

/// What it waits for.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "as the kind names them")]
pub enum Waiting {
    Step(Stepping),
    Sleep(i64),
    Event(Awaited),
}

/// A step that is waited for.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Stepping {
    pub attempt: u32,
    #[serde(default)]
    pub retry_at: Option<i64>,
}

/// Events that are waited for.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Awaited {
    #[serde(default)]
    pub until: Option<(i64, u64)>,
}

/// Events of one type that are queued.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct QueueOf {
    pub count: u64,
    #[serde(default)]
    pub overwritten: u64,
    #[serde(default)]
    pub expired: u64,
}

impl Record {
    /// The step of this operation, if it is waited for.
    pub fn step(&self, op: &str) -> Option<&Stepping> {
        self.pending.iter().find(|pending| pending.op == op).and_then(|pending| match &pending.what {
            Waiting::Step(step) => Some(step),
            _ => None,
        })
    }
}

impl Pending {
    /// When something is due of it.
    pub fn due_at(&self) -> Option<i64> {
        match &self.what {
            Waiting::Step(step) => step.retry_at,
            Waiting::Sleep(until) => Some(*until),
            Waiting::Event(awaited) => awaited.until.map(|(until, _)| until),
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

/// What happened.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "as the kind names them")]
pub enum What {
    Started((Trip,)),
    Ok(u64),
    Failed(String),
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

/// A change of the state from outside.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Update {
    pub input: (u64,),
}

/// How a run ended.
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

/// What every event holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[expect(missing_docs, reason = "as the events name them")]
pub struct Ledgered {
    pub number: u64,
    #[serde(default)]
    pub shelf: Option<u8>,
}

/// An event in its queue.
#[derive(Clone, Copy, Debug, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Queued {
    pub at: i64,
    pub event: Ledgered,
}
