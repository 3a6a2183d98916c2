//! A hook that should run, as the record implies.

use std::{borrow::Cow, time::Duration};

use bytes::Bytes;
use drystone_runtime::{Mark, Name, Range, Version, Work};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A hook that should run: for example `flush/7`, the second attempt.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The name of the hook.
    pub hook: &'static str,
    /// The number of the run. Hook and number name the piece, over retries and restarts.
    pub number: u64,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The JSON that the kind gives the hook.
    pub told: Bytes,
    /// The items that the hook is given.
    pub items: Option<Items>,
    /// How long one attempt may take.
    pub timeout: Option<Duration>,
    /// How long an attempt may go without a sign of life.
    pub silence: Option<Duration>,
    /// The [mark](super::Turn::mark) of the turn that recorded the piece, which the kind keeps in its
    /// record. The mark makes the work id unique in the world, and must stay the same for all attempts.
    /// Without it, the work id contains the mark of the turn that bound the entity.
    pub mark: Option<Mark>,
}

/// Rows that a hook is given: a whole lane, or one row of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Items {
    /// The id of the entity that owned the lane, if the lane is held for this entity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
    /// The lane.
    pub lane: Cow<'static, str>,
    /// The key of a single row; `None` for all rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<Vec<u8>>,
}

impl Piece {
    /// The first attempt of a run of a hook without input.
    pub fn new(hook: &'static str, number: u64) -> Self {
        Self { hook, number, attempt: 1, told: Bytes::new(), items: None, timeout: None, silence: None, mark: None }
    }

    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.hook, self.number)
    }

    /// Whether the piece has this name.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        let number = name.strip_prefix(self.hook).and_then(|rest| rest.strip_prefix('/'));
        number.is_some_and(|number| number.parse() == Ok(self.number))
    }

    /// Returns the piece as work. `row` is the only row of its input, if that row is known.
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

/// The first byte of an input that is a row. No JSON text begins with it.
const ROW: u8 = 0;

/// Returns the row that is the input, if the input is a row.
pub(crate) fn row_in(input: &Bytes) -> Option<Bytes> {
    (input.first() == Some(&ROW)).then(|| input.slice(1..))
}

/// The encoded input of a piece of work.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Input {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) told: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) items: Option<Items>,
}

impl Items {
    /// Returns the range of a page of the items, from a row key on.
    pub(crate) fn page(&self, from: Option<Bytes>, limit: u32) -> Range {
        Range { of: self.of.map(Version), lane: Name::from(self.lane.clone()), from, limit, backwards: false }
    }
}
