//! Everything that can wake an entity.

use std::time::Duration;

use bytes::Bytes;

use super::{Change, Epoch, Hot, Key, Lifecycle, Message, MessageId, Millis, Name, WorkId};

/// One thing that wakes an entity; one turn handles it.
#[derive(Clone, Debug)]
pub enum Input {
    /// Somebody asks, and waits for the answer.
    Call {
        /// What is asked.
        verb: Name,
        /// With what.
        body: Bytes,
        /// Who waits.
        ticket: Ticket,
        /// The caller's idempotency key.
        once: Option<Idempotency>,
    },
    /// Another entity sent this in a commit of its own.
    Message {
        /// Who sent it.
        from: Key,
        /// Which one it is.
        id: MessageId,
        /// What is asked.
        verb: Name,
        /// With what.
        body: Bytes,
    },
    /// The entity's alarm is due.
    Alarm {
        /// When it was set for.
        at: Millis,
    },
    /// A piece of work ended. It comes once per piece and attempt.
    Done {
        /// Which piece.
        work: WorkId,
        /// Which attempt of it.
        attempt: u32,
        /// What called for it.
        cause: Cause,
        /// How it ended.
        outcome: Outcome,
    },
    /// A caller who waited for a held answer has left.
    Gone {
        /// Who it was.
        ticket: Ticket,
    },
    /// The definition's fingerprint differs from the stored one (E11).
    Changed,
}

impl Input {
    /// What to call it in a log line.
    pub fn name(&self) -> Name {
        match self {
            Self::Call { verb, .. } | Self::Message { verb, .. } => verb.clone(),
            Self::Alarm { .. } => Name::new("alarm"),
            Self::Done { work, .. } => work.name(),
            Self::Gone { .. } => Name::new("gone"),
            Self::Changed => Name::new("changed"),
        }
    }
}

/// What called for a piece of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It follows from what is stored: [`Handler::work`](super::Handler::work) lists it.
    Listed,
    /// A call runs it, and this caller waits for it.
    Call(Ticket),
    /// A message runs it.
    Message(MessageId),
}

/// A caller who waits: the epoch that took the call, and a counter. One of an older epoch is gone, and a kind
/// that stored it (a line) drops it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket {
    /// Who took the call.
    pub epoch: Epoch,
    /// Which call it was.
    pub number: u64,
}

/// The idempotency key of a call (E12). The kernel remembers the reply of a call that its own commit answers. A handler that answers
/// in a later commit, perhaps after a crash, keeps this and hands it to [`Commit::remember`](super::Commit::remember).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// The caller's own text.
    pub key: Bytes,
    /// A hash of what is asked: a repeat asks the same.
    pub hash: u64,
    /// How long the reply is remembered, if the caller said so.
    pub remember_for: Option<Duration>,
}

/// How a piece of work ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It returned.
    Ok(Produced),
    /// It returned its own error.
    Failed(Bytes),
    /// It was not run, or what it left cannot be kept: its input, its state or its answer cannot be read or written.
    Refused(String),
    /// It panicked, with this message.
    Panicked(String),
    /// It ran longer than its timeout.
    TimedOut,
    /// It gave no sign of life for longer than its limit.
    Silent,
}

/// What a piece of work brings back.
#[derive(Clone, Debug, Default)]
pub struct Produced {
    /// Its result.
    pub value: Bytes,
    /// The author's struct, if it was borrowed exclusively and changed.
    pub state: Option<Bytes>,
    /// Messages that the code sent; they go out with the commit that takes this.
    pub send: Vec<Message>,
    /// What it said of the alarm.
    pub alarm: Change<Millis>,
    /// What it has to tell, after that commit.
    pub emit: Vec<Lifecycle>,
    /// The decoded struct, to be kept as [`Hot`]; a clone of this value starts without.
    pub hot: Hot,
}
