//! Runs that come to wait, and go.

use drystone_runtime::{Range, RowKey};
use serde_json::json;

use super::{
    options::Deliver,
    record::{Kept, LOG, PENDING, WATCHERS, Watcher, number_key},
    turn::{Turn, read},
    wire::{Cursor, Declined, LEFT, Leave, Left, Wait, Watch},
};
use crate::{halt::Halt, planted::Bug};

impl Turn<'_> {
    /// A run begins to wait: it gets what it has not seen, if that is kept, or its place among those who wait.
    pub(super) fn watch(&mut self, watch: Watch) -> Result<(), Halt> {
        let mut watcher = Watcher { wait: watch.wait, after: self.record.last };
        let found = match self.record.options.deliver {
            // Those who wait longer come first: the pass looks at them.
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

    /// The first number that a wait would take; `None` if it is one that is not published yet.
    fn first_for(&self, cursor: Cursor) -> Result<Option<u64>, Halt> {
        Ok(match cursor {
            Cursor::Next => None,
            Cursor::After(seen) if seen.birth == self.record.birth => Some(seen.number + 1),
            // Its numbers are those of a topic that was gone meanwhile.
            Cursor::After(_) | Cursor::Oldest => Some(0),
            Cursor::Since(time) => self.first_since(time)?,
        })
    }

    /// The first event of a log from a number on that is kept. One whose time is up may lie there until the alarm lets it go: a run that
    /// has seen it may have forgotten that by now.
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

    /// The first event of a log that was published then or later: its numbers are in the order of time.
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

    /// A wait is over, or its time is up. What was published before that it gets all the same (T4).
    pub(super) fn leave(&mut self, leave: &Leave) -> Result<(), Halt> {
        let place = leave.wait.place();
        let Some(row) = self.row(WATCHERS, &place)? else {
            // What it was due is on its way, and comes before this.
            self.send(left(leave));
            return Ok(());
        };
        let (_, watcher) = read::<Watcher>(row)?;
        self.let_go(&place);
        // What is for one goes to those first who wait longer.
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

    /// Whether nobody waits longer, of those who are in time.
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

    /// The deadline of a wait is another one.
    pub(super) fn move_deadline(&mut self, wait: Wait) -> Result<(), Halt> {
        let place = wait.place();
        let Some(row) = self.row(WATCHERS, &place)? else { return Ok(()) };
        let (_, watcher) = read::<Watcher>(row)?;
        let watcher = Watcher { wait, ..watcher };
        // What came between the two deadlines was not for it then, and is now.
        let is_log = self.record.options.deliver == Deliver::All;
        let due = if is_log { self.due(&watcher)? } else { None };
        if let Some((number, kept)) = due {
            self.let_go(&place);
            let given = self.give(&watcher, number, &kept)?;
            return self.note_given(vec![given]);
        }
        self.put(WATCHERS, place, &watcher)?;
        if !is_log && self.record.pending > 0 {
            // Others may wait longer.
            self.begin_pass_anew(watcher.after + 1);
        }
        Ok(())
    }

    /// An event comes back: its run did not wait for it any more. It goes to the next, under its number.
    pub(super) fn take_back(&mut self, declined: Declined) -> Result<(), Halt> {
        let Declined { birth, at, event, .. } = declined;
        if Bug::DeclinedLost.planted() {
            return Ok(());
        }
        // If the topic was gone meanwhile, its number is another's by now, or will be.
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

    /// Nobody has got an event that somebody was to have.
    fn was_not_given(&mut self, number: u64) -> Result<(), Halt> {
        let key = number_key(number);
        if self.row(LOG, &key)?.is_some() {
            self.remove(LOG, key);
            self.record.logged = self.record.logged.saturating_sub(1);
        }
        self.forget_given(number)
    }
}

/// The answer to a wait that leaves, if it wants one.
pub(super) fn left(leave: &Leave) -> Option<drystone_runtime::Message> {
    let said = Left { topic: leave.topic.clone(), to: leave.wait.by.clone() };
    leave.is_answered.then(|| leave.wait.told(LEFT, &said)).flatten()
}
