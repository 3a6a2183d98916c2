//! The verdict on the runs: every run has ended, and has done everything once.

use std::collections::BTreeSet;

use drystone::workflow::RunPhase;

use super::{
    FARES, SIGNALS,
    evidence::{Evidence, Wrecked},
    voyage::LEGS,
    wreck::{AGROUND, operations as undone},
};
use crate::crash::judging::verdict::Verdict;

impl Evidence {
    /// Checks that each ferry took every fare once and in order, with one generation per fare.
    fn judge_ferries(&self, verdict: &mut Verdict) {
        for (key, taken, generation) in &self.ferries {
            let distinct: BTreeSet<_> = taken.iter().collect();
            if distinct.len() != taken.len() {
                verdict.doubled.push(format!("{key} has taken {taken:?}"));
            } else if distinct.len() != FARES as usize {
                verdict.lost.push(format!("{key} has taken {taken:?}"));
            } else if !taken.is_sorted() || *generation != FARES + 1 {
                verdict.wrong.push(format!("{key} has taken {taken:?} in {generation} generations"));
            }
        }
    }

    /// Checks that each wreck failed with its own error, and that each of its steps was undone, recorded
    /// once, the last first.
    fn judge_wrecks(&self, verdict: &mut Verdict) {
        for Wrecked { key, error, operations } in &self.wrecks {
            let distinct: BTreeSet<_> = operations.iter().collect();
            if distinct.len() != operations.len() {
                verdict.doubled.push(format!("{key} has recorded {operations:?}"));
            } else if error != AGROUND {
                verdict.lost.push(format!("{key} ended with {error}"));
            } else if *operations != undone() {
                verdict.wrong.push(format!("{key} has recorded {operations:?}"));
            }
        }
    }

    /// Checks that each convoy has all its boats, and that each boat was entered once.
    fn judge_convoys(&self, verdict: &mut Verdict) {
        let mut entered = BTreeSet::new();
        for id in &self.entered {
            if !entered.insert(id) {
                verdict.doubled.push(format!("boat {id} was entered twice"));
            }
        }
        for (ended, boats) in &self.convoys {
            if ended.as_ref() != Some(boats) {
                verdict.lost.push(format!("a convoy of {boats:?} came to {ended:?}"));
            }
            for boat in boats.iter().filter(|boat| !entered.contains(boat)) {
                verdict.lost.push(format!("boat {boat} was not entered"));
            }
        }
    }

