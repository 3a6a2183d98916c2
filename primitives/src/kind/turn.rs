//! One turn, as a kind sees it.

use std::collections::BTreeMap;

use bytes::Bytes;
use drystone_runtime::{
    Change, Commit, DropLane, Entity, Error, Key, Lane, Lifecycle, Mark, Message, Millis, Name, Now, Range, Reply, Row,
    RowKey, Rows, Status, Ticket, To, Version,
};
use serde::Serialize;

use super::Stop;
use crate::{Stored, context::fields, encode, primitive::Code};

/// One turn: the record, the time, the rows that were asked for, and all that the turn writes.
pub struct Turn<'a, R> {
    /// The kind's record; what it is at the end of the turn is stored.
    pub record: R,
    /// The time.
    pub now: Millis,
    mark: Mark,
    key: &'a Key,
    entity: Option<&'a Entity>,
    rows: &'a Rows,
    author: Author,
    caller: Option<Ticket>,
    pub(crate) commit: Commit,
    /// Rows that a piece will soon be given.
    pub(crate) remembered: Vec<Row>,
}

/// Folds an item into what was folded before.
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

    /// Who waits for what this turn answers; `None` if it was asked by a message, or by nobody. A kind may store it and
    /// answer it in a later turn, if it is [held](super::Answer::Held). Whoever was given an answer and had left comes back as
    /// [`Kind::gone`](super::Kind::gone). A ticket of an older epoch than that of somebody who asks now is gone, too.
    pub fn caller(&self) -> Option<Ticket> {
        self.caller
    }

    /// The mark of what this turn records: a kind keeps it with each new piece of work, and hands it to the
    /// [piece](super::Piece::mark).
    pub fn mark(&self) -> Mark {
        self.mark
    }

    /// The entity's key.
    pub fn key(&self) -> &Key {
        self.key
    }

    /// The entity's id, which no other has or had; `None` while this turn binds it.
    pub fn id(&self) -> Option<Version> {
        self.entity.map(|entity| entity.id)
    }

    /// The name of its definition; `None` while this turn binds it.
    pub fn definition(&self) -> Option<&'a Name> {
        self.entity.map(|entity| &entity.definition)
    }

    /// The author's struct as it is stored; `None` while this turn binds it.
    pub fn state(&self) -> Option<&'a Bytes> {
        self.entity.map(|entity| &entity.state)
    }

    /// When the alarm is set for, as it was before this turn.
    pub fn alarm(&self) -> Option<Millis> {
        self.entity.and_then(|entity| entity.alarm)
    }

    /// Sets the alarm; one that stands already is not written again.
    pub fn set_alarm(&mut self, at: Option<Millis>) {
        self.commit.alarm = match at {
            at if at == self.alarm() => Change::Keep,
            Some(at) => Change::Set(at),
            None => Change::Clear,
        };
    }

    /// What the author's code said of the alarm.
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

    /// The rows of a range; the turn is asked again when they are read.
    pub fn rows(&self, range: Range) -> Result<&'a [Row], Stop> {
        self.rows.get(&range).ok_or(Stop::Read(vec![range]))
    }

    /// The rows of several ranges, read at once.
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

    /// Says that a piece will soon be given this row: as long as it is remembered it need not be read again.
    pub fn remember(&mut self, row: Row) {
        self.remembered.push(row);
    }

    /// Removes a row.
    pub fn remove(&mut self, lane: impl Into<Lane>, key: impl Into<RowKey>) {
        self.commit.remove.push((lane.into(), key.into()));
    }

    /// Lets a lane go, however long; `held` keeps its rows for somebody else.
    pub fn drop_lane(&mut self, lane: impl Into<Lane>, held: bool) {
        self.commit.drop.push(DropLane { lane: lane.into(), held });
    }

    /// Lets a lane go that was held for us.
    pub fn release(&mut self, of: Version, lane: impl Into<Lane>) {
        self.commit.release.push((of, lane.into()));
    }

    /// Ends the entity with this turn; first its `#[destroy]` runs, if it has one (E8).
    pub fn destroy(&mut self) {
        self.commit.destroy = true;
    }

    /// Sends a message with this turn (M1).
    pub fn send(&mut self, message: Message) {
        self.commit.send.push(message);
    }

    /// Answers everyone who was held under a name.
    pub fn answer_all<T: Stored>(&mut self, name: impl Into<Name>, value: &T) {
        self.commit.replies.push((To::All(name.into()), reply(value)));
    }

    /// Answers one who was held.
    pub fn answer<T: Stored>(&mut self, ticket: Ticket, value: &T) {
        self.commit.replies.push((To::Ticket(ticket), reply(value)));
    }

    /// Refuses one who was held, with the verb's own error.
    pub fn refuse<E: Stored>(&mut self, ticket: Ticket, error: &E) {
        self.commit.replies.push((To::Ticket(ticket), reply(error).and_then(|error| Err(Error::Declined(error)))));
    }

    /// Tells listeners, once this turn is durable (E15).
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

    /// The author's `#[reduce]`: an item folded into what was folded before.
    pub fn reduce(&self, folded: Option<&[u8]>, item: &[u8]) -> Result<Bytes, Stop> {
        (self.author.reduce)(folded, item).map_err(Stop::Malformed)
    }

    /// Refuses an item that the hook could not take.
    pub fn check_item(&self, item: &[u8]) -> Result<(), Stop> {
        (self.author.check_item)(item).map_err(Stop::Malformed)
    }
}

fn reply<T: Stored>(value: &T) -> Reply {
    encode(value).map_err(|reason| Error::Malformed { verb: "answer".into(), reason })
}
