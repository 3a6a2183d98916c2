//! A turn of a topic: the record, the rows to read, and the commit.

use bytes::Bytes;
use drystone_runtime::{
    Change, Commit, Entity, Lane, Lifecycle, Message, Millis, Name, Next, Range, Row, RowKey, Rows, Status, Ticket, To,
};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    passing::Slices,
    record::{Record, number_in},
    wire::TopicName,
};
use crate::{
    context::fields,
    decode, encode,
    event::topic::{Deliver, TopicOptions},
    system::halt::Halt,
};

/// The input of a turn.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) entity: Option<&'a Entity>,
    pub(super) rows: &'a Rows,
    pub(super) now: Millis,
    pub(super) slices: Slices,
}

/// A turn in progress.
pub(super) struct Turn<'a> {
    pub(super) now: Millis,
    pub(super) slices: Slices,
    pub(super) record: Record,
    pub(super) commit: Commit,
    entity: Option<&'a Entity>,
    rows: &'a Rows,
}

impl<'a> Turn<'a> {
    /// Opens the turn of an existing topic.
    pub(super) fn of(entity: &'a Entity, seen: Seen<'a>) -> Result<Self, Halt> {
        let record = decode(&entity.head).map_err(Halt::Park)?;
        Ok(Self::with(Some(entity), seen, record))
    }

    fn with(entity: Option<&'a Entity>, Seen { rows, now, slices, .. }: Seen<'a>, record: Record) -> Self {
        Self { now, slices, record, commit: Commit::default(), entity, rows }
    }

    /// Opens the turn of a topic, which is created if it does not exist. The options are those of the last
    /// sender, because the code is authoritative.
    pub(super) fn open(seen: Seen<'a>, topic: &TopicName, options: TopicOptions) -> Result<Self, Halt> {
        let now = seen.now;
        let Some(entity) = seen.entity else {
            return Ok(Self::with(None, seen, Record::new(topic.clone(), options, now.0)));
        };
        let mut turn = Self::of(entity, seen)?;
        if turn.record.options != options {
            turn.record.options = options;
            // Events that are to be kept for a shorter time may have expired, so this is looked up at once.
            turn.record.expires_at = turn.record.expires_at.map(|_| now.0);
        }
        turn.record.has_gaps |= options.deliver == Deliver::One;
        Ok(turn)
    }

    /// Returns rows, or asks for them to be read.
    pub(super) fn rows(&self, range: Range) -> Result<&'a [Row], Halt> {
        self.rows.get(&range).ok_or(Halt::Read(range))
    }

    /// Returns the stored row of exactly this key.
    pub(super) fn row(&self, lane: Lane, key: &RowKey) -> Result<Option<&'a Row>, Halt> {
        Ok(self.rows(Range::at(lane, key.clone()))?.first().filter(|row| row.key == *key))
    }

    /// Returns rows of a lane from a number on.
    pub(super) fn numbered(&self, lane: Lane, from: u64, limit: u32) -> Result<&'a [Row], Halt> {
        self.rows(Range { from: Some(super::record::number_key(from)), ..Range::first(lane, limit) })
    }

    pub(super) fn put(&mut self, lane: Lane, key: RowKey, value: &impl Serialize) -> Result<(), Halt> {
        let body = encode(value).map_err(|reason| Halt::malformed("topic", reason))?;
        self.commit.put.push(Row { lane, key, body });
        Ok(())
    }

    /// Removes a row. A row that this turn has put is taken out of the commit instead.
    pub(super) fn remove(&mut self, lane: Lane, key: RowKey) {
        let before = self.commit.put.len();
        self.commit.put.retain(|row| row.lane != lane || row.key != key);
        if self.commit.put.len() == before {
            self.commit.remove.push((lane, key));
        }
    }

    /// Whether this turn has removed a row.
    pub(super) fn is_removed(&self, lane: &Lane, key: &RowKey) -> bool {
        self.commit.remove.iter().any(|(of, gone)| of == lane && gone == key)
    }

    pub(super) fn send(&mut self, message: Option<Message>) {
        self.commit.send.extend(message);
    }

    /// Returns the bytes that this turn sends to runs.
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

    /// Builds the commit. A topic that has nothing left is removed, and is created anew when it is used
    /// again. A topic that has lost events stays for some time with their number.
    pub(super) fn close(mut self) -> Result<Next, Halt> {
        let since = self.record.empty_since.unwrap_or(self.now.0);
        self.record.empty_since = self.record.is_empty().then_some(since);
        if self.record.is_empty() && self.record.counted_until().is_none_or(|until| until <= self.now.0) {
            self.commit.destroy = self.entity.is_some();
            // An empty topic has no rows, so there is nothing else to write.
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

    /// Returns the next alarm. During a pass, or with too many deliveries, it is due at once. Otherwise it
    /// is due when the oldest event expires, or the counts of an empty topic.
    fn next_alarm(&self) -> Option<Millis> {
        match &self.record.pass {
            Some(_) => Some(self.now),
            None if self.record.has_given_much() => Some(self.now),
            None if self.record.is_empty() => self.record.counted_until().map(Millis),
            None => self.record.expires_at.map(Millis),
        }
    }
}

/// Returns the number and the content of a row.
pub(super) fn read<T: DeserializeOwned>(row: &Row) -> Result<(u64, T), Halt> {
    let number = number_in(&row.key);
    decode(&row.body)
        .map(|value| (number, value))
        .map_err(|reason| Halt::Park(format!("{} {number}: {reason}", row.lane)))
}
