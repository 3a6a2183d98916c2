//! What a person can see of a key: the `primitive:*` view and `explain` (E14).

use std::fmt;

use bytes::Bytes;

use crate::{Entity, Key, Millis, Name, Parked, WorkId};

/// Everything stored about one entity, under the names of the `primitive:*` view.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The whole record; `kind` is `primitive:type`, `definition` is `primitive:name`, `state` is
    /// `primitive:state`, and the rest is `primitive:meta`.
    pub entity: Entity,
    /// `primitive:config`: the configuration that the entity was last run with, in its visible form.
    pub config: Option<Bytes>,
}

/// What a key waits for.
#[derive(Clone, Debug, PartialEq)]
pub struct Explain {
    /// The key.
    pub key: Key,
    /// The definition that the key is bound to; `None` if the key is unbound.
    pub definition: Option<Name>,
    /// The status word of the entity's kind; `None` if the key is unbound.
    pub status: Option<String>,
    /// Everything that will wake the entity.
    pub waits: Vec<Wait>,
}

/// One wake source of an entity, or the reason why nothing will wake it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wait {
    /// A piece of work is running.
    Work(WorkId),
    /// A piece of work is listed and has not started.
    Listed(WorkId),
    /// The entity's alarm.
    Alarm(Millis),
    /// Messages in the entity's inbox.
    Inbox(usize),
    /// Calls that wait for a turn.
    Calls(usize),
    /// Callers that wait for a held answer.
    Callers(usize),
    /// A commit that is not durable yet.
    Commit,
    /// The process died with the entity often. The entity is held back until the process has lived without
    /// it (W2).
    HeldBack,
    /// The entity may have been running when the process died, and waits until others have run (W2).
    InLine,
    /// Messages that are held in the inbox until `unpark`.
    HeldMessages(usize),
    /// The entity is parked.
    Parked(Parked),
    /// Nothing, which is right: the entity is at rest until a call comes.
    Rest,
    /// Nothing, which is wrong: a bug in Drystone.
    Stuck,
}

impl fmt::Display for Explain {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.status.as_deref().unwrap_or("unbound");
        write!(out, "{}: {status}", self.key)?;
        self.waits.iter().try_for_each(|wait| write!(out, "; {wait}"))
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Work(work) => write!(out, "{work} is running"),
            Self::Listed(work) => write!(out, "{work} is to run"),
            Self::Alarm(at) => write!(out, "its alarm rings at {at}"),
            Self::Inbox(count) => write!(out, "{count} messages are in its inbox"),
            Self::Calls(count) => write!(out, "{count} calls wait for their turn"),
            Self::Callers(count) => write!(out, "{count} callers wait for an answer"),
            Self::Commit => out.write_str("a commit is on its way to the store"),
            Self::HeldBack => out.write_str("it is held back, for the process died with it often"),
            Self::InLine => out.write_str("it waits for its turn after a crash"),
            Self::HeldMessages(count) => write!(out, "{count} messages are held in its inbox until `unpark`"),
            Self::Parked(reason) => write!(out, "it is parked: {reason}"),
            Self::Rest => out.write_str("it is at rest until somebody calls"),
            Self::Stuck => out.write_str("nothing will wake it: please report this as a bug of Drystone"),
        }
    }
}
