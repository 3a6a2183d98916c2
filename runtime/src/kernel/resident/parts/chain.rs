//! Turns of one entity that are not durable yet, merged into one write.
//!
//! A chain grows while the writer is busy and goes to the store as a whole: the first expected version, the
//! last record, all rows. The answers, messages, events and work of its turns wait until it is durable
//! (E4).

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;

use super::super::source::Source;
use crate::{
    Commit, DropLane, Entity, Key, Lane, Lifecycle, MessageId, Name, Partition, Range, Reply, Row, RowKey, To, Version,
    Work,
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
    links: Vec<Link>,
    /// The version that the chain makes; `None` while the chain writes nothing.
    version: Option<Version>,
    /// What the first turn of the chain found: the store checks it before it writes.
    guard: Option<Guard>,
    touched: Touched,
    rows: RowChanges,
    taken: Vec<MessageId>,
    retry: Vec<Retry>,
    sent: Vec<Outgoing>,
    remember: Vec<Remembered>,
    /// Bytes of rows and messages. The record is not counted: it is written once, as the last turn left it.
    added: usize,
    /// Whether the author's struct changes. If it does, code that acts outside may not start on it yet.
    changes_state: bool,
    destroys: bool,
    evicts: bool,
    /// No more turns may join.
    closed: bool,
    /// The work that should run once the chain is durable, if its turns led to a new list.
    listed: Option<Vec<Work>>,
}

/// Changes of rows. The last change of a row replaces the earlier ones.
#[derive(Debug, Default)]
struct RowChanges {
    changed: Arc<BTreeMap<(Lane, RowKey), Option<Bytes>>>,
    dropped: Vec<DropLane>,
    released: Vec<(Version, Lane)>,
}

impl RowChanges {
    fn apply(&mut self, commit: &mut Commit) {
        commit.drop.drain(..).for_each(|gone| self.drop_lane(gone));
        commit.remove.drain(..).for_each(|(lane, key)| self.set(lane, key, None));
        commit.put.drain(..).for_each(|row| self.set(row.lane, row.key, Some(row.body)));
        self.released.append(&mut commit.release);
    }

    fn set(&mut self, lane: Lane, key: RowKey, body: Option<Bytes>) {
        Arc::make_mut(&mut self.changed).insert((lane, key), body);
    }

    fn drop_lane(&mut self, gone: DropLane) {
        if !gone.held {
            // The rows of this lane that are in the chain need not reach the store at all.
            Arc::make_mut(&mut self.changed).retain(|(lane, _), _| *lane != gone.lane);
        }
        self.dropped.push(gone);
    }

    fn count(&self) -> usize {
        self.changed.len() + self.dropped.len() + self.released.len()
    }
}

impl Chain {
    pub(crate) fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Appends a turn.
    pub(crate) fn link(&mut self, link: Link) {
        self.links.add(link);
    }

    pub(crate) fn links(&self) -> impl Iterator<Item = &Link> {
        self.links.iter()
    }

    pub(crate) fn turns(&self) -> usize {
        self.links.len()
    }

    pub(crate) fn last_mut(&mut self) -> Option<&mut Link> {
        self.links.last_mut()
    }

    pub(crate) fn take_links(&mut self) -> Vec<Link> {
        std::mem::take(&mut self.links)
    }

    pub(crate) fn writes(&self) -> bool {
        self.version.is_some()
    }

    pub(crate) fn version(&self) -> Option<Version> {
        self.version
    }

    /// Opens the chain for a turn that writes. The first such turn fixes the version that the chain makes,
    /// and what the store must find: the entity `before` it.
    pub(crate) fn open(&mut self, version: Version, before: Option<&Entity>) {
        if self.version.is_none() {
            self.version = Some(version);
            self.guard = Some(match before {
                Some(entity) => Guard::At { id: entity.id, version: entity.version },
                None => Guard::Absent,
            });
        }
    }

    /// Whether the chain binds the key.
    pub(crate) fn binds(&self) -> bool {
        self.guard == Some(Guard::Absent)
    }

    /// Notes which columns of the record change.
    pub(crate) fn touch(&mut self, touched: Touched) {
        self.touched = self.touched.max(touched);
    }

    /// Takes in what a commit changes beside the record. Messages of the commit are [sent](Self::send) one
    /// by one.
    /// `is_birth`: no entity was bound before it.
    pub(crate) fn apply(&mut self, commit: &mut Commit, is_birth: bool) {
        self.added += commit.added();
        self.changes_state |= commit.state.is_some() || commit.destroy || is_birth;
        self.destroys = commit.destroy;
        self.evicts |= commit.evict;
        self.closed |= commit.destroy;
        self.rows.apply(commit);
    }

    /// Notes that the chain takes a message.
    pub(crate) fn take(&mut self, id: MessageId) {
        self.taken.push(id);
    }

    pub(crate) fn takes(&self, id: MessageId) -> bool {
        self.taken.contains(&id)
    }

    /// Changes when and how often a message of the inbox is tried.
    pub(crate) fn retry(&mut self, retry: Retry) {
        self.retry.push(retry);
    }

