//! Inputs: everything that can wake an entity.

use std::{fmt, time::Duration};

use bytes::Bytes;

use super::{Change, Epoch, Hot, Key, Lifecycle, Message, MessageId, Millis, Name, WorkId};

/// An event that wakes an entity. One turn handles it.
#[derive(Clone, Debug)]
pub enum Input {
    /// A call; its caller waits for the answer.
    Call {
        /// The verb.
        verb: Name,
        /// The argument of the verb.
        body: Bytes,
        /// The waiting caller.
        ticket: Ticket,
        /// The caller's idempotency key.
        once: Option<Idempotency>,
    },
    /// A message from another entity, sent with a commit of the sender.
    Message {
        /// The sender.
        from: Key,
        /// The id of the message.
        id: MessageId,
        /// The verb.
        verb: Name,
        /// The argument of the verb.
        body: Bytes,
    },
    /// The entity's alarm is due.
    Alarm {
        /// The time that the alarm was set for.
        at: Millis,
    },
    /// A piece of work ended. This input comes once per piece and attempt.
    Done {
        /// The piece of work.
        work: WorkId,
        /// The attempt that ended.
        attempt: u32,
        /// The source of the work.
        cause: Cause,
        /// How the work ended.
        outcome: Outcome,
    },
    /// A caller who waited for a held answer has left.
    Gone {
        /// The ticket of that caller.
        ticket: Ticket,
    },
    /// The definition's fingerprint differs from the stored one (E11).
    Changed,
}

impl Input {
    /// Returns a short name of the input for log lines.
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

/// The source of a piece of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The work follows from what is stored: [`Handler::work`](crate::Handler::work) lists it.
    Listed,
    /// A call. The caller with this ticket waits for the end of the work.
    Call(Ticket),
    /// A message.
    Message(MessageId),
}

/// A waiting caller: the epoch in which the call was accepted, and a counter. The caller of a ticket of an
/// older epoch is gone, and a kind that stored the ticket (in a waiting line, for example) drops it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket {
    /// The epoch in which the call was accepted.
    pub epoch: Epoch,
    /// The number of the call.
    pub number: u64,
}

/// The idempotency key of a call (E12). If the call's own commit answers it, the kernel records the reply. A
/// handler that answers in a later commit, perhaps after a crash, keeps this value and passes it to
/// [`Commit::remember`](super::Commit::remember).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// The key, as the caller gave it.
    pub key: Bytes,
    /// A hash of verb and argument. A repeat must have the same hash.
    pub hash: u64,
    /// How long the reply is kept, if the caller set a time.
    pub remember_for: Option<Duration>,
}

/// How a piece of work ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The code returned a value.
    Ok(Produced),
    /// The code returned its own error, encoded.
    Failed(Bytes),
    /// The code was not run, or its result cannot be kept: its input, state or answer cannot be read or
    /// written.
    Refused(Refusal),
    /// The code panicked with this message.
    Panicked(String),
    /// The code ran longer than its timeout.
    TimedOut,
    /// The code showed no sign of life for longer than its limit.
    Silent,
}

impl Outcome {
    /// Makes the outcome of code that was not run, or whose result cannot be kept, for this reason.
    pub fn refused(reason: impl Into<String>) -> Self {
        Self::Refused(Refusal::Other(reason.into()))
    }
}

/// Why code was not run, or why its result cannot be kept. Its text is for people; handlers decide by the
/// variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The handler has no code for this work.
    NoSuchCode,
    /// The row that claims a transaction is not there, so the code was not run (W6).
    NotClaimed,
    /// The store or another entity is in trouble. The code has not failed, so the attempt may be repeated.
    Unavailable(String),
    /// The code cannot read its input.
    Unreadable(String),
    /// Any other reason.
    Other(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchCode => out.write_str("there is no such code"),
            Self::NotClaimed => out.write_str("its row is not there yet"),
            Self::Unavailable(reason) => write!(out, "the store did not give its input: {reason}"),
            Self::Unreadable(reason) => write!(out, "its input cannot be read: {reason}"),
            Self::Other(reason) => out.write_str(reason),
        }
    }
}

/// The result of a piece of work that succeeded.
#[derive(Clone, Debug, Default)]
pub struct Produced {
    /// The value that the code returned.
    pub value: Bytes,
    /// The author's struct, if it was borrowed exclusively and changed.
    pub state: Option<Bytes>,
    /// Messages that the code sent. The commit that takes the result sends these messages.
    pub send: Vec<Message>,
    /// The change of the alarm by the code.
    pub alarm: Change<Millis>,
    /// Events to emit after that commit.
    pub emit: Vec<Lifecycle>,
    /// The decoded struct, to be cached as [`Hot`]. A clone of this value has an empty cache.
    pub hot: Hot,
}
