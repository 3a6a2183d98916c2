//! The commit of a turn, while its parts write into it.

use bytes::Bytes;
use drystone_runtime::{Change, Commit, DropLane, Lifecycle, Message, Millis, Name, Next, Reply, Row, Status, To};
use serde_json::Value;

use crate::encode;

/// The lane and the key of a row.
pub(super) type Place = (Name, Bytes);

/// The number of unused rows that a turn removes individually. More unused rows go with their lane. The rest
/// of the rows that a commit may remove is left for rows that must go (K3).
const REMOVED_MAX: usize = 400;

/// The limits of what a turn records: entries, and their bytes. The rest follows in another turn, because
/// the size of a commit is limited (K3).
const ENTRIES_PER_TURN: usize = 200;
const BYTES_PER_TURN: usize = 1 << 20;

/// The number of rows that a turn changes before it leaves the rest to the next turn. A single wait takes
/// fewer rows than this (V8), so it always has room in a turn that has changed nothing yet. The rest of the
/// commit is left for the operations that the body asks for next.
const ROWS_PER_TURN: usize = 400;

/// The commit of a turn. A row that is put and removed in the same turn is in neither list.
#[derive(Default)]
pub(super) struct TurnCommit {
    commit: Commit,
    /// Whether the run is stored already. Nothing needs to be dropped of a run that begins.
    is_stored: bool,
    /// How many journal entries this turn has recorded, and their bytes.
    recorded: (usize, usize),
}

impl TurnCommit {
    pub(super) fn new(is_stored: bool) -> Self {
        Self { commit: Commit::default(), is_stored, recorded: (0, 0) }
    }

    pub(super) fn put(&mut self, (lane, key): Place, body: Bytes) {
        self.commit.put.push(Row { lane, key, body });
    }

    pub(super) fn put_all(&mut self, rows: impl IntoIterator<Item = Row>) {
        self.commit.put.extend(rows);
    }

    /// Puts a row in the place of a row that this turn may have put.
    pub(super) fn replace(&mut self, (lane, key): Place, body: Bytes) {
        self.commit.put.retain(|row| row.lane != lane || row.key != key);
        self.put((lane, key), body);
    }

    /// Removes a row. A row that this turn has put is taken out of the commit instead.
    pub(super) fn remove(&mut self, (lane, key): Place) {
        let before = self.commit.put.len();
        self.commit.put.retain(|row| row.lane != lane || row.key != key);
        if self.commit.put.len() == before {
            self.commit.remove.push((lane, key));
        }
    }

    /// Removes an unused row, unless this turn has removed very many.
    pub(super) fn remove_if_room(&mut self, place: Place) {
        let removed = self.commit.remove.len();
        self.remove(place);
        self.commit.remove.truncate(removed.max(REMOVED_MAX));
    }

    /// Drops a lane, including rows put there by this turn.
    pub(super) fn drop_lane(&mut self, lane: Name) {
        self.commit.put.retain(|row| row.lane != lane);
        self.commit.remove.retain(|(of, _)| *of != lane);
        if self.is_stored {
            self.commit.drop.push(DropLane { lane, held: false });
        }
    }

    /// Returns the rows that this turn puts, in order.
    pub(super) fn rows_put(&self) -> &[Row] {
        &self.commit.put
    }

    /// Returns the body of a row that this turn puts.
    pub(super) fn body_put(&mut self, (lane, key): &Place) -> Option<&mut Bytes> {
        self.commit.put.iter_mut().rfind(|row| row.lane == *lane && row.key == *key).map(|row| &mut row.body)
    }

    /// Whether the turn puts a row in this place.
    pub(super) fn puts(&self, (lane, key): &Place) -> bool {
        self.commit.put.iter().rev().any(|row| row.lane == *lane && row.key == *key)
    }

    pub(super) fn removes(&self, place: &Place) -> bool {
        self.commit.remove.contains(place)
    }

    /// Returns the keys of the rows that this turn removes from a lane.
    pub(super) fn removed_of(&self, lane: &Name) -> impl Iterator<Item = &Bytes> {
        self.commit.remove.iter().filter(move |(of, _)| of == lane).map(|(_, key)| key)
    }

    /// Returns how many rows this turn has changed so far.
    pub(super) fn rows_changed(&self) -> usize {
        self.commit.put.len() + self.commit.remove.len() + self.commit.drop.len()
    }

    pub(super) fn bytes_put(&self) -> usize {
        self.commit.put.iter().map(|row| row.body.len()).sum()
    }

    /// Counts a recorded journal entry.
    pub(super) fn count_entry(&mut self, bytes: usize) {
        self.recorded = (self.recorded.0 + 1, self.recorded.1 + bytes);
    }

    /// Whether a change of `more` rows must wait for another turn, because this turn has done enough.
    pub(super) fn is_enough(&self, more: usize) -> bool {
        let (entries, bytes) = self.recorded;
        let rows = self.rows_changed() + self.sent();
        entries >= ENTRIES_PER_TURN || bytes >= BYTES_PER_TURN || rows > 0 && rows + more > ROWS_PER_TURN
    }

    pub(super) fn send(&mut self, messages: impl IntoIterator<Item = Message>) {
        self.commit.send.extend(messages);
    }

    /// Returns how many messages this turn sends so far.
    pub(super) fn sent(&self) -> usize {
        self.commit.send.len()
    }

    pub(super) fn bytes_sent(&self) -> usize {
        self.commit.send.iter().map(|message| message.body.len()).sum()
    }

    pub(super) fn take_messages(&mut self) -> Vec<Message> {
        std::mem::take(&mut self.commit.send)
    }

    /// Notifies the listeners.
    pub(super) fn emit(&mut self, name: &'static str, fields: &[(&'static str, Value)]) {
        let fields = fields.iter().filter_map(|(name, value)| Some((Name::new(name), encode(value).ok()?))).collect();
        self.commit.emit.push(Lifecycle { name: Name::new(name), fields });
    }

    pub(super) fn emit_all(&mut self, events: impl IntoIterator<Item = Lifecycle>) {
        self.commit.emit.extend(events);
    }

    pub(super) fn reply(&mut self, to: To, reply: Reply) {
        self.commit.replies.push((to, reply));
    }

    /// Holds the caller under a name, until a later turn answers all callers of that name.
    pub(super) fn hold(&mut self, name: Option<Name>) {
        self.commit.hold = name;
    }

    pub(super) fn destroy(&mut self) {
        self.commit.destroy = true;
    }

    /// Returns the new state of the run; `None` as long as the state is unchanged.
    pub(super) fn state_mut(&mut self) -> &mut Option<Bytes> {
        &mut self.commit.state
    }

    pub(super) fn set_alarm(&mut self, alarm: Option<Millis>) {
        self.commit.alarm = alarm.map_or(Change::Clear, Change::Set);
    }

    pub(super) fn set_status(&mut self, status: Status) {
        self.commit.status = Some(status);
    }

    /// Completes the commit with the record; `None` if the record is unchanged.
    pub(super) fn with_head(mut self, head: Option<Bytes>) -> Next {
        self.commit.head = head;
        Next::Commit(self.commit)
    }
}
