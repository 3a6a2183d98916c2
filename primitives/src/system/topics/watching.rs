//! The waits of runs: they are registered, withdrawn and moved, and their events come back.

use drystone_runtime::{Range, RowKey};
use serde_json::json;

use super::{
    record::{Kept, LOG, PENDING, WATCHERS, Watcher, number_key},
    turn::{Turn, read},
    wire::{Cursor, Declined, LEFT, Leave, Left, Wait, Watch},
};
use crate::{event::topic::Deliver, planted::Bug, system::halt::Halt};

impl Turn<'_> {
    /// Registers a wait. If an event that it has not seen is kept, the wait gets that event at once instead.
    pub(super) fn watch(&mut self, watch: Watch) -> Result<(), Halt> {
        let mut watcher = Watcher { wait: watch.wait, after: self.record.last };
        let found = match self.record.options.deliver {
            // Older waits come first: the pass serves them.
            Deliver::One if self.record.pass.is_some() => None,
            Deliver::One => self.first_of(PENDING, 0)?,
            Deliver::All => match self.first_for(watch.cursor)? {
                Some(from) => self.first_kept(from)?,
                None => None,
            },
        };
        if let Some((number, kept)) = found.filter(|(_, kept)| watcher.wait.is_in_time(kept.at)) {
            let given = self.give(&watcher, number, &kept)?;
            return self.note_given(vec![given]);
        }
        if Bug::WatchedFromStart.planted() {
            watcher.after = self.record.last.saturating_sub(1);
        }
        if Bug::CameUnseen.planted() && self.record.pass.is_some() {
            return Ok(());
        }
        self.put(WATCHERS, watcher.wait.place(), &watcher)?;
        self.record.watching += 1;
        if self.record.options.deliver == Deliver::One && self.record.pass.is_some() {
            self.begin_pass_anew(self.record.last);
        }
        Ok(())
    }

    /// Returns the first number that a wait would take; `None` if that number is not published yet.
    fn first_for(&self, cursor: Cursor) -> Result<Option<u64>, Halt> {
        Ok(match cursor {
            Cursor::Next => None,
            Cursor::After(seen) if seen.birth == self.record.birth => Some(seen.number + 1),
            // The number belongs to an earlier topic of the same key, which was removed meanwhile.
            Cursor::After(_) | Cursor::Oldest => Some(0),
            Cursor::Since(time) => self.first_since(time)?,
        })
    }

    /// Returns the first kept event of a log from a number on. An expired event may be in the log until the
    /// alarm removes it. A run that has seen this event may have forgotten that, so the event must not be
    /// delivered again.
    fn first_kept(&self, from: u64) -> Result<Option<(u64, Kept)>, Halt> {
        let found = self.first_of(LOG, from)?;
        let is_over = |(_, kept): &(u64, Kept)| self.record.options.kept_until(kept.at) <= self.now.0;
        if !found.as_ref().is_some_and(is_over) {
            return Ok(found);
        }
        let keep_for = i64::try_from(self.record.options.keep_for_ms).unwrap_or(i64::MAX);
        match self.first_since(self.now.0.saturating_sub(keep_for).saturating_add(1))? {
            Some(number) => self.first_of(LOG, number),
            None => Ok(None),
        }
    }

    /// Returns the first event of a log that was published at a time or later. The numbers are in the order
    /// of time.
    fn first_since(&self, time: i64) -> Result<Option<u64>, Halt> {
        let (mut low, mut high) = (self.record.last.saturating_sub(self.record.logged) + 1, self.record.last + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.numbered(LOG, middle, 1)?.first().map(read::<Kept>).transpose()? {
                Some((number, kept)) if kept.at < time => low = number + 1,
                _ => high = middle,
            }
        }
        if Bug::ReadFromBefore.planted() {
            low = low.saturating_sub(1);
        }
        Ok((low <= self.record.last).then_some(low))
    }

    /// Withdraws a wait that is over or whose deadline has passed. In the second case the wait still gets an
    /// event that was published before the deadline (T4).
    pub(super) fn leave(&mut self, leave: &Leave) -> Result<(), Halt> {
        let place = leave.wait.place();
        let Some(row) = self.row(WATCHERS, &place)? else {
            // The event that the wait was due is in flight, and arrives before this answer.
            self.send(left(leave));
            return Ok(());
        };
        let (_, watcher) = read::<Watcher>(row)?;
        self.let_go(&place);
        // An event of a work queue goes to waits that have waited longer.
        let is_next = self.record.options.deliver == Deliver::All || self.is_first(&place)?;
        let due = if leave.is_answered && is_next { self.due(&watcher)? } else { None };
        match due {
            Some((number, kept)) => {
                let given = self.give(&watcher, number, &kept)?;
                self.note_given(vec![given])
            }
            None => {
                self.send(left(leave));
                Ok(())
            }
        }
    }

    /// Whether no other wait has waited longer, of those that are in time.
    fn is_first(&self, place: &RowKey) -> Result<bool, Halt> {
        for row in self.rows(Range::first(WATCHERS, self.slices.next))? {
            if row.key >= *place {
                return Ok(true);
            }
            if read::<Watcher>(row)?.1.wait.is_in_time(self.now.0) {
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// Changes the deadline of a wait.
    pub(super) fn move_deadline(&mut self, wait: Wait) -> Result<(), Halt> {
        let place = wait.place();
        let Some(row) = self.row(WATCHERS, &place)? else { return Ok(()) };
        let (_, watcher) = read::<Watcher>(row)?;
        let watcher = Watcher { wait, ..watcher };
        // An event that came between the two deadlines was too late for the old one, and is in time for the
        // new one.
        let is_log = self.record.options.deliver == Deliver::All;
        let due = if is_log { self.due(&watcher)? } else { None };
        if let Some((number, kept)) = due {
            self.let_go(&place);
            let given = self.give(&watcher, number, &kept)?;
            return self.note_given(vec![given]);
        }
        self.put(WATCHERS, place, &watcher)?;
        if !is_log && self.record.pending > 0 {
            // Other waits may have waited longer.
            self.begin_pass_anew(watcher.after + 1);
        }
        Ok(())
    }

    /// Takes back an event for which its run did not wait any more. The event goes to the next wait, under
    /// its number.
    pub(super) fn take_back(&mut self, declined: Declined) -> Result<(), Halt> {
        let Declined { birth, at, event, .. } = declined;
        if Bug::DeclinedLost.planted() {
            return Ok(());
        }
        // If the topic was removed meanwhile, another event has this number, or will have it.
        let is_ours = birth == self.record.birth;
        let number = if is_ours { declined.number } else { self.record.last + 1 };
        if is_ours {
            self.was_not_given(number)?;
        }
        self.hold(number, &Kept { at, event })?;
        self.record.last = self.record.last.max(number);
        self.emit("topic.returned", &json!({ "topic": self.record.topic.text(), "number": number }));
        self.begin_pass_anew(number);
        self.look_through(self.slices.next)
    }

    /// Forgets that an event was given to a wait.
    fn was_not_given(&mut self, number: u64) -> Result<(), Halt> {
        let key = number_key(number);
        if self.row(LOG, &key)?.is_some() {
            self.remove(LOG, key);
            self.record.logged = self.record.logged.saturating_sub(1);
        }
        self.forget_given(number)
    }
}

/// Returns the confirmation for a wait that was withdrawn, if it asks for one.
pub(super) fn left(leave: &Leave) -> Option<drystone_runtime::Message> {
    let said = Left { topic: leave.topic.clone(), to: leave.wait.by.clone() };
    leave.is_answered.then(|| leave.wait.told(LEFT, &said)).flatten()
}
