//! The read in flight, the rows that a turn or a listing waits for, and the rows that were read for it.

use super::chain::{Chain, overlaid};
use crate::{Range, Row, Rows, Version};

/// A stretch of one lane, as it is stored.
#[derive(Debug)]
struct Page {
    range: Range,
    rows: Vec<Row>,
    /// The store may have more rows beyond the page.
    is_full: bool,
}

/// Reads of one entity. There is one at a time, for the record, the inbox, rows or a remembered reply.
#[derive(Debug, Default)]
pub(crate) struct RowReads {
    /// Whether a read was requested and has not been answered. The requests are sent when the visit ends.
    is_reading: bool,
    /// The number of the read in flight. An answer with another number is ignored.
    number: u64,
    /// The version of the stored record when it was last requested.
    record_was: Option<Version>,
    /// Rows that a turn or a listing needs before it can be taken.
    wanted: Vec<Range>,
    /// Rows that were read for the waiting turn or listing.
    pages: Vec<Page>,
}

impl RowReads {
    pub(crate) fn is_reading(&self) -> bool {
        self.is_reading
    }

    /// Begins a read, unless one is in flight. Returns whether it began.
    pub(crate) fn begin(&mut self) -> bool {
        !std::mem::replace(&mut self.is_reading, true)
    }

    /// Sets the number under which the answer of the read will come.
    pub(crate) fn sent_as(&mut self, number: u64) {
        self.number = number;
    }

    /// Whether `number` is that of the read in flight.
    pub(crate) fn awaits(&self, number: u64) -> bool {
        self.number == number
    }

    /// Notes which version of the record memory had when the record was requested.
    pub(crate) fn request_record(&mut self, stored: Option<Version>) {
        self.record_was = stored;
    }

    /// The version of the stored record when it was last requested.
    pub(crate) fn record_was(&self) -> Option<Version> {
        self.record_was
    }

    /// Notes that the read in flight was answered.
    pub(crate) fn end(&mut self) {
        self.is_reading = false;
    }

    /// Sets the rows that a turn or a listing needs. If the entity is not born yet, its own lanes have no
    /// rows in the store, so they are not read.
    pub(crate) fn want(&mut self, ranges: Vec<Range>, is_born: bool) {
        self.pages.retain(|page| !ranges.contains(&page.range));
        let (unborn, stored): (Vec<_>, Vec<_>) = ranges.into_iter().partition(|range| range.of.is_none() && !is_born);
        self.pages.extend(unborn.into_iter().map(|range| Page { range, rows: Vec::new(), is_full: false }));
        self.wanted = stored;
    }

    pub(crate) fn wanted(&self) -> &[Range] {
        &self.wanted
    }

    /// Whether a turn waits for rows.
    pub(crate) fn wants_rows(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// Takes in rows that were read, if they are wanted. The range that was read may be longer than the
    /// wanted one by the rows that the chains remove.
    pub(crate) fn arrived(&mut self, read: &Range, rows: Vec<Row>) {
        let is_same = |range: &&Range| Range { limit: read.limit, ..(*range).clone() } == *read;
        if let Some(range) = self.wanted.iter().find(is_same).cloned() {
            let is_full = rows.len() >= read.limit as usize;
            self.pages.push(Page { range, rows, is_full });
        }
    }

    /// Notes that all wanted rows are here.
    pub(crate) fn all_arrived(&mut self) {
        self.wanted.clear();
    }

    pub(crate) fn has_pages(&self) -> bool {
        !self.pages.is_empty()
    }

    /// Drops the rows that were read: their turn was taken, or a commit has changed what lies under them.
    pub(crate) fn drop_pages(&mut self) {
        self.pages.clear();
    }

    /// Forgets everything: the record is read again.
    pub(crate) fn forget(&mut self) {
        (self.is_reading, self.number) = (false, 0);
        self.wanted.clear();
        self.pages.clear();
    }

    /// Returns the rows as they will be when `chains` are durable. If the chains remove so many rows of a
    /// full page that more rows would have to be read, the page is left out, and the turn asks for it
    /// again.
    pub(crate) fn rows<'a>(&self, chains: &(impl Iterator<Item = &'a Chain> + Clone)) -> Rows {
        let mut told = Rows::default();
        for page in &self.pages {
            let rows = match page.range.of {
                Some(_) => page.rows.clone(),
                None => overlaid(chains.clone(), &page.range, page.rows.clone(), page.is_full),
            };
            let is_dropped = chains.clone().any(|chain| chain.drops(&page.range.lane));
            if is_dropped || !page.is_full || rows.len() >= page.range.limit as usize {
                told.insert(page.range.clone(), rows);
            }
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::Commit;

    fn rows(keys: &[u8]) -> Vec<Row> {
        let row = |key: &u8| Row { lane: "items".into(), key: vec![*key].into(), body: Bytes::new() };
        keys.iter().map(row).collect()
    }

    #[test]
    fn one_read_is_in_flight_at_a_time() {
        let mut reads = RowReads::default();
        assert!(reads.begin() && !reads.begin() && reads.is_reading());
        reads.sent_as(3);
        assert!(reads.awaits(3) && !reads.awaits(2));
        reads.end();
        assert!(reads.begin());
        reads.forget();
        assert!(!reads.awaits(3) && !reads.is_reading());
    }

    #[test]
    fn lanes_of_an_entity_that_is_not_born_are_not_read() {
        let mut reads = RowReads::default();
        let range = Range::first("items", 3);
        reads.want(vec![range.clone()], false);
        assert!(!reads.wants_rows() && reads.has_pages());
        assert!(reads.rows(&std::iter::empty()).get(&range).is_some_and(<[Row]>::is_empty));
    }

    #[test]
    fn a_page_cut_short_by_removals_is_asked_for_again() {
        let mut reads = RowReads::default();
        let range = Range::first("items", 2);
        reads.want(vec![range.clone()], true);
        reads.arrived(&Range::first("items", 3), rows(&[1, 2, 3]));
        reads.all_arrived();
        assert!(!reads.wants_rows());
        let mut chain = Chain::default();
        let remove = |key: u8| Commit { remove: vec![("items".into(), vec![key].into())], ..Commit::default() };
        chain.apply(&mut remove(1), false);
        assert_eq!(reads.rows(&[&chain].into_iter()).get(&range).map(<[Row]>::len), Some(2));
        chain.apply(&mut remove(2), false);
        assert_eq!(reads.rows(&[&chain].into_iter()).get(&range), None);
    }

    #[test]
    fn rows_that_nobody_wants_are_ignored() {
        let mut reads = RowReads::default();
        reads.arrived(&Range::first("items", 3), rows(&[1]));
        assert!(!reads.has_pages());
    }
}
