//! The interface of a kind to a turn.

use std::collections::BTreeMap;

use bytes::Bytes;
use drystone_runtime::{
    Change, Commit, DropLane, Entity, Error, Key, Lane, Lifecycle, Mark, Message, Millis, Name, Now, Range, Reply, Row,
    RowKey, Rows, Status, Ticket, To, Version,
};
use serde::Serialize;

use super::Stop;
use crate::{Stored, context::fields, encode, primitive::Code};

/// One turn: the record, the time, the rows that the turn asked for, and everything that the turn writes.
pub struct Turn<'a, R> {
    /// The kind's record. Its value at the end of the turn is stored.
    pub record: R,
    /// The present time.
    pub now: Millis,
    mark: Mark,
    key: &'a Key,
    entity: Option<&'a Entity>,
    rows: &'a Rows,
    author: Author,
    caller: Option<Ticket>,
    pub(crate) commit: Commit,
    /// Rows that will soon be the input of a piece.
    pub(crate) remembered: Vec<Row>,
}

/// Folds an item into the folded value before it.
pub(crate) type Fold = fn(Option<&[u8]>, &[u8]) -> Result<Bytes, String>;

/// The author's functions that run in a turn.
#[derive(Clone, Copy)]
pub(crate) struct Author {
    pub(crate) code: Code,
    pub(crate) reduce: Fold,
    pub(crate) check_item: fn(&[u8]) -> Result<(), String>,
}

impl<'a, R> Turn<'a, R> {
    pub(crate) fn new(
        record: R,
        Now { at: now, mark }: Now,
        key: &'a Key,
        entity: Option<&'a Entity>,
        rows: &'a Rows,
        author: Author,
    ) -> Self {
        let (commit, remembered) = (Commit::default(), Vec::new());
        Self { record, now, mark, key, entity, rows, author, caller: None, commit, remembered }
    }

    pub(crate) fn asked_by(mut self, caller: Option<Ticket>) -> Self {
        self.caller = caller;
        self
    }

    /// Returns the caller that waits for the answer of this turn; `None` if a message asked, or nobody did.
    /// A kind may store the ticket of a [held](super::Answer::Held) caller, and answer the caller in a later
    /// turn. A caller that had left before its answer comes back as [`Kind::gone`](super::Kind::gone). A
    /// ticket with an older epoch than that of the present caller is gone, too.
    pub fn caller(&self) -> Option<Ticket> {
        self.caller
    }

    /// Returns the mark of everything that this turn records. A kind keeps the mark with each new piece of
    /// work, and gives it to the [piece](super::Piece::mark).
    pub fn mark(&self) -> Mark {
        self.mark
    }

    /// Returns the entity's key.
    pub fn key(&self) -> &Key {
        self.key
    }

    /// Returns the entity's id, which no other entity has or had; `None` while this turn binds the entity.
    pub fn id(&self) -> Option<Version> {
        self.entity.map(|entity| entity.id)
    }