    pub(crate) fn remember(&mut self, remembered: Vec<Remembered>) {
        self.remember.extend(remembered);
    }

    /// Sends a message. Its id is made of the version of the chain and its place in it.
    pub(crate) fn send(&mut self, message: impl FnOnce(MessageId) -> Outgoing) {
        let Some(version) = self.version else { return };
        let id = MessageId { version, index: self.sent.len() as u32 };
        self.sent.push(message(id));
    }

    pub(crate) fn sent(&self) -> &[Outgoing] {
        &self.sent
    }

    pub(crate) fn take_sent(&mut self) -> Vec<Outgoing> {
        std::mem::take(&mut self.sent)
    }

    /// Whether the author's struct changes. If it does, code that acts outside may not start on it yet.
    pub(crate) fn changes_state(&self) -> bool {
        self.changes_state
    }

    pub(crate) fn destroys(&self) -> bool {
        self.destroys
    }

    /// Whether callers' code is dropped once the chain is durable.
    pub(crate) fn evicts(&self) -> bool {
        self.evicts
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Lets no more turns join.
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    /// The work that should run once the chain is durable, if its turns led to a new list.
    pub(crate) fn listed(&self) -> Option<&Vec<Work>> {
        self.listed.as_ref()
    }

    pub(crate) fn set_listed(&mut self, listed: Vec<Work>) {
        self.listed = Some(listed);
    }

    pub(crate) fn take_listed(&mut self) -> Option<Vec<Work>> {
        self.listed.take()
    }

    /// Bytes of rows and messages.
    pub(crate) fn added(&self) -> usize {
        self.added
    }

    pub(crate) fn row_changes(&self) -> usize {
        self.rows.count() + self.sent.len() + self.taken.len()
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
            rows: self.rows.changed.clone(),
            drop: self.rows.dropped.clone(),
            release: self.rows.released.clone(),
            taken: self.taken.clone(),
            retry: self.retry.clone(),
            sent: self.sent.clone(),
            remember: self.remember.clone(),
        })
    }

    /// Whether the chain drops this lane.
    pub(crate) fn drops(&self, lane: &str) -> bool {
        self.rows.dropped.iter().any(|gone| *gone.lane == *lane)
    }

    /// Returns how many rows of this lane the chain removes. A read must fetch that many more rows to fill
    /// a page.
    pub(crate) fn removals(&self, lane: &str) -> u32 {
        self.rows.changed.iter().filter(|((of, _), body)| *of == *lane && body.is_none()).count() as u32
    }

    /// Applies the changes of the chain to rows that were read from the store.
    pub(crate) fn overlay(&self, range: &Range, rows: &mut BTreeMap<RowKey, Bytes>) {
        if self.drops(&range.lane) {
            rows.clear();
        }
        for ((lane, key), body) in self.rows.changed.iter() {
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

    fn put(key: u8) -> Commit {
        Commit { put: vec![row(key)], ..Commit::default() }
    }

    fn remove(key: u8) -> Commit {
        Commit { remove: vec![("items".into(), vec![key].into())], ..Commit::default() }
    }

    fn chain(commits: impl IntoIterator<Item = Commit>) -> Chain {
        let mut chain = Chain::default();
        commits.into_iter().for_each(|mut commit| chain.apply(&mut commit, false));
        chain
    }

    fn keys(rows: &[Row]) -> Vec<u8> {
        rows.iter().map(|row| row.key[0]).collect()
    }

    /// E4
    #[test]
    fn rows_are_read_as_the_chains_will_leave_them() {
        let (in_flight, waiting) = (chain([put(5)]), chain([remove(1), put(9)]));
        let range = Range::first("items", 3);
        assert_eq!(keys(&overlaid([&in_flight, &waiting].into_iter(), &range, vec![row(1), row(3)], false)), [3, 5, 9]);
        // The page was full, so row 4 may be in the store: rows 5 and 9 must not be returned before it.
        assert_eq!(keys(&overlaid([&in_flight, &waiting].into_iter(), &range, vec![row(1), row(3)], true)), [3]);
    }

    #[test]
    fn a_lane_that_is_dropped_is_empty_at_once() {
        let dropped = DropLane { lane: "items".into(), held: false };
        let waiting = chain([put(2), Commit { drop: vec![dropped], ..Commit::default() }]);
        let range = Range { backwards: true, ..Range::first("items", 3) };
        assert!(overlaid([&waiting].into_iter(), &range, vec![row(3), row(1)], false).is_empty());
        assert!(waiting.rows.changed.is_empty());
    }

    /// E4
    #[test]
    fn the_first_turn_fixes_what_the_store_must_find() {
        let mut chain = Chain::default();
        assert!(!chain.writes());
        chain.open(Version(1), None);
        chain.open(Version(2), None);
        assert!(chain.binds());
        assert_eq!(chain.version(), Some(Version(1)));
    }

    #[test]
    fn no_turn_joins_behind_the_end_of_the_entity() {
        let ended = chain([put(1), Commit { destroy: true, ..Commit::default() }]);
        assert!(ended.is_closed() && ended.destroys() && ended.changes_state());
        assert!(!chain([put(1)]).is_closed());
    }
}
