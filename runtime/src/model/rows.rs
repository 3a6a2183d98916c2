//! Rows in lanes: data that an entity stores beside its record, one row each (journal entries, items,
//! watchers).

use bytes::Bytes;

use super::{Name, Version};

/// The name of a list of rows of one entity. An entity never uses the name of a dropped lane again: kinds
/// number their lanes.
pub type Lane = Name;

/// The key of a row within its lane. The rows of a lane are ordered by key, bytewise.
pub type RowKey = Bytes;

/// Returns the smallest key that is greater than `key`: the same bytes followed by a zero.
pub fn key_after(key: &[u8]) -> RowKey {
    [key, &[0]].concat().into()
}

/// One row. A row exists from its put until its removal or the drop of its lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The lane of the row.
    pub lane: Lane,
    /// The key of the row within the lane.
    pub key: RowKey,
    /// The content of the row.
    pub body: Bytes,
}

/// A lane to be dropped. A drop is one operation, however many rows the lane has; a sweep deletes the rows
/// later (K6).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DropLane {
    /// The lane to drop.
    pub lane: Lane,
    /// Whether the rows stay readable by [`Range::of`] until they are released. A dead letter holds a batch
    /// by reference in this way (D2).
    pub held: bool,
}

/// A range of rows of one lane, which a turn needs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Range {
    /// The entity whose held lane is read; `None` for a lane of the reading entity.
    pub of: Option<Version>,
    /// The lane.
    pub lane: Lane,
    /// The first key, inclusive. If `None`, reading begins at the first key, or at the last if `backwards`.
    pub from: Option<RowKey>,
    /// The maximum number of rows.
    pub limit: u32,
    /// Whether the rows are read from high keys to low keys.
    pub backwards: bool,
}

impl Range {
    /// The first `limit` rows of one of the entity's own lanes.
    pub fn first(lane: impl Into<Lane>, limit: u32) -> Self {
        Self { of: None, lane: lane.into(), from: None, limit, backwards: false }
    }

    /// A range of one row: the first with `key` or a higher key in one of the entity's own lanes.
    pub fn at(lane: impl Into<Lane>, key: impl Into<RowKey>) -> Self {
        Self { of: None, lane: lane.into(), from: Some(key.into()), limit: 1, backwards: false }
    }
}

/// The rows that were read for a turn, by the range that was asked for.
#[derive(Clone, Debug, Default)]
pub struct Rows(Vec<(Range, Vec<Row>)>);

impl Rows {
    /// Returns the rows of `range`, or `None` if they have not been read yet;
    /// [`Next::Read`](crate::Next::Read) asks for them.
    pub fn get(&self, range: &Range) -> Option<&[Row]> {
        self.0.iter().find(|(asked, _)| asked == range).map(|(_, rows)| rows.as_slice())
    }

    /// Makes rows from given ranges, for tests that call a handler directly.
    pub fn of(read: impl IntoIterator<Item = (Range, Vec<Row>)>) -> Self {
        Self(read.into_iter().collect())
    }

    pub(crate) fn insert(&mut self, range: Range, rows: Vec<Row>) {
        self.0.push((range, rows));
    }
}