    /// Checks that each voyage has ended with each leg and each signal once, and that nothing is recorded
    /// twice. Judges all other runs, too.
    pub(in crate::crash) fn judge(&self, verdict: &mut Verdict) {
        let mut signals = SIGNALS.to_vec();
        signals.sort_unstable();
        for voyage in &self.voyages {
            let mut heard = voyage.signals.clone();
            heard.sort_unstable();
            if voyage.phase != Some(RunPhase::Succeeded) {
                verdict.lost.push(format!("{} is {:?}", voyage.key, voyage.phase));
            } else if voyage.legs != (0..LEGS).collect::<Vec<_>>() || heard != signals {
                verdict.wrong.push(format!("{} has {:?} and heard {:?}", voyage.key, voyage.legs, voyage.signals));
            }
            let distinct: BTreeSet<_> = voyage.operations.iter().collect();
            if distinct.len() != voyage.operations.len() {
                verdict.doubled.push(format!("{} has recorded {:?}", voyage.key, voyage.operations));
            }
            let steps = voyage.operations.iter().filter(|operation| operation.starts_with("book#")).count();
            let distinct: BTreeSet<_> = voyage.booked.iter().collect();
            if distinct.len() != voyage.booked.len() {
                verdict.doubled.push(format!("{} has booked {:?}", voyage.key, voyage.booked));
            } else if voyage.booked.len() != steps {
                let wrong = format!("{} has booked {:?} and recorded {steps} of them", voyage.key, voyage.booked);
                verdict.wrong.push(wrong);
            }
        }
        self.judge_convoys(verdict);
        self.judge_ferries(verdict);
        self.judge_wrecks(verdict);
        for (op, ended) in self.divers.iter().filter(|(op, ended)| *ended != Some(op.0)) {
            verdict.lost.push(format!("the diver of {op:?} came to {ended:?}"));
        }
        if !self.guilty.is_empty() {
            verdict.wrong.push(format!("the guilty voyage did not end as planned: {}", self.guilty));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crash::parts::runs::{evidence::Ended, ferry, sailing, wreck};

    fn kept() -> Evidence {
        let operations = ["sail#1", "book#1", "sail#2", "book#2"].map(str::to_owned).to_vec();
        let (legs, signals) = ((0..LEGS).collect(), SIGNALS.to_vec());
        let booked = vec![0, 1];
        let voyage =
            Ended { key: sailing(0, 0).key(), phase: Some(RunPhase::Succeeded), legs, signals, operations, booked };
        Evidence {
            voyages: vec![voyage],
            convoys: vec![(Some(vec![0, 1]), vec![0, 1])],
            entered: vec![1, 0],
            ferries: vec![(ferry(sailing(0, 0)), (1..=FARES).collect(), FARES + 1)],
            wrecks: vec![Wrecked { key: wreck(sailing(0, 1)), error: AGROUND.to_owned(), operations: undone() }],
            divers: vec![(sailing(0, 1), Some(sailing(0, 1).0))],
            ..Evidence::default()
        }
    }

    fn judged(change: impl FnOnce(&mut Evidence)) -> String {
        let (mut evidence, mut verdict) = (kept(), Verdict::default());
        change(&mut evidence);
        evidence.judge(&mut verdict);
        verdict.to_string().lines().last().unwrap_or_default().to_owned()
    }

    #[test]
    fn a_voyage_is_whole_lost_doubled_or_wrong() {
        assert_eq!(judged(|_| {}), "0 kills: 0 lost, 0 doubled");
        assert_eq!(judged(|evidence| evidence.voyages[0].phase = None), "0 kills: 1 lost, 0 doubled");
        assert_eq!(judged(|evidence| evidence.voyages[0].phase = Some(RunPhase::Failed)), "0 kills: 1 lost, 0 doubled");
        let twice = judged(|evidence| evidence.voyages[0].operations.push("sail#1".into()));
        assert_eq!(twice, "0 kills: 0 lost, 1 doubled");
        let one_leg = judged(|evidence| evidence.voyages[0].legs.truncate(1));
        assert_eq!(one_leg, "0 kills: 0 lost, 0 doubled, 1 wrong");
        let one_signal = judged(|evidence| evidence.voyages[0].signals.truncate(1));
        assert_eq!(one_signal, "0 kills: 0 lost, 0 doubled, 1 wrong");
        assert_eq!(judged(|evidence| evidence.entered.push(0)), "0 kills: 0 lost, 1 doubled");
        assert_eq!(judged(|evidence| evidence.entered.truncate(1)), "0 kills: 1 lost, 0 doubled");
        assert_eq!(judged(|evidence| evidence.convoys[0].0 = None), "0 kills: 1 lost, 0 doubled");
        let booked_twice = judged(|evidence| evidence.voyages[0].booked[1] = 0);
        assert_eq!(booked_twice, "0 kills: 0 lost, 1 doubled");
        let unbooked = judged(|evidence| evidence.voyages[0].booked.truncate(1));
        assert_eq!(unbooked, "0 kills: 0 lost, 0 doubled, 1 wrong");
        assert_eq!(judged(|evidence| evidence.ferries[0].1[2] = 1), "0 kills: 0 lost, 1 doubled");
        assert_eq!(judged(|evidence| evidence.ferries[0].1.truncate(3)), "0 kills: 1 lost, 0 doubled");
        assert_eq!(judged(|evidence| evidence.ferries[0].1.swap(0, 1)), "0 kills: 0 lost, 0 doubled, 1 wrong");
        assert_eq!(judged(|evidence| evidence.ferries[0].2 -= 1), "0 kills: 0 lost, 0 doubled, 1 wrong");
        let undone_twice = judged(|evidence| evidence.wrecks[0].operations.push("undo/load#1/unload#1".into()));
        assert_eq!(undone_twice, "0 kills: 0 lost, 1 doubled");
        assert_eq!(judged(|evidence| evidence.wrecks[0].error = "None".into()), "0 kills: 1 lost, 0 doubled");
        let not_undone = judged(|evidence| drop(evidence.wrecks[0].operations.pop()));
        assert_eq!(not_undone, "0 kills: 0 lost, 0 doubled, 1 wrong");
        assert_eq!(judged(|evidence| evidence.divers[0].1 = None), "0 kills: 1 lost, 0 doubled");
        assert_eq!(judged(|evidence| evidence.guilty = "it lives".into()), "0 kills: 0 lost, 0 doubled, 1 wrong");
    }
}
