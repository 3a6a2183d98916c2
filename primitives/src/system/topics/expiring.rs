//! Expiry: events that are no longer kept are removed and counted, a slice in each commit (T2). An event of
//! a work queue that was not taken becomes a dead letter (T3).

use drystone_runtime::{Range, Row};
use serde_json::json;

use super::{
    record::{GIVEN, Kept, LOG, PENDING, number_in},
    turn::{Turn, read},
};
use crate::{
    Timestamp,
    event::topic::Deliver,
    planted::Bug,
    system::{dead_letters, halt::Halt},
};

/// The rows that one commit removes, of each lane.
const SLICE: u32 = 100;

/// The bytes of dead letters after which a slice ends.
const SLICE_BYTES: usize = 2 << 20;

impl Turn<'_> {
    /// Handles the alarm: a slice of the pass in progress, or of the expired events.
    pub(super) fn ring(&mut self) -> Result<(), Halt> {
        if self.record.pass.is_some() {
            return self.look_through(self.slices.next);
        }
        if self.record.has_given_much() {
            return self.forget_given_first();
        }
        if self.record.expires_at.is_none_or(|at| at > self.now.0) {
            return Ok(());
        }
        let pending = self.bury()?;
        let logged = self.forget()?;
        let given = self.forget_older()?;
        self.record.expires_at = [pending, logged, given].into_iter().flatten().min();
        Ok(())
    }

    /// Turns expired events that were not taken into dead letters. Returns when the next event expires.
    fn bury(&mut self) -> Result<Option<i64>, Halt> {
        if self.record.pending == 0 {
            return Ok(None);
        }
        let rows = self.rows(Range::first(PENDING, SLICE))?;
        for row in rows {
            let (number, kept) = read::<Kept>(row)?;
            let until = self.record.options.kept_until(kept.at);
            if until > self.now.0 || self.bytes_sent() >= SLICE_BYTES {
                return Ok(Some(until));
            }
            self.remove(PENDING, row.key.clone());
            self.record.pending -= 1;
            self.record.dead += 1;
            self.record.forgotten = self.record.forgotten.max(number);
            if !Bug::ExpiredForgotten.planted() {
                let reason = format!("nobody took it since {}", Timestamp::from_millis(kept.at));
                let topic = (&self.record.topic, self.record.options);
                self.send(dead_letters::event_of_topic(topic, &kept.event, reason));
            }
            self.tell_expired(number, true);
        }
        Ok(self.is_more(rows, SLICE))
    }

    fn tell_expired(&mut self, number: u64, is_dead: bool) {
        let told = json!({ "topic": self.record.topic.text(), "number": number, "dead_letter": is_dead });
        self.emit("topic.expired", &told);
    }

    /// Removes expired events from the log. Returns when the next event expires. In a work queue the log
    /// holds only events that were taken, so nothing is lost there.
    fn forget(&mut self) -> Result<Option<i64>, Halt> {
        if self.record.logged == 0 {
            return Ok(None);
        }
        let rows = self.rows(Range::first(LOG, SLICE))?;
        for row in rows {
            let (number, kept) = read::<Kept>(row)?;
            let until = self.record.options.kept_until(kept.at);
            if until > self.now.0 {
                return Ok(Some(until));
            }
            self.remove(LOG, row.key.clone());
            self.record.logged -= 1;
            self.record.forgotten = self.record.forgotten.max(number);
            if self.record.options.deliver == Deliver::All {
                self.record.expired += 1;
                self.tell_expired(number, false);
            }
        }
        Ok(self.is_more(rows, SLICE))
    }

    /// Forgets the deliveries of events that are no longer kept.
    fn forget_older(&mut self) -> Result<Option<i64>, Halt> {
        if self.record.given == 0 {
            return Ok(None);
        }
        let rows = self.rows(Range::first(GIVEN, SLICE))?;
        let forgotten = self.record.forgotten;
        for row in rows.iter().take_while(|row| number_in(&row.key) <= forgotten) {
            self.remove(GIVEN, row.key.clone());
            self.record.given -= 1;
        }
        let is_whole = rows.last().is_some_and(|row| number_in(&row.key) <= forgotten);
        Ok(if is_whole { self.is_more(rows, SLICE) } else { None })
    }

    /// Forgets the oldest deliveries early. Removing a whole slice makes this rare.
    fn forget_given_first(&mut self) -> Result<(), Halt> {
        for row in self.rows(Range::first(GIVEN, SLICE))? {
            self.remove(GIVEN, row.key.clone());
            self.record.given -= 1;
        }
        Ok(())
    }

    /// Forgets the delivery of an event that came back.
    pub(super) fn forget_given(&mut self, number: u64) -> Result<(), Halt> {
        if self.record.given == 0 {
            return Ok(());
        }
        let rows = self.numbered(GIVEN, number, 2)?;
        for row in rows.iter().filter(|row| number_in(&row.key) == number) {
            self.remove(GIVEN, row.key.clone());
            self.record.given -= 1;
        }
        Ok(())
    }

    /// Returns the current time if there may be more rows like these.
    fn is_more(&self, rows: &[Row], limit: u32) -> Option<i64> {
        (rows.len() >= limit as usize).then_some(self.now.0)
    }
}
