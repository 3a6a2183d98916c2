//! The record of a worker: its pieces of work that have not ended, and the number of those that have.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use drystone_runtime::{Work, WorkId};

use crate::crash::op::Op;

/// The pieces of one worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::crash) struct Pieces {
    /// The number of ended pieces.
    pub(in crate::crash) ended: u64,
    /// The pieces that have not ended, each with its next attempt.
    pub(in crate::crash) open: Vec<(Op, u32)>,
}

impl Pieces {
    pub(in crate::crash) fn decode(mut head: &[u8]) -> Option<Self> {
        let mut pieces = Self { ended: head.try_get_u64().ok()?, open: Vec::new() };
        while head.has_remaining() {
            pieces.open.push((Op(head.try_get_u64().ok()?), head.try_get_u32().ok()?));
        }
        Some(pieces)
    }

    pub(in crate::crash) fn encode(&self) -> Bytes {
        let mut head = BytesMut::with_capacity(8 + 12 * self.open.len());
        head.put_u64(self.ended);
        for (op, attempt) in &self.open {
            head.put_u64(op.0);
            head.put_u32(*attempt);
        }
        head.freeze()
    }

    /// All work that should run.
    pub(in crate::crash) fn work(&self) -> Vec<Work> {
        let listed = |(op, attempt): &(Op, u32)| Work { attempt: *attempt, input: op.encode(), ..Work::new(name(*op)) };
        self.open.iter().map(listed).collect()
    }

    /// The index of the piece that this work belongs to, if the piece has not ended.
    pub(in crate::crash) fn find(&self, work: &WorkId) -> Option<usize> {
        self.open.iter().position(|(op, _)| name(*op) == work.as_str())
    }
}

/// The name of a piece. The name is stable, and serves as the idempotency key.
pub(in crate::crash) fn name(op: Op) -> String {
    format!("piece-{}", op.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back_as_it_was() {
        let pieces = Pieces { ended: 3, open: vec![(Op(7), 1), (Op(11), 2)] };
        assert_eq!(Pieces::decode(&pieces.encode()), Some(pieces));
        assert_eq!(Pieces::decode(&[0; 9]), None);
    }

    #[test]
    fn work_is_found_again_by_its_id() {
        let pieces = Pieces { ended: 0, open: vec![(Op(7), 1), (Op(11), 2)] };
        let listed = pieces.work();
        assert_eq!(pieces.find(&listed[1].id), Some(1));
        assert_eq!((listed[1].attempt, Op::decode(&listed[1].input)), (2, Some(Op(11))));
    }
}
