//! Rows in lanes: what an entity holds beside its record, one at a time (journal entries, items, watchers).

use bytes::Bytes;

use super::{Name, Version};

/// A list of an entity's rows. A dropped lane's name is never used again by that entity: kinds number them.
pub type Lane = Name;

/// A row's place in its lane; rows are ordered bytewise by it.
pub type RowKey = Bytes;

/// The first key after one: that key and a zero.
pub fn key_after(key: &[u8]) -> RowKey {
    [key, &[0]].concat().into()
}

/// One row: put it, and it is there until it is removed or its lane dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The lane it lies in.
    pub lane: Lane,
    /// Its place there.
    pub key: RowKey,
    /// What it holds.
    pub body: Bytes,
}

/// A lane that is let go in one step, however long; its rows are swept later (K6).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DropLane {
    /// Which lane.
    pub lane: Lane,
    /// Whether its rows stay readable by [`Range::of`] until somebody releases them: a dead letter holds a
    /// batch by reference (D2).
    pub held: bool,
}

/// Which rows a turn needs: a stretch of one lane.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Range {
    /// Another entity's lane, held for us; `None` for one of our own.
    pub of: Option<Version>,
    /// The lane.
    pub lane: Lane,
    /// The first key, inclusive; from an end if `None`.
    pub from: Option<RowKey>,
    /// At most so many rows.
    pub limit: u32,
    /// From high keys to low ones.
    pub backwards: bool,
}

impl Range {
    /// The first `limit` rows of one of our own lanes.
    pub fn first(lane: impl Into<Lane>, limit: u32) -> Self {
        Self { of: None, lane: lane.into(), from: None, limit, backwards: false }
    }

    /// One row of one of our own lanes, if it is there, is the first of this range.
    pub fn at(lane: impl Into<Lane>, key: impl Into<RowKey>) -> Self {
        Self { of: None, lane: lane.into(), from: Some(key.into()), limit: 1, backwards: false }
    }
}

/// The rows that were read for a turn, by the range that asked for them.
#[derive(Clone, Debug, Default)]
pub struct Rows(Vec<(Range, Vec<Row>)>);

impl Rows {
    /// The rows of `range`; `None` if they were not read yet: ask with [`Next::Read`](super::Next::Read).
    pub fn get(&self, range: &Range) -> Option<&[Row]> {
        self.0.iter().find(|(asked, _)| asked == range).map(|(_, rows)| rows.as_slice())
    }

    /// Rows that were read in some other way, for a handler that is asked by nobody but a test.
    pub fn of(read: impl IntoIterator<Item = (Range, Vec<Row>)>) -> Self {
        Self(read.into_iter().collect())
    }

    pub(crate) fn insert(&mut self, range: Range, rows: Vec<Row>) {
        self.0.push((range, rows));
    }
}
