//! Turns of one entity that are not durable yet, merged into one write.
//!
//! A chain grows while the writer is busy and goes to the store as a whole: the first expected version, the
//! last record, all rows. The answers, messages, events and work of its turns wait until it is durable
//! (E4).

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;

use super::source::Source;
use crate::{
    DropLane, Entity, Key, Lane, Lifecycle, MessageId, Name, Partition, Range, Reply, Row, RowKey, To, Version, Work,
    kernel::util::sparse::Sparse,
    store::{After, Guard, Outgoing, Remembered, Retry, Touched, Write},
};

/// One turn of a chain.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) source: Source,
    pub(crate) replies: Vec<(To, Reply)>,
    pub(crate) hold: Option<Name>,
    pub(crate) emit: Vec<Lifecycle>,
}

impl Link {
    /// A change by the kernel itself: it has no caller.
    pub(crate) fn kernel() -> Self {
        Self { source: Source::Kernel, replies: Vec::new(), hold: None, emit: Vec::new() }
    }

    /// Whether the link has no caller, no replies and no events.
    pub(crate) fn is_bare(&self) -> bool {
        matches!(self.source, Source::Kernel) && self.replies.is_empty() && self.emit.is_empty()
    }
}

/// Turns that wait for the writer, or are in its batch.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    pub(crate) links: Vec<Link>,
    /// The version that the chain makes; `None` while the chain writes nothing.
    pub(crate) version: Option<Version>,
    /// What the first turn of the chain found: the store checks it before it writes.
    pub(crate) guard: Option<Guard>,
    pub(crate) touched: Touched,
    pub(crate) rows: Arc<BTreeMap<(Lane, RowKey), Option<Bytes>>>,
    pub(crate) drop: Vec<DropLane>,
    pub(crate) release: Vec<(Version, Lane)>,
    pub(crate) taken: Vec<MessageId>,
    pub(crate) retry: Vec<Retry>,
    pub(crate) sent: Vec<Outgoing>,
    pub(crate) remember: Vec<Remembered>,
    /// Bytes of rows and messages. The record is not counted: it is written once, as the last turn left it.
    pub(crate) added: usize,
    /// Whether the author's struct changes. If it does, code that acts outside may not start on it yet.
    pub(crate) changes_state: bool,
    pub(crate) destroys: bool,
    pub(crate) evicts: bool,
    /// No more turns may join.
    pub(crate) closed: bool,
    /// The work that should run once the chain is durable, if its turns led to a new list.
    pub(crate) listed: Option<Vec<Work>>,
}

impl Chain {
    pub(crate) fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Appends a turn.
    pub(crate) fn link(&mut self, link: Link) {
        self.links.add(link);
    }

    pub(crate) fn writes(&self) -> bool {
        self.version.is_some()
    }

    pub(crate) fn row_changes(&self) -> usize {
        self.rows.len() + self.drop.len() + self.release.len() + self.sent.len() + self.taken.len()
    }

    /// Returns the whole chain as one write. `tip` is the entity after the last turn.
    pub(crate) fn write(&self, key: &Key, partition: Partition, tip: Option<&Entity>) -> Option<Write> {
        let after = match tip {
            _ if self.destroys => After::Destroyed,
            Some(entity) => After::Entity(Box::new(entity.clone())),
            None => After::Unbound,
        };
        self.version?;
        Some(Write {
            partition,
            key: key.clone(),
            guard: self.guard?,
            after,
            touched: self.touched,
            rows: self.rows.clone(),
            drop: self.drop.clone(),
            release: self.release.clone(),
            taken: self.taken.clone(),
            retry: self.retry.clone(),
            sent: self.sent.clone(),
            remember: self.remember.clone(),
        })
    }

    pub(crate) fn put(&mut self, row: Row) {
        Arc::make_mut(&mut self.rows).insert((row.lane, row.key), Some(row.body));
    }

    pub(crate) fn remove(&mut self, lane: Lane, key: RowKey) {
        Arc::make_mut(&mut self.rows).insert((lane, key), None);
    }

