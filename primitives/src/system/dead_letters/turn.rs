//! A turn of the entity that keeps dead letters: the record, the rows to read, and the commit.

use bytes::Bytes;
use drystone_runtime::{
    Change, Commit, Entity, Key, Lifecycle, Millis, Name, Next, Range, Row, RowKey, Rows, Status, Ticket, Version,
};
use serde::{Deserialize, Serialize};

use super::{
    Limits,
    kept::Kept,
    letter::{Counts, LetterError},
};
use crate::{context::fields, decode, encode, system::halt::Halt};

/// The lane of letters, by number.
const LETTERS: &str = "letters";

/// The lane of payloads, by the same number. They lie apart from the letters, so that each may be as large
/// as a message.
const BODIES: &str = "bodies";

/// The record of the entity.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Record {
    /// The number of the next letter.
    pub(super) next: u64,
    /// How many letters are kept.
    pub(super) count: u64,
    /// How many letters expired, of all time.
    pub(super) expired: u64,
    /// How many letters were dropped because there were too many, of all time.
    pub(super) dropped: u64,
    /// How many letters were replayed, of all time.
    #[serde(default)]
    pub(super) replayed: u64,
    /// How many letters were removed, of all time.
    #[serde(default)]
    pub(super) removed: u64,
}

impl Record {
    pub(super) fn counts(&self) -> Counts {
        let Self { next, count, expired, dropped, replayed, removed } = *self;
        Counts { kept: count, added: next, expired, dropped, replayed, removed }
    }
}

impl From<LetterError> for Halt {
    fn from(error: LetterError) -> Self {
        Self::own("letter", &error)
    }
}

pub(super) struct Turn<'a> {
    pub(super) limits: Limits,
    pub(super) now: Millis,
    pub(super) record: Record,
    pub(super) commit: Commit,
    entity: Option<&'a Entity>,
    rows: &'a Rows,
}

impl<'a> Turn<'a> {
    pub(super) fn open(limits: Limits, entity: Option<&'a Entity>, rows: &'a Rows, now: Millis) -> Result<Self, Halt> {
        let record = entity.map_or_else(|| Ok(Record::default()), |entity| decode(&entity.head)).map_err(Halt::Park)?;
        Ok(Self { limits, now, record, commit: Commit::default(), entity, rows })
    }

