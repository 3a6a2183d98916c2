//! Messages of a run that do not fit into one commit (K3). They are stored in rows, none of which holds more
//! than one commit can send, and are sent in order (M1). A long message takes two rows of its own, its address
//! and its body, because its body may be as long as a row may be.

use bytes::Bytes;
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

/// The bytes of messages after which a row ends. A message with a longer body is a long one.
const ROW_BYTES: usize = 256 << 10;

/// Returns the range with the row that is sent next, and the row after it, which may be the body of a long
/// message.
pub(super) fn next_rows(record: &Record) -> Option<Range> {
    next_range(record.owes)
}

fn next_range(owes: Owes) -> Option<Range> {
    (!owes.is_nothing()).then(|| Range { limit: 2, ..Range::at(LANE, journal::row_key(owes.first)) })
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
        self.send_next()?;
        let (mut later, mut bytes) = (Vec::new(), 0);
        for message in messages {
            // Once a message is owed, later messages are owed, too. This keeps their order.
            if later.is_empty() && self.has_room() {
                self.commit.send([message]);
                continue;
            }
            if message.body.len() > ROW_BYTES {
                self.put_messages(&std::mem::take(&mut later))?;
                self.put_long(message)?;
                bytes = 0;
                continue;
            }
            bytes += message.body.len();
            later.push(message);
            if later.len() == SENT_PER_TURN || bytes > ROW_BYTES {
                self.put_messages(&std::mem::take(&mut later))?;
                bytes = 0;
            }
        }
        self.put_messages(&later)?;
        if self.owes.is_nothing() {
            *self.owes = Owes::default();
        }
        Ok(true)
    }

    fn send_next(&mut self) -> Result<(), Halt> {
        let rows = next_range(*self.owes).and_then(|range| self.rows.get(&range)).unwrap_or_default();
        let Some(row) = rows.first() else { return Ok(()) };
        let owed: Vec<Owed> = decode(&row.body).map_err(Halt::Park)?;
        if owed.len() > self.room() {
            // The next turn changes fewer rows and has room for these messages.
            return Ok(());
        }
        let body = if owed.iter().any(Owed::is_long) {
            Some(rows.get(1).ok_or_else(|| Halt::Park("an owed message has no body".to_owned()))?)
        } else {
            None
        };
        self.commit.send(owed.into_iter().filter_map(|owed| owed.message(body.map(|row| &row.body))));
        for row in [row].into_iter().chain(body) {
            self.commit.remove((LANE, row.key.clone()));
            self.owes.first += 1;
        }
        Ok(())
    }

    fn put_messages(&mut self, messages: &[Message]) -> Result<(), Halt> {
        if messages.is_empty() {
            return Ok(());
        }
        let owed: Vec<Owed> = messages.iter().filter_map(Owed::of).collect();
        self.put_row(encode(&owed).map_err(Halt::Malformed)?);
        Ok(())
    }

    fn put_long(&mut self, message: Message) -> Result<(), Halt> {
        self.put_row(encode(&[Owed::long(&message)]).map_err(Halt::Malformed)?);
        self.put_row(message.body);
        Ok(())
    }

    fn put_row(&mut self, body: Bytes) {
        self.commit.put((LANE, journal::row_key(self.owes.next)), body);
        self.owes.next += 1;
    }
}