    pub(crate) fn drop_lane(&mut self, gone: DropLane) {
        if !gone.held {
            // The rows of this lane that are in the chain need not reach the store at all.
            Arc::make_mut(&mut self.rows).retain(|(lane, _), _| *lane != gone.lane);
        }
        self.drop.push(gone);
    }

    /// Whether the chain drops this lane.
    pub(crate) fn drops(&self, lane: &str) -> bool {
        self.drop.iter().any(|gone| *gone.lane == *lane)
    }

    /// Returns how many rows of this lane the chain removes. A read must fetch that many more rows to fill
    /// a page.
    pub(crate) fn removals(&self, lane: &str) -> u32 {
        self.rows.iter().filter(|((of, _), body)| *of == *lane && body.is_none()).count() as u32
    }

    /// Applies the changes of the chain to rows that were read from the store.
    pub(crate) fn overlay(&self, range: &Range, rows: &mut BTreeMap<RowKey, Bytes>) {
        if self.drops(&range.lane) {
            rows.clear();
        }
        for ((lane, key), body) in self.rows.iter() {
            if *lane != range.lane || !within(range, key) {
                continue;
            }
            match body {
                Some(body) => drop(rows.insert(key.clone(), body.clone())),
                None => drop(rows.remove(key)),
            }
        }
    }
}

fn within(range: &Range, key: &RowKey) -> bool {
    match &range.from {
        None => true,
        Some(from) if range.backwards => key <= from,
        Some(from) => key >= from,
    }
}

/// Returns the rows of `range` as they will be when the chains are durable, given a page read from the
/// store.
///
/// `page_is_full` says that the store may have more rows beyond the page. Then rows beyond the page are
/// left out, since rows in between would be missing.
pub(crate) fn overlaid<'a>(
    chains: impl Iterator<Item = &'a Chain>,
    range: &Range,
    page: Vec<Row>,
    page_is_full: bool,
) -> Vec<Row> {
    let edge = page.last().filter(|_| page_is_full).map(|row| row.key.clone());
    let mut rows: BTreeMap<RowKey, Bytes> = page.into_iter().map(|row| (row.key, row.body)).collect();
    for chain in chains {
        chain.overlay(range, &mut rows);
    }
    let inside = |key: &RowKey| match &edge {
        None => true,
        Some(edge) if range.backwards => key >= edge,
        Some(edge) => key <= edge,
    };
    let lane = range.lane.clone();
    let row = move |(key, body)| Row { lane: lane.clone(), key, body };
    let known = rows.into_iter().filter(|(key, _)| inside(key));
    let limit = range.limit as usize;
    if range.backwards { known.rev().take(limit).map(row).collect() } else { known.take(limit).map(row).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(key: u8) -> Row {
        Row { lane: "items".into(), key: vec![key].into(), body: Bytes::new() }
    }

    fn keys(rows: &[Row]) -> Vec<u8> {
        rows.iter().map(|row| row.key[0]).collect()
    }

    /// E4
    #[test]
    fn rows_are_read_as_the_chains_will_leave_them() {
        let (mut flying, mut waiting) = (Chain::default(), Chain::default());
        flying.put(row(5));
        waiting.remove("items".into(), vec![1].into());
        waiting.put(row(9));
        let range = Range::first("items", 3);
        assert_eq!(keys(&overlaid([&flying, &waiting].into_iter(), &range, vec![row(1), row(3)], false)), [3, 5, 9]);
        // The page was full, so row 4 may be in the store: rows 5 and 9 must not be returned before it.
        assert_eq!(keys(&overlaid([&flying, &waiting].into_iter(), &range, vec![row(1), row(3)], true)), [3]);
    }

    #[test]
    fn a_lane_that_is_dropped_is_empty_at_once() {
        let mut waiting = Chain::default();
        waiting.put(row(2));
        waiting.drop_lane(DropLane { lane: "items".into(), held: false });
        let range = Range { backwards: true, ..Range::first("items", 3) };
        assert!(overlaid([&waiting].into_iter(), &range, vec![row(3), row(1)], false).is_empty());
        assert!(waiting.rows.is_empty());
    }
}
