//! Messages of a run that do not fit into one commit (K3). They are stored in rows, none of which holds more
//! than one commit can send, and are sent in order.

use drystone_runtime::{Message, Name, Range, Rows};

use super::{
    turn::{Halt, ROWS_MAX, Turning},
    turn_commit::TurnCommit,
};
use crate::{
    decode, encode,
    workflow::{
        Workflow,
        record::{Owed, Owes, Record},
        replay::journal,
    },
};

/// The lane of messages that are still to be sent.
const LANE: Name = Name::new("owed");

/// The messages that a turn sends at most.
const SENT_PER_TURN: usize = 400;

/// The bytes of messages after which a row ends. A longer message is sent at once, because it may be as long
/// as a row may be.
const ROW_BYTES: usize = 256 << 10;

/// Returns the row that is sent next.
pub(super) fn next_row(record: &Record) -> Option<Range> {
    next_range(record.owes)
}

fn next_range(owes: Owes) -> Option<Range> {
    (!owes.is_nothing()).then(|| Range::at(LANE, journal::row_key(owes.first)))
}

/// The messages of a turn, and those that earlier turns owe.
pub(super) struct Outbox<'t> {
    owes: &'t mut Owes,
    commit: &'t mut TurnCommit,
    rows: &'t Rows,
}

impl<W: Workflow> Turning<'_, W> {
    pub(super) fn outbox(&mut self) -> Outbox<'_> {
        Outbox { owes: &mut self.record.owes, commit: &mut self.commit, rows: self.seen.rows }
    }
}

impl Outbox<'_> {
    /// Whether this commit has room for another message.
    pub(super) fn has_room(&self) -> bool {
        self.owes.is_nothing() && self.commit.sent() < self.room()
    }

    /// Returns how many messages this commit can send beside the rows that it changes.
    fn room(&self) -> usize {
        ROWS_MAX.saturating_sub(self.commit.rows_changed()).min(SENT_PER_TURN)
    }

    /// Sends the oldest owed messages, if their row was read, and the messages of this turn. Messages that
    /// are too many for one commit are stored as owed. Returns whether the record has changed.
    pub(super) fn flush(mut self) -> Result<bool, Halt> {
        if self.owes.is_nothing() && self.commit.sent() <= self.room() {
            return Ok(false);
        }
        let messages = self.commit.take_messages();
        self.send_next_row()?;
        let (mut later, mut bytes) = (Vec::new(), 0);
        for message in messages {
            // Once a message is owed, later messages are owed, too. This keeps their order.
            if later.is_empty() && self.has_room() || message.body.len() > ROW_BYTES {
                self.commit.send([message]);
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
        if self.owes.is_nothing() {
            *self.owes = Owes::default();
        }
        Ok(true)
    }

    fn send_next_row(&mut self) -> Result<(), Halt> {
        let Some(row) = next_range(*self.owes).and_then(|range| self.rows.get(&range)?.first()) else {
            return Ok(());
        };
        let owed: Vec<Owed> = decode(&row.body).map_err(Halt::Park)?;
        if owed.len() > self.room() {
            // The next turn changes fewer rows and has room for these messages.
            return Ok(());
        }
        self.commit.send(owed.into_iter().filter_map(Owed::message));
        self.commit.remove((LANE, row.key.clone()));
        self.owes.first += 1;
        Ok(())
    }

    fn put_row(&mut self, messages: &[Message]) -> Result<(), Halt> {
        if messages.is_empty() {
            return Ok(());
        }
        let owed: Vec<Owed> = messages.iter().filter_map(Owed::of).collect();
        let (key, body) = (journal::row_key(self.owes.next), encode(&owed).map_err(Halt::Malformed)?);
        self.commit.put((LANE, key), body);
        self.owes.next += 1;
        Ok(())
    }
}
