//! A pass through the waits of a topic: each commit serves a slice of them, and records how far the pass is
//! (T5).

use drystone_runtime::{Lane, Range, Row, RowKey, key_after};

use super::{
    client::Delivery,
    record::{GIVEN, Kept, LOG, PENDING, Pass, WATCHERS, Watcher, number_key},
    turn::{Turn, read},
    wire::{DELIVERED, Delivered, Seen},
};
use crate::{event::topic::Deliver, planted::Bug, system::halt::Halt};

/// The number of waits that one commit looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slices {
    /// In the commit that publishes, whose caller waits for the answer.
    pub(crate) first: u32,
    /// In each commit that continues the pass (T5).
    pub(crate) next: u32,
}

impl Slices {
    /// The sizes in every app. A test kit may set others, to see many slices with few waits.
    pub(crate) const SHIPPED: Self = Self { first: 16, next: 200 };
}

/// The changes after which a slice ends, of the thousand that a commit may have (K3). A wait that gets an
/// event of a work queue makes five changes, a message among them.
const SLICE_CHANGES: usize = 800;

/// The bytes after which a slice ends. An event of any length must still fit twice, because an event of a
/// work queue is logged when it is sent.
const SLICE_BYTES: usize = 3 << 19;

impl Turn<'_> {
    /// Begins a pass: some wait may be due an event from this number on.
    pub(super) fn begin_pass(&mut self, oldest: u64) {
        if self.record.watching > 0 && self.record.pass.is_none() {
            self.record.pass = Some(Pass { behind: None, upto: self.record.last, oldest });
        }
    }

    /// Begins the pass again from the first wait. An event of a work queue waits to be taken, and the pass
    /// in progress may have left behind a wait that is due it.
    pub(super) fn begin_pass_anew(&mut self, oldest: u64) {
        let oldest = self.record.pass.take().map_or(oldest, |pass| pass.oldest.min(oldest));
        self.begin_pass(oldest);
    }

    /// Takes the next slice of the pass in progress.
    pub(super) fn look_through(&mut self, limit: u32) -> Result<(), Halt> {
        let Some(pass) = self.record.pass.clone() else { return Ok(()) };
        if self.is_all_taken() {
            self.record.pass = None;
            return Ok(());
        }
        let from = pass.behind.as_deref().map(key_after);
        let rows = self.rows(Range { from, ..Range::first(WATCHERS, limit) })?;
        let is_last = rows.len() < limit as usize || Bug::PassForgotten.planted();
        let (mut behind, mut told) = (pass.behind.clone(), Vec::new());
        for row in rows {
            if self.is_much(told.len()) {
                self.note_given(told)?;
                self.record.pass = Some(Pass { behind, ..pass });
                return Ok(());
            }
            told.extend(self.serve(row)?);
            behind = Some(row.key.to_vec());
        }
        self.note_given(told)?;
        self.record.pass = match is_last {
            true => self.next_pass(&pass),
            // Nothing is left for the other waits: looking at them would be a commit for nothing.
            false if self.is_all_taken() => None,
            false => Some(Pass { behind, ..pass }),
        };
        Ok(())
    }

    /// Whether a slice has done as much as a commit should, with a row for each wait that got an event.
    fn is_much(&self, told: usize) -> bool {
        let commit = &self.commit;
        let changes = commit.put.len() + commit.remove.len() + commit.send.len() + told;
        let put: usize = commit.put.iter().map(|row| row.body.len()).sum();
        changes >= SLICE_CHANGES || put + self.bytes_sent() >= SLICE_BYTES
    }

    /// Whether a work queue has no event left that waits to be taken.
    fn is_all_taken(&self) -> bool {
        self.record.options.deliver == Deliver::One && self.record.pending == 0
    }

    /// Returns the next pass, if events were published during the pass that ends.
    fn next_pass(&self, pass: &Pass) -> Option<Pass> {
        let (last, is_new) = (self.record.last, self.record.last > pass.upto);
        (is_new && self.record.watching > 0).then_some(Pass { behind: None, upto: last, oldest: pass.upto + 1 })
    }

    /// Sends the wait in this row the event that is due, if any.
    fn serve(&mut self, row: &Row) -> Result<Option<(u64, Delivery)>, Halt> {
        if self.is_removed(&WATCHERS, &row.key) {
            return Ok(None);
        }
        let (_, watcher) = read::<Watcher>(row)?;
        let Some((number, kept)) = self.due(&watcher)? else { return Ok(None) };
        self.let_go(&row.key);
        Ok(Some(self.give(&watcher, number, &kept)?))
    }

    /// Returns the event that a wait is due: of a log the first event after the wait came, of a work queue
    /// the oldest event that was not taken.
    pub(super) fn due(&self, watcher: &Watcher) -> Result<Option<(u64, Kept)>, Halt> {
        let found = match self.record.options.deliver {
            Deliver::All if watcher.after >= self.record.last => None,
            Deliver::All => self.first_of(LOG, watcher.after + 1)?,
            Deliver::One => self.first_of(PENDING, 0)?,
        };
        Ok(found.filter(|(_, kept)| watcher.wait.is_in_time(kept.at)))
    }

    /// Returns the first event from a number on, even if this turn has put it.
    #[expect(clippy::needless_pass_by_value, reason = "a lane is a constant")]
    pub(super) fn first_of(&self, lane: Lane, from: u64) -> Result<Option<(u64, Kept)>, Halt> {
        let key = number_key(from);
        if let Some(row) = self.commit.put.iter().find(|row| row.lane == lane && row.key == key) {
            return read(row).map(Some);
        }
        let put = self.commit.put.iter().filter(|row| row.lane == lane);
        let count = if lane == LOG { self.record.logged } else { self.record.pending };
        // If this turn has put all events of the lane, there is nothing stored to read.
        let stored = if count <= put.clone().count() as u64 { &[][..] } else { self.stored(&lane, from)? };
        let put = put.filter(|row| row.key >= key);
        let there = stored.iter().filter(|row| !self.is_removed(&lane, &row.key)).chain(put);
        if Bug::NewestPublishedFirst.planted() && lane == PENDING {
            return there.max_by(|one, other| one.key.cmp(&other.key)).map(read).transpose();
        }
        there.min_by(|one, other| one.key.cmp(&other.key)).map(read).transpose()
    }

    /// Reads the first stored events from a number on: one more than this turn has removed, because removed
    /// rows are still stored. The limit is rounded up to a power of two, so that a slice reads seldom, and
    /// not much more than it gives away.
    fn stored(&self, lane: &Lane, from: u64) -> Result<&[Row], Halt> {
        let taken = self.commit.remove.iter().filter(|(of, _)| of == lane).count();
        let wanted = if Bug::NewestPublishedFirst.planted() { 64 } else { 1 };
        let limit = u32::try_from(taken + wanted).unwrap_or(u32::MAX).checked_next_power_of_two().unwrap_or(u32::MAX);
        self.numbered(lane.clone(), from, limit)
    }

    /// Removes a wait.
    pub(super) fn let_go(&mut self, place: &RowKey) {
        if !Bug::WatcherStays.planted() {
            self.remove(WATCHERS, place.clone());
            self.record.watching = self.record.watching.saturating_sub(1);
        }
    }

    /// Sends an event to a wait. An event of a work queue moves to the log, because it is taken.
    pub(super) fn give(&mut self, watcher: &Watcher, number: u64, kept: &Kept) -> Result<(u64, Delivery), Halt> {
        let (by, is_only) = (watcher.wait.by.clone(), self.record.options.deliver == Deliver::One);
        let delivered = Delivered {
            topic: self.record.topic.clone(),
            to: by.clone(),
            seen: Seen { birth: self.record.birth, number },
            at: kept.at,
            options: self.record.options,
            event: kept.event.clone(),
        };
        self.send(watcher.wait.told(DELIVERED, &delivered));
        if is_only && !Bug::GivenTwice.planted() {
            self.remove(PENDING, number_key(number));
            self.record.pending = self.record.pending.saturating_sub(1);
            self.log(number, kept)?;
        }
        Ok((number, Delivery::of(by, self.now)))
    }

    /// Stores deliveries, in one row for each event.
    pub(super) fn note_given(&mut self, mut told: Vec<(u64, Delivery)>) -> Result<(), Halt> {
        told.sort_by_key(|(number, _)| *number);
        for slice in told.chunk_by(|(one, _), (other, _)| one == other) {
            let Some((number, _)) = slice.first() else { continue };
            let to: Vec<&Delivery> = slice.iter().map(|(_, delivery)| delivery).collect();
            self.record.given += 1;
            self.record.slices += 1;
            let key = [number_key(*number), number_key(self.record.slices)].concat();
            self.put(GIVEN, key.into(), &to)?;
        }
        Ok(())
    }
}
