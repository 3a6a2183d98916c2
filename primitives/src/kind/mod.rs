//! The interface of a kind: pure functions over a record of its own.
//!
//! A kind says how entities behave. The kinds of this library are in [`kinds`](crate::kinds), for example
//! [`continuous`](crate::kinds::continuous), [`buffer`](crate::kinds::buffer) and
//! [`object`](crate::kinds::object). A kind written anywhere else uses the same interface (E13). A kind is a
//! module of a fixed shape, named by its path in `#[primitive(my_crate::debounce, quiet = "2s")]`:
//!
//! - `Options`: the options that the attribute sets. `Options::NEW` has the defaults. Each option is a
//!   `const fn` that takes the literal or constant and returns `Self`; a flag, such as `strict_order`, takes
//!   nothing. `Options::checked(self) -> Self`, also `const`, is called last and panics if the options do
//!   not fit together. [`Kind`] is implemented for `Options`.
//! - `Verbs<T, I>`: the handle that callers hold, made with [`verbs!`](crate::verbs). `T` is the author's
//!   struct, and `I` is the input of its hook.
//! - One empty struct per hook, with the hook's name in lower case, and [`TakenBy`](crate::author::TakenBy)
//!   for the input of that hook. The author writes `#[hook(name)]`.
//!
//! A kind has no I/O, no clock and no memory: it sees only its [`Turn`], and changes the record and the
//! commit in it.

pub(crate) mod attempts;
#[cfg(test)]
pub(crate) mod harness;
mod piece;
mod turn;
mod verbs;

use drystone_runtime::{Error, Range, Ticket};
use serde::{Serialize, de::DeserializeOwned};

pub use attempts::Attempts;
pub(crate) use piece::{Input, row_in};
pub use piece::{Items, Piece};
pub(crate) use turn::Author;
pub use turn::Turn;

use crate::{Failure, Stored, encode};
use bytes::Bytes;

