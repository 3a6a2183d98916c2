//! A run that begins anew, or from one of its steps: the caller's side.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{Address, Args, Call, decode};

/// A run has begun anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restarted {
    /// The number of the new generation.
    pub generation: u32,
}

/// Why a run does not begin anew; nothing of it was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RestartError {
    /// There is no run of this key.
    #[error("there is no such run")]
    NotFound,
    /// It has not come to this step, or not so often.
    #[error("the run has no `{step}` number {nth}: it has {found} of them")]
    NoSuchStep {
        /// The step.
        step: String,
        /// Which one of its name, from 1.
        nth: u32,
        /// How many there are.
        found: u32,
    },
    /// What came before the step holds a permit, and that was given back: nobody else may take it for its own.
    #[error("at that step the run holds the permit `{operation}`, which cannot be kept: restart from before it")]
    KeepsPermit {
        /// The permit.
        operation: String,
    },
    /// What came before the step was undone, whether or not that went well, or is being undone: it does not stand any more.
    #[error("before that step comes `{operation}`, which was undone or is being undone: restart from before it")]
    Undone {
        /// What was undone.
        operation: String,
    },
    /// What would have to be kept for the undos of what came before the step is more than one commit takes.
    #[error("what came before that step has {bytes} bytes for its undos, more than the {limit} of one commit")]
    TooMuch {
        /// How many bytes it has.
        bytes: u64,
        /// How many it may.
        limit: u64,
    },
}

/// A step of a run, to go on from: `run.restart_from(|at| at.charge(1))`.
#[must_use = "it is a place only: hand it to `restart_from`"]
pub struct At<T> {
    place: Place,
    value: Option<Result<Bytes, String>>,
    write: fn(&T) -> Result<Bytes, String>,
}

/// A step of a run, as it travels.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Place {
    pub(super) step: String,
    pub(super) nth: u32,
}

impl<T> At<T> {
    /// The step of this name, counted from 1 in the order in which they ended: what generated code makes of `at.charge(1)`.
    pub fn new(step: &str, nth: u32, write: fn(&T) -> Result<Bytes, String>) -> Self {
        Self { place: Place { step: step.to_owned(), nth }, value: None, write }
    }

    /// The step is not run again: this is recorded as what it returned.
    #[expect(clippy::needless_pass_by_value, reason = "the value is handed over")]
    pub fn with(self, value: T) -> Self {
        Self { value: Some((self.write)(&value)), ..self }
    }
}

impl<T> fmt::Debug for At<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "At({} {})", self.place.step, self.place.nth)
    }
}

/// What a run is asked to begin anew with, as it travels: its input, if that is another; the step to go on from; what that step
/// is to have returned.
pub(super) type Asked = (Option<Box<RawValue>>, Option<Place>, Option<Value>);

/// What a step is to have returned, within brackets: for nothing is written as `null`, and so is no value at all.
pub(super) type Value = (Box<RawValue>,);

/// The verbs that begin a run anew: what generated code makes `restart_with` and `restart_from` of.
#[derive(Debug)]
pub struct Restarting;

impl Restarting {
    /// From its beginning, with the same input or another.
    pub fn anew(address: &Address, input: Option<Args>) -> Call<Restarted, RestartError> {
        let input = input.map(|input| input.finish().and_then(|bytes| decode::<Box<RawValue>>(&bytes)));
        Self::call(address, input, None, None)
    }

    /// From one of its steps.
    pub fn from<T>(address: &Address, at: At<T>) -> Call<Restarted, RestartError> {
        let value = at.value.map(|value| value.and_then(|bytes| decode::<Box<RawValue>>(&bytes)));
        Self::call(address, None, Some(at.place), value)
    }

    #[expect(clippy::needless_pass_by_value, reason = "a place is handed over")]
    fn call(
        address: &Address,
        input: Option<Result<Box<RawValue>, String>>,
        place: Option<Place>,
        value: Option<Result<Box<RawValue>, String>>,
    ) -> Call<Restarted, RestartError> {
        let args = input.transpose().and_then(|input| Ok((input, value.transpose()?)));
        let args = match args {
            Ok((input, value)) => {
                Args::new().put(&input).put(&place).put::<Option<Value>>(&value.map(|value| (value,)))
            }
            Err(reason) => Args::unwritable(reason),
        };
        address.call("restart", args)
    }
}

impl Call<Restarted, RestartError> {
    /// Events that nobody took are let go, too, and counted.
    pub fn drop_events(self) -> Self {
        self.asking(DROPPING)
    }
}

/// The verb of a restart that lets the events go: no query can have this name.
pub(super) const DROPPING: &str = "restart:dropping";
