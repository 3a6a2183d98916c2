//! What a run has to say and one commit cannot (K3): it lies in rows, in each no more than a commit sends, and follows in order.

use drystone_runtime::{Message, Name, Range, Row};

use super::{
    super::{
        Workflow, journal,
        record::{Owed, Owes, Record},
    },
    turning::{Halt, ROWS_MAX, Turning},
};
use crate::{decode, encode};

/// The lane of what is owed.
const LANE: Name = Name::new("owed");

/// Messages of one turn.
const SENT_PER_TURN: usize = 400;

/// Bytes of messages after which a row ends. What is longer than that alone is sent at once: it may be as long as a row.
const ROW_BYTES: usize = 256 << 10;

/// The row that is sent next.
pub(super) fn next_row(record: &Record) -> Option<Range> {
    (!record.owes.is_nothing()).then(|| Range::at(LANE, journal::row_key(record.owes.first)))
}

impl<W: Workflow> Turning<'_, W> {
    /// Whether another message goes out with this commit.
    pub(super) fn can_send_more(&self) -> bool {
        self.record.owes.is_nothing() && self.commit.send.len() < self.room()
    }

    /// How many messages this commit takes, beside the rows that it changes.
    fn room(&self) -> usize {
        ROWS_MAX.saturating_sub(self.rows_changed()).min(SENT_PER_TURN)
    }

    /// Sends what was owed longest, if it is at hand, and what this turn says; what is too much for one commit is owed. Whether the
    /// record is another for it.
    pub(super) fn send_what_is_owed(&mut self) -> Result<bool, Halt> {
        if self.record.owes.is_nothing() && self.commit.send.len() <= self.room() {
            return Ok(false);
        }
        let said = std::mem::take(&mut self.commit.send);
        self.send_next_row()?;
        let (mut later, mut bytes) = (Vec::new(), 0);
        for message in said {
            if later.is_empty() && self.can_send_more() || message.body.len() > ROW_BYTES {
                self.commit.send.push(message);
                continue;
            }
            bytes += message.body.len();
            later.push(message);
            if later.len() == SENT_PER_TURN || bytes > ROW_BYTES {
                self.put_row(&std::mem::take(&mut later))?;
                bytes = 0;
            }
        }
        self.put_row(&later)?;
        if self.record.owes.is_nothing() {
            self.record.owes = Owes::default();
        }
        Ok(true)
    }

    fn send_next_row(&mut self) -> Result<(), Halt> {
        let Some(row) = next_row(&self.record).and_then(|range| self.seen.rows.get(&range)?.first()) else {
            return Ok(());
        };
        let owed: Vec<Owed> = decode(&row.body).map_err(Halt::Park)?;
        if owed.len() > self.room() {
            // The next turn has fewer rows to change.
            return Ok(());
        }
        self.commit.send.extend(owed.into_iter().filter_map(Owed::message));
        self.commit.remove.push((LANE, row.key.clone()));
        self.record.owes.first += 1;
        Ok(())
    }

    fn put_row(&mut self, messages: &[Message]) -> Result<(), Halt> {
        if messages.is_empty() {
            return Ok(());
        }
        let owed: Vec<Owed> = messages.iter().filter_map(Owed::of).collect();
        let (key, body) = (journal::row_key(self.record.owes.next), encode(&owed).map_err(Halt::Malformed)?);
        self.commit.put.push(Row { lane: LANE, key, body });
        self.record.owes.next += 1;
        Ok(())
    }
}