    /// Returns the name of the entity's definition; `None` while this turn binds the entity.
    pub fn definition(&self) -> Option<&'a Name> {
        self.entity.map(|entity| &entity.definition)
    }

    /// Returns the author's struct as it is stored; `None` while this turn binds the entity.
    pub fn state(&self) -> Option<&'a Bytes> {
        self.entity.map(|entity| &entity.state)
    }

    /// Returns the time of the alarm before this turn.
    pub fn alarm(&self) -> Option<Millis> {
        self.entity.and_then(|entity| entity.alarm)
    }

    /// Sets the alarm. An alarm that is set to this time already is not written again.
    pub fn set_alarm(&mut self, at: Option<Millis>) {
        self.commit.alarm = match at {
            at if at == self.alarm() => Change::Keep,
            Some(at) => Change::Set(at),
            None => Change::Clear,
        };
    }

    /// Sets or clears the alarm as author code did.
    pub(crate) fn said_alarm(&mut self, said: Change<Millis>) {
        if said != Change::Keep {
            self.commit.alarm = said;
        }
    }

    pub(crate) fn entity(&self) -> Option<&'a Entity> {
        self.entity
    }

    /// Sets the status.
    pub fn set_status(&mut self, status: Status) {
        let is_same = self.entity.is_some_and(|entity| entity.status == status);
        self.commit.status = (!is_same).then_some(status);
    }

    /// Returns the rows of a range. Rows that are not read yet stop the turn, which is asked again with
    /// them.
    pub fn rows(&self, range: Range) -> Result<&'a [Row], Stop> {
        self.rows.get(&range).ok_or(Stop::Read(vec![range]))
    }

    /// Returns the rows of several ranges, which are read together.
    pub fn all_rows<const N: usize>(&self, ranges: [Range; N]) -> Result<[&'a [Row]; N], Stop> {
        let missing: Vec<Range> = ranges.iter().filter(|range| self.rows.get(range).is_none()).cloned().collect();
        if !missing.is_empty() {
            return Err(Stop::Read(missing));
        }
        Ok(ranges.map(|range| self.rows.get(&range).unwrap_or_default()))
    }

    /// Puts a row.
    pub fn put(&mut self, lane: impl Into<Lane>, key: impl Into<RowKey>, body: Bytes) {
        self.commit.put.push(Row { lane: lane.into(), key: key.into(), body });
    }

    /// Keeps a row in memory that will soon be the input of a piece, so that the row need not be read again.
    pub fn remember(&mut self, row: Row) {
        self.remembered.push(row);
    }

    /// Removes a row.
    pub fn remove(&mut self, lane: impl Into<Lane>, key: impl Into<RowKey>) {
        self.commit.remove.push((lane.into(), key.into()));
    }

    /// Drops a lane, however long it is. If `held` is set, the rows stay for another entity.
    pub fn drop_lane(&mut self, lane: impl Into<Lane>, held: bool) {
        self.commit.drop.push(DropLane { lane: lane.into(), held });
    }

    /// Releases a lane that was held for this entity.
    pub fn release(&mut self, of: Version, lane: impl Into<Lane>) {
        self.commit.release.push((of, lane.into()));
    }

    /// Ends the entity with this turn. A `#[destroy]` hook runs first, if there is one (E8).
    pub fn destroy(&mut self) {
        self.commit.destroy = true;
    }

    /// Sends a message with this turn (M1).
    pub fn send(&mut self, message: Message) {
        self.commit.send.push(message);
    }

    /// Answers all callers that are held under a name.
    pub fn answer_all<T: Stored>(&mut self, name: impl Into<Name>, value: &T) {
        self.commit.replies.push((To::All(name.into()), reply(value)));
    }

    /// Answers a held caller.
    pub fn answer<T: Stored>(&mut self, ticket: Ticket, value: &T) {
        self.commit.replies.push((To::Ticket(ticket), reply(value)));
    }

    /// Refuses a held caller, with the verb's own error.
    pub fn refuse<E: Stored>(&mut self, ticket: Ticket, error: &E) {
        self.commit.replies.push((To::Ticket(ticket), reply(error).and_then(|error| Err(Error::Declined(error)))));
    }

    /// Emits a lifecycle event, once this turn is durable (E15).
    pub fn emit(&mut self, name: &'static str, particulars: &impl Serialize) {
        let fields = fields(particulars).unwrap_or_else(|_| BTreeMap::new());
        self.commit.emit.push(Lifecycle { name: Name::new(name), fields });
    }

    /// Whether the author wrote a `#[reduce]`.
    pub fn has_reduce(&self) -> bool {
        self.author.code.has_reduce
    }

    /// Whether the author wrote this hook.
    pub fn has_hook(&self, name: &str) -> bool {
        self.author.code.hooks.iter().any(|hook| hook.name == name)
    }

    /// Folds an item into the folded value before it, by the author's `#[reduce]`.
    pub fn reduce(&self, folded: Option<&[u8]>, item: &[u8]) -> Result<Bytes, Stop> {
        (self.author.reduce)(folded, item).map_err(Stop::Malformed)
    }

    /// Refuses an item that the hook cannot take.
    pub fn check_item(&self, item: &[u8]) -> Result<(), Stop> {
        (self.author.check_item)(item).map_err(Stop::Malformed)
    }
}

fn reply<T: Stored>(value: &T) -> Reply {
    encode(value).map_err(|reason| Error::Malformed { verb: "answer".into(), reason })
}
