//! A hook that should run, as it follows from a record.

use std::{borrow::Cow, time::Duration};

use bytes::Bytes;
use drystone_runtime::{Mark, Name, Range, Version, Work};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A hook that should run: `flush/7`, the second attempt.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The hook.
    pub hook: &'static str,
    /// Which run of it; with the hook it names the piece, over retries and restarts.
    pub number: u64,
    /// Which attempt of it, from 1.
    pub attempt: u32,
    /// What the kind tells the hook, as JSON.
    pub told: Bytes,
    /// The items that it is given.
    pub items: Option<Items>,
    /// How long one attempt may take.
    pub timeout: Option<Duration>,
    /// How long it may give no sign of life.
    pub silence: Option<Duration>,
    /// The [mark](super::Turn::mark) of the turn that recorded it, which the kind keeps in its record: it makes the work
    /// id unique in the world, and must stay the same for all attempts. Without one, the work id contains the mark of
    /// the turn that bound the entity.
    pub mark: Option<Mark>,
}

/// Rows that a hook is given: a whole lane, or one row of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Items {
    /// Another entity's lane, held for us: its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
    /// The lane.
    pub lane: Cow<'static, str>,
    /// The key of the only row; all rows if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<Vec<u8>>,
}

impl Piece {
    /// The first attempt of a run of a hook that is given nothing.
    pub fn new(hook: &'static str, number: u64) -> Self {
        Self { hook, number, attempt: 1, told: Bytes::new(), items: None, timeout: None, silence: None, mark: None }
    }

    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.hook, self.number)
    }

    /// Whether this is its name.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        let number = name.strip_prefix(self.hook).and_then(|rest| rest.strip_prefix('/'));
        number.is_some_and(|number| number.parse() == Ok(self.number))
    }

    /// The work of it; `row` is the only row that it is given, if it is known.
    pub(crate) fn into_work(self, row: Option<&Bytes>) -> Work {
        let input = match row {
            Some(row) => [&[ROW], &row[..]].concat().into(),
            None => {
                let told = String::from_utf8(self.told.to_vec()).ok().and_then(|text| RawValue::from_string(text).ok());
                crate::encode(&Input { told, items: self.items.clone() }).unwrap_or_default()
            }
        };
        let (attempt, timeout, silence, mark) = (self.attempt, self.timeout, self.silence, self.mark);
        Work { attempt, timeout, silence, input, mark, ..Work::new(self.name()) }
    }
}

/// An input that begins with this is nothing but a row; no JSON text does.
const ROW: u8 = 0;

/// The row that an input is, if it is one.
pub(crate) fn row_in(input: &Bytes) -> Option<Bytes> {
    (input.first() == Some(&ROW)).then(|| input.slice(1..))
}

/// The input of a piece of work, as it travels.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Input {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) told: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) items: Option<Items>,
}

impl Items {
    /// A page of them, from a row key on.
    pub(crate) fn page(&self, from: Option<Bytes>, limit: u32) -> Range {
        Range { of: self.of.map(Version), lane: Name::from(self.lane.clone()), from, limit, backwards: false }
    }
}
