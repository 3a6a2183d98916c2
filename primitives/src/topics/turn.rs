//! One turn of a topic: its record, the rows it needs, what it writes.

use bytes::Bytes;
use drystone_runtime::{
    Change, Commit, Entity, Lane, Lifecycle, Message, Millis, Name, Next, Range, Row, RowKey, Rows, Status, Ticket, To,
};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    Deliver, TopicOptions,
    passing::Slices,
    record::{Record, number_in},
    wire::TopicName,
};
use crate::{context::fields, decode, encode, halt::Halt};

/// What a turn is taken on.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) entity: Option<&'a Entity>,
    pub(super) rows: &'a Rows,
    pub(super) now: Millis,
    pub(super) slices: Slices,
}

/// A turn under way.
pub(super) struct Turn<'a> {
    pub(super) now: Millis,
    pub(super) slices: Slices,
    pub(super) record: Record,
    pub(super) commit: Commit,
    entity: Option<&'a Entity>,
    rows: &'a Rows,
}

impl<'a> Turn<'a> {
    /// That of a topic that is there.
    pub(super) fn of(entity: &'a Entity, seen: Seen<'a>) -> Result<Self, Halt> {
        let record = decode(&entity.head).map_err(Halt::Park)?;
        Ok(Self::with(Some(entity), seen, record))
    }

    fn with(entity: Option<&'a Entity>, Seen { rows, now, slices, .. }: Seen<'a>, record: Record) -> Self {
        Self { now, slices, record, commit: Commit::default(), entity, rows }
    }

    /// That of a topic whether it is there or not. Its options are those of whoever used it last: code is authoritative.
    pub(super) fn open(seen: Seen<'a>, topic: &TopicName, options: TopicOptions) -> Result<Self, Halt> {
        let now = seen.now;
        let Some(entity) = seen.entity else {
            return Ok(Self::with(None, seen, Record::new(topic.clone(), options, now.0)));
        };
        let mut turn = Self::of(entity, seen)?;
        if turn.record.options != options {
            turn.record.options = options;
            // What is kept for a shorter time now is looked for at once.
            turn.record.expires_at = turn.record.expires_at.map(|_| now.0);
        }
        turn.record.has_gaps |= options.deliver == Deliver::One;
        Ok(turn)
    }

    /// Rows, once they are read.
    pub(super) fn rows(&self, range: Range) -> Result<&'a [Row], Halt> {
        self.rows.get(&range).ok_or(Halt::Read(range))
    }

    /// The row of this very key, as it is stored.
    pub(super) fn row(&self, lane: Lane, key: &RowKey) -> Result<Option<&'a Row>, Halt> {
        Ok(self.rows(Range::at(lane, key.clone()))?.first().filter(|row| row.key == *key))
    }

    /// Rows of a lane from a number on.
    pub(super) fn numbered(&self, lane: Lane, from: u64, limit: u32) -> Result<&'a [Row], Halt> {
        self.rows(Range { from: Some(super::record::number_key(from)), ..Range::first(lane, limit) })
    }

    pub(super) fn put(&mut self, lane: Lane, key: RowKey, value: &impl Serialize) -> Result<(), Halt> {
        let body = encode(value).map_err(|reason| Halt::malformed("topic", reason))?;
        self.commit.put.push(Row { lane, key, body });
        Ok(())
    }

    /// A row goes; one that this very turn has put is not there at all.
    pub(super) fn remove(&mut self, lane: Lane, key: RowKey) {
        let before = self.commit.put.len();
        self.commit.put.retain(|row| row.lane != lane || row.key != key);
        if self.commit.put.len() == before {
            self.commit.remove.push((lane, key));
        }
    }

    /// Whether this very turn has taken a row away.
    pub(super) fn is_removed(&self, lane: &Lane, key: &RowKey) -> bool {
        self.commit.remove.iter().any(|(of, gone)| of == lane && gone == key)
    }

    pub(super) fn send(&mut self, message: Option<Message>) {
        self.commit.send.extend(message);
    }

    /// Bytes on their way to runs.
    pub(super) fn bytes_sent(&self) -> usize {
        self.commit.send.iter().map(|message| message.body.len()).sum()
    }

    pub(super) fn emit(&mut self, name: &'static str, particulars: &impl Serialize) {
        let fields = fields(particulars).unwrap_or_default();
        self.commit.emit.push(Lifecycle { name: Name::new(name), fields });
    }

    pub(super) fn answer(&mut self, ticket: Option<Ticket>, value: &impl Serialize) -> Result<(), Halt> {
        let Some(ticket) = ticket else { return Ok(()) };
        let value: Bytes = encode(value).map_err(|reason| Halt::malformed("answer", reason))?;
        self.commit.replies.push((To::Ticket(ticket), Ok(value)));
        Ok(())
    }

    /// The turn's commit. A topic that has nothing left goes, and begins anew when somebody uses it; one that has lost events is seen for
    /// some time, with how many.
    pub(super) fn close(mut self) -> Result<Next, Halt> {
        let since = self.record.empty_since.unwrap_or(self.now.0);
        self.record.empty_since = self.record.is_empty().then_some(since);
        if self.record.is_empty() && self.record.counted_until().is_none_or(|until| until <= self.now.0) {
            self.commit.destroy = self.entity.is_some();
            // What would have been put is not there either.
            return Ok(Next::Commit(self.commit));
        }
        let head = encode(&self.record).map_err(|reason| Halt::malformed("topic", reason))?;
        if self.entity.is_none_or(|entity| entity.head != head) {
            self.commit.head = Some(head);
        }
        if self.entity.is_none() {
            self.commit.status = Some(Status::resting("open"));
        }
        let alarm = self.next_alarm();
        if alarm != self.entity.and_then(|entity| entity.alarm) {
            self.commit.alarm = alarm.map_or(Change::Clear, Change::Set);
        }
        Ok(Next::Commit(self.commit))
    }

    /// At once while a pass is under way, or too much is kept of who got what; else when the oldest event expires, or the counts of what has.
    fn next_alarm(&self) -> Option<Millis> {
        match &self.record.pass {
            Some(_) => Some(self.now),
            None if self.record.has_given_much() => Some(self.now),
            None if self.record.is_empty() => self.record.counted_until().map(Millis),
            None => self.record.expires_at.map(Millis),
        }
    }
}

/// What a row holds, and its number.
pub(super) fn read<T: DeserializeOwned>(row: &Row) -> Result<(u64, T), Halt> {
    let number = number_in(&row.key);
    decode(&row.body)
        .map(|value| (number, value))
        .map_err(|reason| Halt::Park(format!("{} {number}: {reason}", row.lane)))
}
