//! The journal of a run: everything that happened to the run, in order. Each outcome is recorded once.
//! Requests are not recorded, because they follow from the body.

use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use drystone_runtime::{Millis, Name, Range};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{op_id::OpId, update::Update};
use crate::{decode_part, encode, workflow::client::fault::Fault};

/// The limits of a journal (W11): its number of entries, and their bytes in all.
pub(in crate::workflow) const ENTRIES_MAX: u64 = 50_000;
pub(in crate::workflow) const ALL_BYTES_MAX: u64 = 64 << 20;

/// One entry. `op` is the identity of the entry's operation, which an entry of the run itself does not have;
/// `hash` is the hash of the operation's request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::workflow) struct Entry {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::workflow) op: Option<OpId>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(in crate::workflow) hash: u64,
    pub(in crate::workflow) at: i64,
    pub(in crate::workflow) what: What,
}

fn is_zero(hash: &u64) -> bool {
    *hash == 0
}

/// The content of an entry.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::workflow) enum What {
    /// The run began, with these parameters.
    Started(Box<RawValue>),
    /// A step returned this.
    Ok(Box<RawValue>),
    /// A step failed for good, with this error.
    Failed(Box<RawValue>),
    /// A step ended in a fault.
    Fault(Fault),
    /// A sleep is over.
    Woke,
    /// A wait took these events.
    Events(Vec<Box<RawValue>>),
    /// A wait timed out, after this many milliseconds.
    TimedOut(u64),
    /// A caller asked the run to end.
    CancelAsked,
    /// The body was dropped, and the `#[cancelled]` body began with this state.
    CancelBegan(Box<RawValue>),
    /// The run has ended.
    Ended(End),
    /// A later generation began: its number and its parameters.
    StartedAs { generation: u32, input: Box<RawValue> },
    /// The due undos began; afterwards the run ends like this.
    UndoBegan(End),
    /// A caller changed the state by an update.
    Updated(Update),
}

/// How a run ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::workflow) enum End {
    /// With this result.
    Succeeded(Box<RawValue>),
    /// With this error of the body.
    Failed(Box<RawValue>),
    /// With a fault that the body did not catch.
    Fault(Fault),
    /// It was cancelled; the text is the error of its `#[cancelled]` body.
    Cancelled(Option<String>),
    /// It was terminated.
    Terminated,
}

/// The outcome that is delivered to an operation.
#[derive(Clone, Debug)]
pub(in crate::workflow) enum Recorded {
    Ok(Bytes),
    Failed(Bytes),
    Fault(Fault),
    Woke,
    Events(Vec<Bytes>),
    TimedOut { after: Duration },
}

impl Recorded {
    /// A noun for messages.
    pub(in crate::workflow) fn noun(&self) -> &'static str {
        match self {
            Self::Ok(_) | Self::Failed(_) | Self::Fault(_) => "the end of a step",
            Self::Woke => "the end of a sleep",
            Self::Events(_) => "events",
            Self::TimedOut { .. } => "the end of a wait",
        }
    }
}

impl Entry {
    pub(in crate::workflow) fn new(op: &OpId, hash: u64, at: Millis, what: What) -> Self {
        Self { op: Some(op.clone()), hash, at: at.0, what }
    }

    /// An entry of the run itself.
    pub(in crate::workflow) fn of_run(at: Millis, what: What) -> Self {
        Self { op: None, hash: 0, at: at.0, what }
    }

    /// The text of the operation's identity, which is empty for an entry of the run itself.
    pub(in crate::workflow) fn op_text(&self) -> &str {
        self.op.as_ref().map_or("", OpId::as_str)
    }

    /// The first entry of a generation's journal.
    pub(in crate::workflow) fn start(generation: u32, at: Millis, input: Box<RawValue>) -> Self {
        let what = if generation == 1 { What::Started(input) } else { What::StartedAs { generation, input } };
        Self::of_run(at, what)
    }

    /// The input of the generation, if this entry is its start.
    pub(in crate::workflow) fn input(&self) -> Option<&RawValue> {
        match &self.what {
            What::Started(input) | What::StartedAs { input, .. } => Some(input),
            _ => None,
        }
    }

    /// The outcome to deliver to the operation; `None` for an entry that belongs to no operation.
    pub(in crate::workflow) fn recorded(&self) -> Option<Recorded> {
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

    /// Reads the entry with this number.
    pub(in crate::workflow) fn of_text(number: u64, text: &[u8]) -> Result<Self, String> {
        // Journals may be long, so the name of a row is formatted only for an entry that cannot be read.
        serde_json::from_slice(text).or_else(|_| decode_part(&format!("journal[{number}]"), text))
    }

    pub(in crate::workflow) fn written(&self) -> Result<Bytes, String> {
        encode(self)
    }
}

/// The lane of a generation's journal.
pub(in crate::workflow) fn lane(generation: u32) -> Name {
    if generation == 1 { Name::new("journal/1") } else { Name::from(format!("journal/{generation}")) }
}

/// The key of an entry's row.
pub(in crate::workflow) fn row_key(number: u64) -> Bytes {
    let mut key = BytesMut::with_capacity(8);
    key.put_u64(number);
    key.freeze()
}

/// The number of the entry with this row key.
pub(in crate::workflow) fn number_of(key: &[u8]) -> u64 {
    key.try_into().map_or(u64::MAX, u64::from_be_bytes)
}

/// The rows of the entries from `from` up to, not including, `until`.
pub(in crate::workflow) fn range(generation: u32, from: u64, until: u64) -> Range {
    let limit = u32::try_from(until.saturating_sub(from)).unwrap_or(u32::MAX);
    Range { from: Some(row_key(from)), ..Range::first(lane(generation), limit) }
}
