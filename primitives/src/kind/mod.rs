//! What a kind is written on: pure functions over its own record.
//!
//! A kind says how entities behave; ours are [`continuous`](crate::kinds::continuous),
//! [`buffer`](crate::kinds::buffer) and [`object`](crate::kinds::object), and one written anywhere else takes the same
//! road (E13). It is a module of a fixed shape, named by its path in `#[primitive(my_crate::debounce, quiet = "2s")]`:
//!
//! - `Options`: what the attribute sets. `Options::NEW`, one `const fn` per option that takes the literal or constant and gives
//!   `Self` (one that takes nothing for a flag, `strict_order`), `Options::checked(self) -> Self`, also `const`, which is
//!   called last and panics if they do not fit together, and [`Kind`] implemented for it.
//! - `Verbs<T, I>`: what callers hold, made with [`verbs!`](crate::verbs); `T` is the author's struct, `I` what its hook takes.
//! - one empty struct per hook, with the hook's name in lower case, and [`TakenBy`](crate::author::TakenBy) for what
//!   that hook takes. The author writes `#[hook(name)]`.
//!
//! A kind has no I/O, no clock and no memory: it sees its [`Turn`], and changes the record and the commit in it.

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

/// How the entities of a kind behave. `self` is the options of one definition.
///
/// All functions are pure: asked again with the same arguments they answer alike.
pub trait Kind: Serialize + Send + Sync + 'static {
    /// `primitive:type`.
    const NAME: &'static str;
    /// Its own verbs: answered while the author's code runs (E3).
    const VERBS: &'static [&'static str];
    /// Those of them that bind an unbound key if a state can be made (E1).
    const BINDING: &'static [&'static str] = &[];
    /// Whether the author's code may set the alarm; else it is the kind's own.
    const AUTHOR_SETS_ALARM: bool = false;
    /// Whether every piece of work of this kind has a [mark](Piece::mark) of its own. Otherwise the mark of the turn that
    /// bound the entity is kept for all of them.
    const MARKS_WORK: bool = false;

    /// What it keeps of an entity.
    type Record: Serialize + DeserializeOwned + Default + Clone + Send + 'static;

    /// What it shows of an entity.
    type Status: Stored;

    /// The entity has just been bound: sets its status and its first alarm.
    fn born(&self, turn: &mut Turn<'_, Self::Record>);

    /// `start()` on an entity that is bound: what changes, and what the caller gets. For `start_with(state)` and a `#[create]`
    /// this is asked, too: an answer of [`Started::Resumed`] is refused there, and the turn is dropped.
    fn restart(&self, _turn: &mut Turn<'_, Self::Record>) -> Started {
        Started::AlreadyRunning
    }

    /// One of its verbs. The body is the JSON array of its parameters.
    fn verb(&self, turn: &mut Turn<'_, Self::Record>, verb: &str, body: &[u8]) -> Result<Answer, Stop>;

    /// What a verb that does not bind answers on an unbound key, where it has nothing to do. The default is that there is no answer: the
    /// caller gets [`NotBound`](Error::NotBound), and a message becomes a dead letter (M4).
    fn unbound(&self, _verb: &str) -> Option<Answer> {
        None
    }

    /// The alarm is due.
    fn alarm(&self, _turn: &mut Turn<'_, Self::Record>) -> Result<(), Stop> {
        Ok(())
    }

    /// One who was held has left; or was answered, and was not there any more to hear it.
    fn gone(&self, _turn: &mut Turn<'_, Self::Record>, _ticket: Ticket) -> Result<(), Stop> {
        Ok(())
    }

    /// A piece of work ended.
    fn done(&self, turn: &mut Turn<'_, Self::Record>, piece: &Done, ended: Ended) -> Result<(), Stop>;

    /// The entity ends with this turn: what others hold for it is let go.
    fn ends(&self, _turn: &mut Turn<'_, Self::Record>) {}

    /// The options differ from those that the entity was last run with (E11).
    fn changed(&self, _turn: &mut Turn<'_, Self::Record>) -> Result<(), Stop> {
        Ok(())
    }

    /// The mark in a row that a piece is given, if the kind keeps it there and not in its record.
    fn mark_in(_row: &[u8]) -> Option<drystone_runtime::Mark> {
        None
    }

    /// The hooks that should run now, given what is stored.
    fn work(&self, shown: &Shown<'_, Self::Record>) -> Vec<Piece>;

    /// A piece that was not listed before, with what it is given. `work` is asked after turns and should be quick; this is
    /// asked once for each piece and attempt.
    fn prepared(&self, _shown: &Shown<'_, Self::Record>, piece: Piece) -> Piece {
        piece
    }

    /// The author's code has set or cleared the alarm.
    fn alarm_set(&self, _turn: &mut Turn<'_, Self::Record>) {}

    /// How often the hook has succeeded, for the author's code to ask.
    fn run_count(&self, _record: &Self::Record) -> u64 {
        0
    }

    /// The time that the hook which runs stands for, for the author's code to ask; `None` for the time at which it runs.
    fn scheduled_for(&self, _shown: &Shown<'_, Self::Record>) -> Option<crate::Timestamp> {
        None
    }

    /// What `status` shows.
    fn status(&self, shown: &Shown<'_, Self::Record>) -> Self::Status;
}

/// An entity, as it is stored.
#[derive(Debug)]
pub struct Shown<'a, R> {
    /// Its id, which no other has or had.
    pub id: drystone_runtime::Version,
    /// The name of its definition.
    pub definition: &'a str,
    /// The kind's record.
    pub record: &'a R,
    /// The word for where it stands.
    pub word: &'a str,
    /// When its alarm is due.
    pub alarm: Option<crate::Timestamp>,
    /// The time.
    pub now: crate::Timestamp,
}

/// What `start` did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
pub enum Started {
    /// The key was unbound and is bound now.
    Started,
    /// It had stopped or failed, and resumes with the state that it had (C2). Only `start()` answers so.
    Resumed,
    /// It was running: nothing changed.
    AlreadyRunning,
}

/// What a verb answers.
#[derive(Debug)]
pub enum Answer {
    /// At once, with the commit of this turn.
    Now(Bytes),
    /// Later: the caller is kept under this name, and a later turn answers all under it, or this one by its ticket.
    Held(drystone_runtime::Name),
}

impl Answer {
    /// This value.
    pub fn value<T: Stored>(value: &T) -> Result<Self, Stop> {
        encode(value).map(Self::Now).map_err(Stop::Malformed)
    }

    /// Nothing but that it happened.
    pub fn done() -> Self {
        Self::Now(Bytes::from_static(b"null"))
    }
}

/// Why a turn goes no further; nothing of it is written.
#[derive(Debug)]
pub enum Stop {
    /// These rows are needed first; then the turn is asked again.
    Read(Vec<Range>),
    /// The caller gets this error of the verb's own, as JSON. Nothing was done, so that it is not remembered for an idempotency key
    /// (E12).
    Failed(Bytes),
    /// The caller gets this error.
    Refuse(Error),
    /// The input cannot be read.
    Malformed(String),
}

impl Stop {
    /// The verb's own error.
    pub fn failed<E: Stored>(error: &E) -> Self {
        encode(error).map_or_else(Self::Malformed, Self::Failed)
    }
}

/// Which piece of work ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// Its hook.
    pub hook: String,
    /// Its number.
    pub number: u64,
    /// Which attempt of it.
    pub attempt: u32,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    /// It succeeded; its state is kept.
    Ok,
    /// It failed, panicked, timed out or was silent: nothing it did is kept.
    Failed(Failure),
}
