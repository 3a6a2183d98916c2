//! Restarts of a run, from its beginning or from one of its steps: the caller's side.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{Address, Args, Call, decode};

/// The answer of a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restarted {
    /// The number of the new generation.
    pub generation: u32,
}

/// Why a run was not restarted. The run was not changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RestartError {
    /// The key has no run.
    #[error("there is no such run")]
    NotFound,
    /// The run has not reached this step, or not this many times.
    #[error("the run has no `{step}` number {nth}: it has {found} of them")]
    NoSuchStep {
        /// The name of the step.
        step: String,
        /// The occurrence that was asked for, from 1.
        nth: u32,
        /// How many the run has.
        found: u32,
    },
    /// At this step the run holds a permit. It cannot be kept, because a restart gives back the permits of
    /// the old generation.
    #[error("at that step the run holds the permit `{operation}`, which cannot be kept: restart from before it")]
    KeepsPermit {
        /// The operation of the permit.
        operation: String,
    },
    /// An operation before the step was undone, successfully or not, or is being undone. Its effect does
    /// not stand any more.
    #[error("before that step comes `{operation}`, which was undone or is being undone: restart from before it")]
    Undone {
        /// The operation that was undone.
        operation: String,
    },
    /// The undos of what came before the step need more data than one commit takes.
    #[error("what came before that step has {bytes} bytes for its undos, more than the {limit} of one commit")]
    TooMuch {
        /// The bytes of this data.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
}

/// The step of a run to restart from: `run.restart_from(|at| at.charge(1))`.
#[must_use = "it is a place only: hand it to `restart_from`"]
pub struct At<T> {
    place: Place,
    value: Option<Result<Bytes, String>>,
    write: fn(&T) -> Result<Bytes, String>,
}

/// A step of a run, as it is sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::workflow) struct Place {
    pub(in crate::workflow) step: String,
    pub(in crate::workflow) nth: u32,
}

impl<T> At<T> {
    /// The step of this name and number, from 1, in the order in which steps ended. Generated code uses
    /// this for `at.charge(1)`.
    pub fn new(step: &str, nth: u32, write: fn(&T) -> Result<Bytes, String>) -> Self {
        Self { place: Place { step: step.to_owned(), nth }, value: None, write }
    }

    /// Records this value as the output of the step. The step is not executed again.
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

/// The request of a restart, as it is sent: the new input, if any; the step to restart from; the output
/// that the step is to have.
pub(in crate::workflow) type Asked = (Option<Box<RawValue>>, Option<Place>, Option<Value>);

/// The given output of a step, in brackets: without them, `null` as a value could not be told from no
/// value.
pub(in crate::workflow) type Value = (Box<RawValue>,);

/// The verbs that restart a run. Generated code uses these for `restart_with` and `restart_from`.
#[derive(Debug)]
pub struct Restarting;

impl Restarting {
    /// Restarts from the beginning, with the same input or another.
    pub fn anew(address: &Address, input: Option<Args>) -> Call<Restarted, RestartError> {
        let input = input.map(|input| input.finish().and_then(|bytes| decode::<Box<RawValue>>(&bytes)));
        Self::call(address, input, None, None)
    }

    /// Restarts from one of the steps.
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
    /// Drops unread events, too, and counts them.
    pub fn drop_events(self) -> Self {
        self.asking(DROPPING)
    }
}

/// The verb of a restart that drops events. No query can have this name, because of the colon.
pub(in crate::workflow) const DROPPING: &str = "restart:dropping";
