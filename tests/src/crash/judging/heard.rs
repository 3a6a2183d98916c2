//! Everything that the parent has heard from the children of one round: the promises that the files must
//! keep.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use super::said::Said;
use crate::crash::{
    op::{Deed, Op},
    parts::permits::Permits,
    plan::Errand,
};

/// Everything that the children of a round reported before they died.
#[derive(Clone, Debug, Default)]
pub(in crate::crash) struct Heard {
    pub(in crate::crash) round: u64,
    pub(in crate::crash) begun: BTreeSet<Op>,
    /// The acknowledged operations, each with the number in its answer.
    pub(in crate::crash) acknowledged: BTreeMap<Op, u64>,
    pub(in crate::crash) ran: BTreeSet<Op>,
    pub(in crate::crash) jobs: Jobs,
    pub(in crate::crash) permits: Permits,
    /// Whether the runs that must hear the whole round have begun.
    gathered: bool,
    /// How many turns the round before had. 0 once nothing of it is left.
    retire: u64,
    pub(in crate::crash) finished: bool,
}

/// Everything that was heard of jobs.
#[derive(Clone, Debug, Default)]
pub(in crate::crash) struct Jobs {
    /// The name under which each job was executed.
    pub(in crate::crash) names: BTreeMap<Op, u64>,
    pub(in crate::crash) recorded: BTreeSet<Op>,
    /// The jobs that were executed after their success was recorded.
    pub(in crate::crash) redelivered: Vec<Op>,
    /// The jobs that were executed under several names.
    pub(in crate::crash) renamed: Vec<Op>,
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
    /// The start of a round, of which nothing is heard yet. The round before had `retire` turns.
    pub(in crate::crash) fn of_round(round: u64, retire: u64) -> Self {
        Self { round, retire, ..Self::default() }
    }

    pub(in crate::crash) fn hear(&mut self, said: Said) {
        match said {
            // The progress of a child is no promise.
            Said::Opened | Said::Moved(_) => {}
            Said::Gathered => self.gathered = true,
            Said::Retired => self.retire = 0,
            Said::Begun(op) => self.begun.extend([op]),
            Said::Acknowledged(op, number) => {
                self.acknowledged.extend([(op, number)]);
                if op.deed() == Deed::Permit {
                    self.permits.granted(op, number);
                }
            }
            Said::Ran(op) => self.ran.extend([op]),
            Said::Processed(op, name) => self.jobs.processed(op, name),
            Said::Recorded(op) => self.jobs.recorded.extend([op]),
            Said::Docked(op) => self.permits.docked(op),
            Said::Undocked(op) => self.permits.undocked(op),
            Said::Finished => self.finished = true,
        }
    }

    /// Records that a child has ended. All its lines have been heard.
    pub(in crate::crash) fn life_ended(&mut self) {
        self.permits.life_ended();
    }

    /// Returns the errand of the next child.
    pub(in crate::crash) fn errand(&self, file: &Path, finish: bool) -> Errand {
        let pending = self.begun.iter().copied().filter(|op| !self.acknowledged.contains_key(op)).collect();
        let (next, gathered, retire) = (self.next().0, self.gathered, self.retire);
        Errand { file: file.to_owned(), round: self.round, pending, next, finish, gathered, retire }
    }

    /// The first operation of the round that has not begun.
    pub(in crate::crash) fn next(&self) -> Op {
        self.begun.last().map_or(Op(Op::of_round(self.round).start), |op| Op(op.0 + 1))
    }

    /// An upper bound for the number of operations of each deed.
    pub(in crate::crash) fn turns(&self) -> u64 {
        self.begun.last().map_or(0, |op| op.turn() + 1)
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
    fn a_round_begins_with_operations_of_its_own() {
        let mut heard = Heard::of_round(2, 40);
        heard.hear(Said::Gathered);
        let errand = heard.errand(Path::new("file"), true);
        assert_eq!((errand.round, errand.next, errand.retire), (2, Op::of_round(2).start, 40));
        assert!(errand.gathered && errand.finish);
        heard.hear(Said::Retired);
        assert_eq!(heard.errand(Path::new("file"), true).retire, 0, "what is gone is not retired again");
    }

    #[test]
    fn a_recorded_job_is_not_executed_again_and_keeps_its_name() {
        let mut heard = Heard::default();
        let lines = [Said::Processed(Op(6), 1), Said::Processed(Op(6), 1), Said::Recorded(Op(6))];
        lines.into_iter().for_each(|said| heard.hear(said));
        assert!(heard.jobs.redelivered.is_empty() && heard.jobs.renamed.is_empty());
        heard.hear(Said::Processed(Op(6), 2));
        assert_eq!((heard.jobs.redelivered, heard.jobs.renamed), (vec![Op(6)], vec![Op(6)]));
    }
}
