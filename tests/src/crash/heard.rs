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
    pub(super) jobs: Jobs,
    pub(super) finished: bool,
}

/// What was heard of jobs.
#[derive(Clone, Debug, Default)]
pub(super) struct Jobs {
    /// Under which name each was executed.
    pub(super) names: BTreeMap<Op, u64>,
    pub(super) recorded: BTreeSet<Op>,
    /// Those that were executed after their success was recorded.
    pub(super) redelivered: Vec<Op>,
    /// Those that were executed under several names.
    pub(super) renamed: Vec<Op>,
}

impl Jobs {
    fn processed(&mut self, op: Op, name: u64) {
        if self.recorded.contains(&op) {
            self.redelivered.push(op);
        }
        if *self.names.entry(op).or_insert(name) != name {
            self.renamed.push(op);
        }
    }
}

impl Heard {
    pub(super) fn hear(&mut self, said: Said) {
        match said {
            // How far a child comes is no promise.
            Said::Opened | Said::Booked(_) => {}
            Said::Begun(op) => self.begun.extend([op]),
            Said::Acknowledged(op, number) => self.acknowledged.extend([(op, number)]),
            Said::Ran(op) => self.ran.extend([op]),
            Said::Processed(op, name) => self.jobs.processed(op, name),
            Said::Recorded(op) => self.jobs.recorded.extend([op]),
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

    #[test]
    fn a_job_that_is_recorded_is_executed_no_more_and_its_name_stays() {
        let mut heard = Heard::default();
        let lines = [Said::Processed(Op(6), 1), Said::Processed(Op(6), 1), Said::Recorded(Op(6))];
        lines.into_iter().for_each(|said| heard.hear(said));
        assert!(heard.jobs.redelivered.is_empty() && heard.jobs.renamed.is_empty());
        heard.hear(Said::Processed(Op(6), 2));
        assert_eq!((heard.jobs.redelivered, heard.jobs.renamed), (vec![Op(6)], vec![Op(6)]));
    }
}