/// The behaviour of the entities of a kind. `self` is the options of one definition.
///
/// All functions are pure: the same arguments give the same answer.
pub trait Kind: Serialize + Send + Sync + 'static {
    /// `primitive:type`.
    const NAME: &'static str;
    /// The kind's own verbs, which are answered while author code runs (E3).
    const VERBS: &'static [&'static str];
    /// The verbs that bind an unbound key if a state can be made (E1).
    const BINDING: &'static [&'static str] = &[];
    /// Whether author code may set the alarm. Otherwise the alarm belongs to the kind.
    const AUTHOR_SETS_ALARM: bool = false;
    /// Whether every piece of work of this kind has a [mark](Piece::mark) of its own. Otherwise all pieces
    /// share the mark of the turn that bound the entity.
    const MARKS_WORK: bool = false;

    /// The stored record of an entity.
    type Record: Serialize + DeserializeOwned + Default + Clone + Send + 'static;

    /// The status of an entity, as callers see it.
    type Status: Stored;

    /// Sets the status and the first alarm of an entity that this turn binds.
    fn born(&self, turn: &mut Turn<'_, Self::Record>);

    /// Answers `start()` on a bound entity: changes the record, and returns the caller's answer.
    /// `start_with(state)` and a `#[create]` ask this, too; there the answer [`Started::Resumed`] is
    /// refused, and the turn is dropped.
    fn restart(&self, _turn: &mut Turn<'_, Self::Record>) -> Started {
        Started::AlreadyRunning
    }

    /// Runs one of the kind's verbs. The body is the JSON array of its parameters.
    fn verb(&self, turn: &mut Turn<'_, Self::Record>, verb: &str, body: &[u8]) -> Result<Answer, Stop>;

    /// Answers a verb that does not bind, on an unbound key where the verb has nothing to do. By default
    /// there is no answer: the caller gets [`NotBound`](Error::NotBound), and a message becomes a dead
    /// letter (M4).
    fn unbound(&self, _verb: &str) -> Option<Answer> {
        None
    }

    /// Handles an alarm that is due.
    fn alarm(&self, _turn: &mut Turn<'_, Self::Record>) -> Result<(), Stop> {
        Ok(())
    }

    /// Handles a held caller that has left, or that was answered after it had left.
    fn gone(&self, _turn: &mut Turn<'_, Self::Record>, _ticket: Ticket) -> Result<(), Stop> {
        Ok(())
    }

    /// Handles the end of a piece of work.
    fn done(&self, turn: &mut Turn<'_, Self::Record>, piece: &Done, ended: Ended) -> Result<(), Stop>;

    /// Ends the entity with this turn: releases the rows that others hold for the entity.
    fn ends(&self, _turn: &mut Turn<'_, Self::Record>) {}

    /// Adapts to options that differ from those that the entity was last run with (E11).
    fn changed(&self, _turn: &mut Turn<'_, Self::Record>) -> Result<(), Stop> {
        Ok(())
    }

    /// Reads the mark in the row of a piece, if the kind keeps marks in rows and not in its record.
    fn mark_in(_row: &[u8]) -> Option<drystone_runtime::Mark> {
        None
    }

    /// Returns the hooks that should run now, as the stored record implies.
    fn work(&self, shown: &Shown<'_, Self::Record>) -> Vec<Piece>;

    /// Adds the input to a piece that was not listed before. `work` is asked after every turn and should be
    /// quick; this function is asked once for each piece and attempt.
    fn prepared(&self, _shown: &Shown<'_, Self::Record>, piece: Piece) -> Piece {
        piece
    }

    /// Handles an alarm that author code has set or cleared.
    fn alarm_set(&self, _turn: &mut Turn<'_, Self::Record>) {}

    /// Returns how often the hook has succeeded, for author code to ask.
    fn run_count(&self, _record: &Self::Record) -> u64 {
        0
    }

    /// Returns the time that the running hook stands for, for author code to ask; `None` for the time at
    /// which it runs.
    fn scheduled_for(&self, _shown: &Shown<'_, Self::Record>) -> Option<crate::Timestamp> {
        None
    }

    /// Returns the status of the entity.
    fn status(&self, shown: &Shown<'_, Self::Record>) -> Self::Status;
}

/// An entity as it is stored.
#[derive(Debug)]
pub struct Shown<'a, R> {
    /// The id of the entity, which no other entity has or had.
    pub id: drystone_runtime::Version,
    /// The name of the entity's definition.
    pub definition: &'a str,
    /// The kind's record.
    pub record: &'a R,
    /// The status, in the word of the kind.
    pub word: &'a str,
    /// When the alarm is due.
    pub alarm: Option<crate::Timestamp>,
    /// The present time.
    pub now: crate::Timestamp,
}

/// The answer of `start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
pub enum Started {
    /// The key was unbound, and this call bound it.
    Started,
    /// The entity had stopped or failed, and resumes with its stored state (C2). Only `start()` answers so.
    Resumed,
    /// The entity was running. Nothing changed.
    AlreadyRunning,
}

/// The answer of a verb.
#[derive(Debug)]
pub enum Answer {
    /// An answer with the commit of this turn.
    Now(Bytes),
    /// A later answer. The caller is held under this name. A later turn answers all callers under the name,
    /// or one caller by its ticket.
    Held(drystone_runtime::Name),
}

impl Answer {
    /// Answers with a value.
    pub fn value<T: Stored>(value: &T) -> Result<Self, Stop> {
        encode(value).map(Self::Now).map_err(Stop::Malformed)
    }

    /// Answers without a value.
    pub fn done() -> Self {
        Self::Now(Bytes::from_static(b"null"))
    }
}

/// Why a turn ends early. Nothing of the turn is written.
#[derive(Debug)]
pub enum Stop {
    /// The turn needs these rows first, and is then asked again.
    Read(Vec<Range>),
    /// The caller gets this error of the verb's own, as JSON. Nothing was done, so the error is not
    /// remembered for an idempotency key (E12).
    Failed(Bytes),
    /// The caller gets this error.
    Refuse(Error),
    /// The input cannot be read.
    Malformed(String),
}

impl Stop {
    /// Refuses with the verb's own error.
    pub fn failed<E: Stored>(error: &E) -> Self {
        encode(error).map_or_else(Self::Malformed, Self::Failed)
    }
}

/// A piece of work that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// The name of its hook.
    pub hook: String,
    /// The number of the run.
    pub number: u64,
    /// The number of the attempt.
    pub attempt: u32,
}

/// How a piece of work ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    /// The work succeeded, and its state is kept.
    Ok,
    /// The work failed, panicked, timed out or was silent for too long. Its changes are not kept.
    Failed(Failure),
}
