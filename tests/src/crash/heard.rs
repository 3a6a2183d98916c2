//! What the parent has heard from all its children: the promises that the file must keep.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use super::{op::Op, plan::Errand, said::Said};

/// Everything that children said before they died.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard {
    pub(super) begun: BTreeSet<Op>,
    /// With the number that each was answered.
    pub(super) acknowledged: BTreeMap<Op, u64>,
    pub(super) ran: BTreeSet<Op>,
    pub(super) finished: bool,
}

impl Heard {
    pub(super) fn hear(&mut self, said: Said) {
        match said {
            Said::Begun(op) => self.begun.extend([op]),
            Said::Acknowledged(op, number) => self.acknowledged.extend([(op, number)]),
            Said::Ran(op) => self.ran.extend([op]),
            Said::Finished => self.finished = true,
        }
    }

    /// Where the next child goes on.
    pub(super) fn errand(&self, file: &Path, finish: bool) -> Errand {
        let pending = self.begun.iter().copied().filter(|op| !self.acknowledged.contains_key(op)).collect();
        let next = self.begun.last().map_or(0, |op| op.0 + 1);
        Errand { file: file.to_owned(), pending, next, finish }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_begun_and_not_acknowledged_is_asked_again() {
        let mut heard = Heard::default();
        let lines = [Said::Begun(Op(0)), Said::Begun(Op(1)), Said::Begun(Op(2)), Said::Acknowledged(Op(1), 1)];
        lines.into_iter().for_each(|said| heard.hear(said));
        let errand = heard.errand(Path::new("file"), false);
        assert_eq!((errand.pending, errand.next), (vec![Op(0), Op(2)], 3));
    }
}
