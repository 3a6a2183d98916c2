//! What a body asks for, as it is waited for, and how much of it there may be (W11).

use bytes::Bytes;
use drystone_runtime::{Name, Row};

use super::{
    super::{
        Workflow,
        ask::Ask,
        core::{Moves, OpId},
        journal::{self, End},
        record::{Code, Pending, Stepping, Waiting},
    },
    turning::{BYTES_MAX, Turning, beyond, raw},
};
use crate::planted::Bug;

/// What may be outstanding at once (W11).
const PENDING_MAX: usize = 4_096;

/// Inputs up to this length lie in the record; shorter ones if there are many, for a record holds so much.
const INPUT_BYTES_MAX: usize = 1 << 10;
const MANY: usize = 64;

/// Rows that a turn puts at most, and their bytes: what is left of a commit is for the record and the state (K3).
const ROWS_MAX: usize = 900;
const PUT_BYTES_MAX: usize = 3 << 20;

impl<W: Workflow> Turning<'_, W> {
    /// What the body asked for is waited for; what it let go is not.
    pub(super) fn take_in(&mut self, Moves { asked, dropped }: Moves) {
        for op in dropped.iter().filter(|_| !Bug::LosersKept.planted()) {
            if let Some(index) = self.record.position(op) {
                let pending = self.record.pending.remove(index);
                self.forget_input(&pending);
            }
        }
        // Mostly it waits for one thing at a time, and very many runs may be at hand: no room for more than there is.
        self.record.pending.reserve_exact(asked.len());
        for (op, ask) in asked {
            let mut pending = self.asked(&op, &ask);
            self.claim_asked(&mut pending, &ask);
            self.record.pending.push(pending);
        }
        if let Some(end) = self.too_much() {
            let ended = self.end(end);
            debug_assert!(ended.is_ok(), "the end of a run reads nothing");
        }
    }

    /// How the run ends that asks for more than can be stored at once.
    fn too_much(&self) -> Option<End> {
        let put = &self.commit.put;
        if let Some(first) = self.record.pending.get(PENDING_MAX) {
            return Some(beyond(&first.op, "operations at once", PENDING_MAX));
        }
        if put.len() > ROWS_MAX {
            return Some(beyond("run", "long inputs at once", ROWS_MAX));
        }
        if put.iter().any(|row| row.body.len() > BYTES_MAX) {
            return Some(beyond("run", "bytes in the input of a step", BYTES_MAX));
        }
        let bytes: usize = put.iter().map(|row| row.body.len()).sum();
        (bytes > PUT_BYTES_MAX).then(|| beyond("run", "bytes of inputs at once", PUT_BYTES_MAX))
    }

    fn asked(&mut self, op: &OpId, ask: &Ask) -> Pending {
        let code = match ask {
            Ask::Step { input, .. } => Some(self.input(input)),
            Ask::Code { policy, .. } => Some(Code::Body(*policy)),
            Ask::Sleep(_) | Ask::Wait(_) => None,
        };
        // Counted from when the run got there, which is when it was last told something.
        let now = self.live.as_ref().map_or(self.seen.now, |live| live.core.now());
        Pending::of(op, ask, code, now)
    }

    /// A short input lies in the record, so that a step can be run again without the body; a long one in a row.
    fn input(&mut self, input: &Bytes) -> Code {
        let longest = if self.record.pending.len() < MANY { INPUT_BYTES_MAX } else { INPUT_BYTES_MAX / 16 };
        if input.len() <= longest
            && let Ok(raw) = raw(input)
        {
            return Code::Input(raw);
        }
        self.record.inputs += 1;
        let (lane, key) = (inputs_lane(self.record.generation), journal::row_key(self.record.inputs));
        self.commit.put.push(Row { lane, key, body: input.clone() });
        Code::Row(self.record.inputs)
    }

    pub(super) fn forget_input(&mut self, pending: &Pending) {
        self.forget_claim(pending);
        if let Waiting::Step(Stepping { code: Code::Row(number), .. }) = &pending.what {
            let row = (inputs_lane(self.record.generation), journal::row_key(*number));
            self.remove_row(row);
        }
    }
}

/// The lane of inputs that are too long for the record.
pub(super) fn inputs_lane(generation: u32) -> Name {
    Name::from(format!("inputs/{generation}"))
}
