//! Work: the author's code that a commit asks for.

use std::{fmt, time::Duration};

use bytes::Bytes;

use super::{Mark, Name};

/// The id of a piece of work: `tick/7`, `batch/3`, `charge#1`. The id stays the same over retries and
/// restarts, and can serve as an idempotency key for other systems.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkId(Name);

impl WorkId {
    /// Makes an id from a text that is unique within the entity.
    pub fn new(text: impl Into<Name>) -> Self {
        Self(text.into())
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub(crate) fn name(&self) -> Name {
        self.0.clone()
    }
}

impl fmt::Debug for WorkId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

impl fmt::Display for WorkId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// A piece of work that should run, derived from what is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// The id of the work.
    pub id: WorkId,
    /// The attempt; the handler counts attempts in its record.
    pub attempt: u32,
    /// How the work borrows the author's struct.
    pub borrow: Borrow,
    /// Whether the work has no effect outside. Such work is polled in the turn, may run before its commit is
    /// durable, and may be run again from its input.
    pub pure: bool,
    /// Whether a result of the work may be stored outside the entity's record (W6). Once the entity has been
    /// read, such work borrows the struct before any call does, so that this result is taken first.
    pub goes_first: bool,
    /// The input of the work.
    pub input: Bytes,
    /// How long one attempt may take, counted from the start of its code.
    pub timeout: Option<Duration>,
    /// How long an attempt may go without a sign of life.
    pub silence: Option<Duration>,
    /// The mark under which the work was recorded, from the record that lists it. If it is `None`, code of a
    /// call or message gets the mark of that call or message. Listed work that an older build recorded has no
    /// mark.
    pub mark: Option<Mark>,
}

impl Work {
    /// Makes work that borrows nothing: a first attempt, without limits.
    pub fn new(id: impl Into<Name>) -> Self {
        Self {
            id: WorkId::new(id),
            attempt: 1,
            borrow: Borrow::None,
            pure: false,
            goes_first: false,
            input: Bytes::new(),
            timeout: None,
            silence: None,
            mark: None,
        }
    }
}

/// How code borrows the author's struct, in the sense of Rust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Borrow {
    /// The code borrows nothing: a verb of the kind, or a step. It never waits for the author's code.
    None,
    /// The code gets a snapshot of the committed state. It never waits either.
    Shared,
    /// The code gets the struct itself: one piece of code at a time, in order of arrival (E3).
    Exclusive,
}
