//! The journal of a run: what has happened to it, in order. Only outcomes are recorded, each once; that something was asked for
//! follows from the body.

use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use drystone_runtime::{Millis, Name, Range};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{fault::Fault, update::Update};
use crate::{decode_part, encode};

/// The longest journal: how many entries it has, and how many bytes they have in all (W11).
pub(super) const ENTRIES_MAX: u64 = 50_000;
pub(super) const ALL_BYTES_MAX: u64 = 64 << 20;

/// One entry. `op` is the identity of the operation that it belongs to, `hash` that of what it asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) op: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) hash: u64,
    pub(super) at: i64,
    pub(super) what: What,
}

fn is_zero(hash: &u64) -> bool {
    *hash == 0
}

/// What happened.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum What {
    /// The run began, with these parameters.
    Started(Box<RawValue>),
    /// A step returned this.
    Ok(Box<RawValue>),
    /// A step returned this error, for the last time.
    Failed(Box<RawValue>),
    /// A step has no outcome of its own.
    Fault(Fault),
    /// A sleep is over.
    Woke,
    /// A wait has taken these events.
    Events(Vec<Box<RawValue>>),
    /// A wait has ended without them, after so many milliseconds.
    TimedOut(u64),
    /// Somebody wants the run to end.
    CancelAsked,
    /// The body was dropped, and the `#[cancelled]` body began, with this state.
    CancelBegan(Box<RawValue>),
    /// The run has ended.
    Ended(End),
    /// A later generation began: its number, and its parameters.
    StartedAs { generation: u32, input: Box<RawValue> },
    /// What is due is undone, and then the run ends so.
    UndoBegan(End),
    /// Somebody has changed the state that the body sees.
    Updated(Update),
}

/// How a run ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum End {
    /// With this result.
    Succeeded(Box<RawValue>),
    /// With this error of its body.
    Failed(Box<RawValue>),
    /// With a fault that its body did not catch.
    Fault(Fault),
    /// It was cancelled; what went wrong with its `#[cancelled]` body.
    Cancelled(Option<String>),
    /// It was terminated.
    Terminated,
}

/// What an operation is told.
#[derive(Clone, Debug)]
pub(super) enum Recorded {
    Ok(Bytes),
    Failed(Bytes),
    Fault(Fault),
    Woke,
    Events(Vec<Bytes>),
    TimedOut { after: Duration },
}

impl Recorded {
    /// What it is, in words.
    pub(super) fn noun(&self) -> &'static str {
        match self {
            Self::Ok(_) | Self::Failed(_) | Self::Fault(_) => "the end of a step",
            Self::Woke => "the end of a sleep",
            Self::Events(_) => "events",
            Self::TimedOut { .. } => "the end of a wait",
        }
    }
}

impl Entry {
    pub(super) fn new(op: &str, hash: u64, at: Millis, what: What) -> Self {
        Self { op: op.to_owned(), hash, at: at.0, what }
    }

    /// An entry of the run itself.
    pub(super) fn of_run(at: Millis, what: What) -> Self {
        Self::new("", 0, at, what)
    }

    /// The entry that the journal of a generation begins with.
    pub(super) fn start(generation: u32, at: Millis, input: Box<RawValue>) -> Self {
        let what = if generation == 1 { What::Started(input) } else { What::StartedAs { generation, input } };
        Self::of_run(at, what)
    }

    /// What the run began with, if this is its start.
    pub(super) fn input(&self) -> Option<&RawValue> {
        match &self.what {
            What::Started(input) | What::StartedAs { input, .. } => Some(input),
            _ => None,
        }
    }

    /// What its operation is told; `None` if it belongs to none.
    pub(super) fn recorded(&self) -> Option<Recorded> {
        let bytes = |raw: &RawValue| Bytes::copy_from_slice(raw.get().as_bytes());
        Some(match &self.what {
            What::Ok(value) => Recorded::Ok(bytes(value)),
            What::Failed(error) => Recorded::Failed(bytes(error)),
            What::Fault(fault) => Recorded::Fault(fault.clone()),
            What::Woke => Recorded::Woke,
            What::Events(events) => Recorded::Events(events.iter().map(|event| bytes(event)).collect()),
            What::TimedOut(millis) => Recorded::TimedOut { after: Duration::from_millis(*millis) },
            What::Started(_)
            | What::StartedAs { .. }
            | What::CancelAsked
            | What::CancelBegan(_)
            | What::Ended(_)
            | What::UndoBegan(_)
            | What::Updated(_) => {
                return None;
            }
        })
    }

    /// The entry of this number.
    pub(super) fn of_text(number: u64, text: &[u8]) -> Result<Self, String> {
        // A long journal has many rows: only one that cannot be read is named.
        serde_json::from_slice(text).or_else(|_| decode_part(&format!("journal[{number}]"), text))
    }

    pub(super) fn written(&self) -> Result<Bytes, String> {
        encode(self)
    }
}

/// The lane of a generation's journal.
pub(super) fn lane(generation: u32) -> Name {
    if generation == 1 { Name::new("journal/1") } else { Name::from(format!("journal/{generation}")) }
}

/// The key of an entry's row.
pub(super) fn row_key(number: u64) -> Bytes {
    let mut key = BytesMut::with_capacity(8);
    key.put_u64(number);
    key.freeze()
}

/// The number of the entry in a row of this key.
pub(super) fn number_of(key: &[u8]) -> u64 {
    key.try_into().map_or(u64::MAX, u64::from_be_bytes)
}

/// The entries from one number to before another.
pub(super) fn range(generation: u32, from: u64, until: u64) -> Range {
    let limit = u32::try_from(until.saturating_sub(from)).unwrap_or(u32::MAX);
    Range { from: Some(row_key(from)), ..Range::first(lane(generation), limit) }
}
