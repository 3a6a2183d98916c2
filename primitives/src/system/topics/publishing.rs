//! Publishing: an event gets the next number, and exists from then on (T1).

use drystone_runtime::{Range, Ticket};
use serde_json::{json, value::RawValue};

use super::{
    client::{PublishError, Published},
    record::{Kept, LOG, PENDING, number_in, number_key},
    turn::Turn,
    wire::PUBLISH,
};
use crate::{event::topic::Deliver, planted::Bug, system::halt::Halt};

/// The longest event. A message holds the event together with the address of its wait.
pub(crate) const EVENT_BYTES_MAX: usize = (1 << 20) - (16 << 10);

impl Turn<'_> {
    /// Publishes an event: it is stored, numbered, and sent to the first waits.
    pub(super) fn publish(&mut self, event: Box<RawValue>, caller: Option<Ticket>) -> Result<(), Halt> {
        let bytes = event.get().len();
        if bytes > EVENT_BYTES_MAX {
            return Err(refused(&PublishError::TooLarge { bytes: bytes as u64, limit: EVENT_BYTES_MAX as u64 }));
        }
        self.make_room()?;
        self.record.last += 1;
        let (number, waiting) = (self.record.last, self.record.watching);
        let kept = Kept { at: self.now.0, event };
        match self.record.options.deliver {
            Deliver::All => self.log(number, &kept)?,
            Deliver::One => self.hold(number, &kept)?,
        }
        self.answer(caller, &Published { number, waiting })?;
        self.emit(
            "topic.published",
            &json!({ "topic": self.record.topic.text(), "number": number, "waiting": waiting }),
        );
        let is_first = self.record.pass.is_none();
        self.begin_pass(number);
        if is_first { self.look_through(self.slices.first) } else { Ok(()) }
    }

    /// Stores an event in the log: an event for all waits, or one that was taken.
    pub(super) fn log(&mut self, number: u64, kept: &Kept) -> Result<(), Halt> {
        self.put(LOG, number_key(number), kept)?;
        self.record.logged += 1;
        self.expires(kept.at);
        Ok(())
    }

    /// Stores an event of a work queue until it is taken.
    pub(super) fn hold(&mut self, number: u64, kept: &Kept) -> Result<(), Halt> {
        self.put(PENDING, number_key(number), kept)?;
        self.record.pending += 1;
        self.expires(kept.at);
        Ok(())
    }

    fn expires(&mut self, at: i64) {
        let until = self.record.options.kept_until(at);
        self.record.expires_at = Some(self.record.expires_at.map_or(until, |first| first.min(until)));
    }

    /// Makes room for another event. An event that waits to be taken is never removed for it; of a log the
    /// oldest event is. While some wait was due the oldest event, the log may have grown beyond the limit.
    /// Then two events go for each new one, until the log is short enough.
    fn make_room(&mut self) -> Result<(), Halt> {
        let limit = self.record.options.max_pending;
        if self.record.pending >= limit {
            return Err(refused(&PublishError::Full { topic: self.record.topic.text(), limit }));
        }
        for _ in 0..2 {
            if self.record.logged < limit {
                return Ok(());
            }
            let Some(oldest) = self.oldest_logged()? else { return Ok(()) };
            if self.record.pass.as_ref().is_some_and(|pass| oldest >= pass.oldest) {
                // The pass in progress still has to deliver this event.
                return Ok(());
            }
            self.trim(oldest);
        }
        Ok(())
    }

    /// Removes an event from the log early. In a work queue the log holds only events that were taken, so
    /// nothing is lost there.
    fn trim(&mut self, number: u64) {
        self.remove(LOG, number_key(number));
        self.record.logged -= 1;
        self.record.forgotten = self.record.forgotten.max(number);
        if self.record.options.deliver == Deliver::All {
            self.record.trimmed += u64::from(!Bug::TrimmedUncounted.planted());
            self.emit("topic.trimmed", &json!({ "topic": self.record.topic.text(), "number": number }));
        }
    }

    /// Returns the number of the oldest event in the log. A log that never was a work queue has no gaps, so
    /// the number follows from the record. A read would delay every event on a full topic.
    fn oldest_logged(&self) -> Result<Option<u64>, Halt> {
        if !self.record.has_gaps {
            return Ok(Some(self.record.forgotten + 1));
        }
        let mut stored = self.rows(Range::first(LOG, 2))?.iter();
        Ok(stored.find(|row| !self.is_removed(&LOG, &row.key)).map(|row| number_in(&row.key)))
    }
}

/// Returns a typed error for the publisher.
fn refused(error: &PublishError) -> Halt {
    Halt::own(PUBLISH, error)
}
