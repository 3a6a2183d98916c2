//! The operations that a body asks for: how they become pending, and how many there may be (W11).

use drystone_runtime::Row;

use super::{
    others::child::CHILD_INPUT_MAX,
    steps::{inputs::inputs_lane, undo::undo_wants_input},
    turn::{BYTES_MAX, Delivery, Halt, ROWS_MAX, Turning, beyond, raw},
};
use crate::{
    encode,
    planted::Bug,
    workflow::{
        Workflow,
        body::call::{Called, KeyText, StoredCall},
        record::pending::{Childing, Code, Pending},
        replay::{
            ask::Ask,
            core::Moves,
            journal::{self, End},
            op_id::OpId,
        },
    },
};

/// The operations that may be pending at once (W11).
const PENDING_MAX: usize = 4_096;

/// The number of pending operations at which a warning is logged. The warning comes once in a generation,
/// however often operations end and others are asked for.
const PENDING_WARN: usize = PENDING_MAX / 5 * 4;

/// The rows that a turn puts at most, and their bytes. The rest of a commit is for the record and the state
/// (K3).
const PUT_MAX: usize = 900;
const PUT_BYTES_MAX: usize = 3 << 20;

impl<W: Workflow> Turning<'_, W> {
    /// Makes pending what the body asked for, and releases what the body dropped.
    pub(super) fn take_in(&mut self, Moves { asked, dropped, released }: Moves) {
        for op in &released {
            self.permits().release(op);
        }
        let dropped = dropped.iter().filter(|_| !Bug::LosersKept.planted());
        let places: Vec<usize> = dropped.filter_map(|op| self.record.position(op)).collect();
        let gone: Vec<_> = places.iter().map(|index| self.record.pending[*index].clone()).collect();
        self.record.pending.retain(|pending| !gone.iter().any(|gone| gone.op == pending.op));
        self.body_lets_go(&gone);
        // Most bodies wait for one operation at a time, and very many runs may be in memory, so there is no
        // spare room.
        self.record.pending.reserve_exact(asked.len());
        for (op, ask) in asked {
            let mut pending = self.asked(&op, &ask);
            self.is_asked_now(&pending);
            self.claim_asked(&mut pending, &ask);
            self.record.pending.push(pending.into());
        }
        let ended = self.end_if_too_much();
        debug_assert!(ended.is_ok(), "the end of a run reads nothing");
        if self.record.end.is_none() && !self.record.undoes() {
            self.warn_of_width();
        }
    }

    /// Ends a run that asks for more than can be stored at once.
    pub(super) fn end_if_too_much(&mut self) -> Result<(), Halt> {
        let goes_on = self.record.goes_on() && !self.record.winds_down();
        self.too_much().filter(|_| goes_on).map_or(Ok(()), |end| self.end(end))
    }

    /// Warns once when few more operations may be asked for at once.
    fn warn_of_width(&mut self) {
        let operations = self.record.pending.len();
        if operations < PENDING_WARN || self.record.is_wide {
            return;
        }
        self.record.is_wide = true;
        tracing::warn!(key = %self.seen.key, operations, limit = PENDING_MAX, "a run waits for very much at once");
        self.commit.emit("workflow.wide", &[("operations", operations.into())]);
    }

    /// Returns the end of a run that asks for more than can be stored at once.
    fn too_much(&self) -> Option<End> {
        let put = self.commit.rows_put();
        // While kept entries are delivered, much of what is put is removed again. What is left is counted at
        // the end.
        let is_counted = !self.is_told_kept();
        if let Some(first) = self.record.pending.get(PENDING_MAX) {
            return Some(beyond(first.op.as_str(), "operations at once", PENDING_MAX));
        }
        if (put.len() > PUT_MAX || self.commit.rows_changed() > ROWS_MAX) && is_counted {
            return Some(beyond("run", "long inputs at once", PUT_MAX));
        }
        if self.has_child_without_key() {
            return Some(beyond("run", "bytes in the key of a child", drystone_runtime::key_bytes_max()));
        }
        if self.has_topic_without_key() {
            return Some(beyond("run", "bytes in the key of a topic", drystone_runtime::key_bytes_max()));
        }
        if put.iter().any(|row| row.body.len() > CHILD_INPUT_MAX && self.is_of_child(row)) {
            return Some(beyond("run", "bytes in the input of a child", CHILD_INPUT_MAX));
        }
        if put.iter().any(|row| row.body.len() > BYTES_MAX) {
            return Some(beyond("run", "bytes in the input of a step", BYTES_MAX));
        }
        (self.commit.bytes_put() > PUT_BYTES_MAX && is_counted)
            .then(|| beyond("run", "bytes of inputs at once", PUT_BYTES_MAX))
    }

    /// Returns the number of bytes put for undos and their limit, if they are more than one commit may put.
    pub(super) fn keeps_too_much(&self) -> Option<(usize, usize)> {
        let (rows, bytes) = (self.commit.rows_put().len(), self.commit.bytes_put());
        (rows > ROWS_MAX || bytes > PUT_BYTES_MAX).then_some((bytes, PUT_BYTES_MAX))
    }

    /// Whether a row that this turn puts is the input of a child.
    fn is_of_child(&self, row: &Row) -> bool {
        let of = |childing: &Childing| matches!(childing.input, Some(Code::Row(number)) if journal::row_key(number) == row.key);
        row.lane == inputs_lane(self.record.generation) && self.record.pending().filter_map(Pending::child).any(of)
    }

    fn asked(&mut self, op: &OpId, ask: &Ask) -> Pending {
        let code = match ask {
            Ask::Child(begun) => return self.child_asked(op, begun, ask.hash()),
            Ask::Call(called) => Some(self.call_input(called)),
            Ask::Permit(called) => {
                let called = self.permits().ask(op, called);
                Some(self.call_input(&called))
            }
            Ask::Step { input, .. } => Some(self.inputs().store(input, undo_wants_input::<W>(op))),
            Ask::Code { policy, .. } => Some(Code::Body(*policy)),
            Ask::Sleep(_) | Ask::Wait(_) | Ask::Until => None,
        };
        // The time counts from when the body reached the operation, which is when its last entry was
        // delivered. Entries that were kept of an older generation, or recorded while the run was stopped,
        // were delivered just now.
        let is_told_late = self.is_tried_again && self.delivery != Delivery::Live;
        let is_late = is_told_late || self.record.kept >= self.told();
        let now = self.live.as_ref().filter(|_| !is_late).map_or(self.seen.now, |live| live.core.now());
        if let Some(paused) = &mut self.record.paused {
            paused.asked.insert(op.clone(), now.0);
        }
        Pending::of(op, ask, code, now)
    }

    /// Returns the input of a call, which is stored until the call is answered.
    pub(super) fn call_input(&mut self, called: &Called) -> Code {
        let stored = StoredCall {
            definition: self.seen.names.of(&called.of).to_string(),
            key: KeyText::of(&called.key),
            verb: called.verb.to_owned(),
            body: raw(&called.body).expect("the parameters of a call are JSON"),
        };
        self.inputs().store(&encode(&stored).expect("a call can be written"), false)
    }
}
