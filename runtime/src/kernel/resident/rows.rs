//! Rows that were read for a turn, and how the turn sees them.

use super::{
    Body,
    chain::{Chain, overlaid},
    source::Source,
};
use crate::{Range, Row, Rows, kernel::state::effects::Effects, store::Read};

/// A stretch of one lane, as it is stored.
#[derive(Debug)]
pub(crate) struct Page {
    range: Range,
    rows: Vec<Row>,
    /// The store may have more rows beyond the page.
    is_full: bool,
}

impl Body {
    /// Requests rows for a turn or a listing, which is taken again when the rows are here.
    pub(crate) fn read_rows_for(&mut self, source: Source, ranges: Vec<Range>) {
        self.put_back(source);
        self.pages.retain(|page| !ranges.contains(&page.range));
        // An entity that is not born yet has no rows in the store.
        let (unborn, stored): (Vec<_>, Vec<_>) =
            ranges.into_iter().partition(|range| range.of.is_none() && self.tip.is_none());
        self.pages.extend(unborn.into_iter().map(|range| Page { range, rows: Vec::new(), is_full: false }));
        self.wanted_rows = stored;
    }

    /// Sends off the reads that are still to be made, when a visit ends.
    pub(crate) fn ask_for_rows(&mut self, out: &mut Effects) {
        if self.wanted_rows.is_empty() || self.is_reading || !self.is_warm {
            return;
        }
        self.is_reading = true;
        self.read_record(out);
        for range in &self.wanted_rows {
            let removed: u32 = self.chains().map(|chain| chain.removals(&range.lane)).sum();
            let limit = range.limit.saturating_add(removed);
            let Some(entity) = range.of.or(self.tip.as_ref().map(|tip| tip.id)) else { continue };
            out.reads.push(Read::Rows { entity, range: Range { limit, ..range.clone() } });
        }
    }

    pub(crate) fn found_rows(&mut self, asked: &Range, rows: Vec<Row>) {
        let is_same = |range: &&Range| Range { limit: asked.limit, ..(*range).clone() } == *asked;
        if let Some(range) = self.wanted_rows.iter().find(is_same).cloned() {
            let is_full = rows.len() >= asked.limit as usize;
            self.pages.push(Page { range, rows, is_full });
        }
    }

    /// Returns the rows as they will be when all chains are durable. If the chains remove so many rows of a
    /// full page that more rows would have to be read, the page is left out, and the turn asks for it
    /// again.
    pub(crate) fn rows(&self) -> Rows {
        let mut told = Rows::default();
        for page in &self.pages {
            let rows = match page.range.of {
                Some(_) => page.rows.clone(),
                None => overlaid(self.chains(), &page.range, page.rows.clone(), page.is_full),
            };
            let mut chains = self.chains();
            let is_dropped = chains.any(|chain| chain.drop.iter().any(|gone| gone.lane == page.range.lane));
            if is_dropped || !page.is_full || rows.len() >= page.range.limit as usize {
                told.insert(page.range.clone(), rows);
            }
        }
        told
    }

    /// Returns the chains that are not durable yet, in order.
    fn chains(&self) -> impl Iterator<Item = &Chain> {
        self.flying.iter().map(|(flying, _)| flying).chain([&self.chain])
    }
}