    /// Returns rows, or asks for them to be read.
    pub(super) fn rows(&self, range: Range) -> Result<&'a [Row], Halt> {
        self.rows.get(&range).ok_or(Halt::Read(range))
    }

    /// Returns the first letters after a number, the oldest first.
    pub(super) fn letters(&self, after: Option<u64>, limit: u32) -> Result<Vec<(u64, Kept)>, Halt> {
        let from = after.map(|after| number_key(after.saturating_add(1)));
        let range = Range { from, ..Range::first(LETTERS, limit) };
        self.rows(range)?.iter().map(read).collect()
    }

    /// Returns one letter.
    pub(super) fn letter(&self, id: u64) -> Result<Kept, Halt> {
        let row = self.row(LETTERS, id)?.ok_or(LetterError::Unknown { id })?;
        read(row).map(|(_, kept)| kept)
    }

    /// Returns the payload of a letter; empty if the letter is a batch.
    pub(super) fn body(&self, id: u64) -> Result<Bytes, Halt> {
        Ok(self.row(BODIES, id)?.map(|row| row.body.clone()).unwrap_or_default())
    }

    fn row(&self, lane: &'static str, id: u64) -> Result<Option<&'a Row>, Halt> {
        let key = number_key(id);
        Ok(self.rows(Range::at(lane, key.clone()))?.first().filter(|row| row.key == key))
    }

    /// Puts a letter, and returns its number.
    pub(super) fn put(&mut self, kept: &Kept, body: Option<Bytes>) -> Result<u64, Halt> {
        let id = self.record.next;
        let letter = encode(kept).map_err(|reason| Halt::malformed("letter", reason))?;
        self.record.next += 1;
        self.record.count += 1;
        let mut put = |lane, body| self.commit.put.push(Row { lane: Name::new(lane), key: number_key(id), body });
        put(LETTERS, letter);
        body.into_iter().for_each(|body| put(BODIES, body));
        // While there are letters, the alarm is set, and rings no later than the first of them expires.
        if self.entity.is_none_or(|entity| entity.alarm.is_none()) {
            self.commit.alarm = Change::Set(self.now.after(self.limits.keep_for));
        }
        Ok(id)
    }

    /// Removes a letter. A lane that it refers to is left to the receiver of the replay.
    pub(super) fn take(&mut self, id: u64, kept: &Kept) {
        self.commit.remove.push((Name::new(LETTERS), number_key(id)));
        if kept.lane().is_none() {
            self.commit.remove.push((Name::new(BODIES), number_key(id)));
        }
        self.record.count = self.record.count.saturating_sub(1);
    }

    /// Removes a letter for good, and releases the lane that it refers to.
    pub(super) fn remove(&mut self, id: u64, kept: &Kept) {
        self.take(id, kept);
        self.commit.release.extend(kept.lane());
    }

    pub(super) fn emit(&mut self, name: &'static str, particulars: &impl Serialize) {
        let fields = fields(particulars).unwrap_or_default();
        self.commit.emit.push(Lifecycle { name: Name::new(name), fields });
    }

    /// Builds the commit, with the record if it has changed.
    pub(super) fn close(mut self) -> Next {
        if self.entity.is_none() && self.record.next == 0 {
            // No letter was ever stored, so no entity is created.
            return Next::Commit(self.commit);
        }
        match encode(&self.record) {
            Ok(head) if self.entity.is_none_or(|entity| entity.head != head) => self.commit.head = Some(head),
            Ok(_) => {}
            Err(reason) => return Halt::malformed("letter", reason).into(),
        }
        if self.entity.is_none() {
            self.commit.status = Some(Status::resting("keeping"));
        }
        if self.record.count == 0 {
            let is_set = self.entity.is_some_and(|entity| entity.alarm.is_some());
            self.commit.alarm = if is_set { Change::Clear } else { Change::Keep };
        }
        Next::Commit(self.commit)
    }

    /// Answers a call.
    pub(super) fn answer(&mut self, ticket: Ticket, value: &impl Serialize) -> Result<(), Halt> {
        let value = encode(value).map_err(|reason| Halt::malformed("answer", reason))?;
        self.answer_bytes(ticket, value);
        Ok(())
    }

    pub(super) fn answer_bytes(&mut self, ticket: Ticket, bytes: Bytes) {
        self.commit.replies.push((drystone_runtime::To::Ticket(ticket), Ok(bytes)));
    }
}

/// Returns a range of a lane that is held for a letter.
pub(super) fn held((of, lane): (Version, Name), from: Option<RowKey>, limit: u32) -> Range {
    Range { of: Some(of), lane, from, limit, backwards: false }
}

/// Big-endian, so that the order of bytes is the order of numbers.
fn number_key(id: u64) -> RowKey {
    Bytes::copy_from_slice(&id.to_be_bytes())
}

fn read(row: &Row) -> Result<(u64, Kept), Halt> {
    let id =
        row.key[..].try_into().map(u64::from_be_bytes).map_err(|_| Halt::Park("a letter without number".into()))?;
    decode(&row.body).map(|kept| (id, kept)).map_err(|reason| Halt::Park(format!("letter {id}: {reason}")))
}

/// The entity that a letter is sent to instead, as a client names it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Elsewhere {
    pub(super) definition: String,
    pub(super) space: String,
    pub(super) key: Vec<u8>,
}

impl From<Elsewhere> for (Name, Key) {
    fn from(to: Elsewhere) -> Self {
        (to.definition.into(), Key { space: to.space.into(), key: to.key.into() })
    }
}
