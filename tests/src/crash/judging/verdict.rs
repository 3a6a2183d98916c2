//! The verdict: compares every promise that was heard with what is stored.

use std::{collections::BTreeMap, fmt};

use super::{evidence::Evidence, footprint::Growth, guilt::KILLS_MAX, heard::Heard, proof::Proof};
use crate::crash::{
    log::Entry,
    op::{Deed, GUILTY, Op, ledger},
    parts::hooks::Writer,
    processes::parent::Campaign,
};

/// The number of guilty pieces of code: a piece of work, a flush, a job and a step.
const GUILTY_ONES: u32 = 4;

/// The result of a campaign.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The number of children that the parent killed.
    pub kills: u32,
    /// The number of acknowledged operations.
    pub acknowledged: usize,
    /// The number of children killed by guilty code.
    pub aborts: u32,
    /// The work that the killed children had done.
    pub proof: Proof,
    /// The growth of files and memory.
    pub(in crate::crash) growth: Growth,
    /// Acknowledged operations that are missing.
    pub lost: Vec<String>,
    /// Operations stored more than once.
    pub doubled: Vec<String>,
    /// All other broken promises.
    pub wrong: Vec<String>,
}

impl Verdict {
    /// Whether every promise was kept, and the killed children had made enough promises.
    pub fn is_clean(&self) -> bool {
        self.lost.is_empty() && self.doubled.is_empty() && self.wrong.is_empty()
    }

    /// Judges the round that has ended.
    pub(in crate::crash) fn judge(&mut self, campaign: &Campaign, evidence: &Evidence) {
        self.round(&campaign.heard, campaign.failure.as_deref(), evidence);
    }

    /// Completes the verdict after the last round.
    pub(in crate::crash) fn close(&mut self, campaign: &Campaign) {
        (self.kills, self.acknowledged, self.aborts) = (campaign.proof.kills, campaign.acknowledged, campaign.aborts);
        (self.proof, self.growth) = (campaign.proof.clone(), campaign.growth.clone());
        self.wrong.extend(campaign.failure.clone());
        self.worth();
    }

    /// Checks the proof, the growth, and the number of kills by guilty code.
    fn worth(&mut self) {
        let (hollow, excessive) = (self.proof.hollow(), self.growth.excessive());
        self.wrong.extend(hollow.into_iter().chain(excessive));
        let most = GUILTY_ONES * KILLS_MAX as u32;
        if !(1..=most).contains(&self.aborts) {
            self.wrong.push(format!("the guilty killed {} processes, not 1 to {most}", self.aborts));
        }
    }

    fn round(&mut self, heard: &Heard, failure: Option<&str>, evidence: &Evidence) {
        let logs = evidence.logs.iter().map(|(key, log)| (key.as_str(), Tally::of(log))).collect();
        for op in &heard.begun {
            if heard.acknowledged.contains_key(op) {
                self.operation(*op, heard, evidence, &logs);
            } else if failure.is_none() {
                // A round that was broken off promises nothing.
                self.wrong.push(format!("{op:?} was never acknowledged"));
            }
        }
        self.order(evidence);
        self.strangers(heard, evidence);
        self.health(heard, evidence);
    }

    fn operation(&mut self, op: Op, heard: &Heard, evidence: &Evidence, logs: &BTreeMap<&str, Tally>) {
        let answer = heard.acknowledged.get(&op).copied().unwrap_or_default();
        match op.deed() {
            Deed::Add => self.counted(op, answer, logs),
            Deed::Relay => {
                self.counted(op, answer, logs);
                self.once(op, &op.sink(), times(logs, &op.sink(), op));
            }
            Deed::Arm => self.rung(op, evidence),
            Deed::Work => self.worked(op, heard, logs),
            Deed::Item => evidence.typed.item(op, self),
            Deed::Note => evidence.typed.note(op, self),
            Deed::Job => self.processed(op, heard, evidence),
            // Runs, listeners and tokens are judged elsewhere: runs and listeners in `health`, tokens when
            // they are heard.
            Deed::Stamp => evidence.hooks.stamp(op, self),
            Deed::Order => self.once(op, "the orders", evidence.hooks.times(Writer::Order, op)),
            Deed::Sail | Deed::Publish | Deed::Permit => {}
        }
    }

    /// Checks that an operation is in the log once, at the place that its caller was told.
    fn counted(&mut self, op: Op, answer: u64, logs: &BTreeMap<&str, Tally>) {
        let key = op.key();
        self.once(op, &key, times(logs, &key, op));
        let place = logs.get(key.as_str()).and_then(|tally| tally.0.get(&op)).and_then(|entries| entries.first());
        if place.is_some_and(|entry| entry.nth != answer) {
            self.wrong.push(format!("{op:?} was answered {answer} and is {place:?} of `{key}`"));
        }
    }

    fn rung(&mut self, op: Op, evidence: &Evidence) {
        let past = evidence.bells.get(&op.key()).copied().unwrap_or_default();
        self.once(op, "its bell, armed", past.armed as usize);
        self.once(op, "its bell, rung", past.rung as usize);
        if past.early > 0 {
            self.wrong.push(format!("the alarm of {op:?} rang early"));
        }
    }

    /// Checks that a piece of work ran, ended once and acted once, and that only the guilty piece is marked
    /// as guilty.
    fn worked(&mut self, op: Op, heard: &Heard, logs: &BTreeMap<&str, Tally>) {
        let key = op.key();
        self.once(op, &key, times(logs, &key, op));
        let crashed = logs.get(key.as_str()).is_some_and(|tally| tally.crashed(op));
        if crashed != (op == GUILTY) {
            self.wrong.push(format!("the work of {op:?} is guilty: {crashed}"));
        }
        if !heard.ran.contains(&op) {
            self.wrong.push(format!("the work of {op:?} ended and never ran"));
        }
        if op != GUILTY {
            let ledger = ledger(op.round());
            self.once(op, &ledger, times(logs, &ledger, op));
        }
    }

    /// Checks that a job was processed once or is a dead letter, had only one name, and was not executed
    /// after its success was recorded.
    fn processed(&mut self, op: Op, heard: &Heard, evidence: &Evidence) {
        let jobs = &heard.jobs;
        evidence.typed.job(op, self);
        if !jobs.names.contains_key(&op) {
            self.wrong.push(format!("the job {op:?} ended and was never executed"));
        }
        let again = jobs.redelivered.iter().filter(|again| **again == op);
        self.doubled.extend(again.map(|op| format!("{op:?} was executed after its success was recorded")));
        let renamed = jobs.renamed.iter().filter(|renamed| **renamed == op);
        self.wrong.extend(renamed.map(|op| format!("{op:?} was executed under another id")));
    }

    pub(in crate::crash) fn once(&mut self, op: Op, place: &str, times: usize) {
        match times {
            0 => self.lost.push(format!("{op:?} is not in {place}")),
            1 => {}
            _ => self.doubled.push(format!("{op:?} is {times} times in {place}")),
        }
    }

    /// Checks that the messages of one sender were taken in the order in which they were sent (M1).
    fn order(&mut self, evidence: &Evidence) {
        for (key, log) in evidence.logs.iter().filter(|(key, _)| key.starts_with("relay")) {
            let sent: Vec<Op> = log.iter().map(|entry| entry.op).collect();
            let Some(sink) = sent.first().and_then(|op| evidence.logs.get(&op.sink())) else { continue };
            let taken: Vec<Op> = sink.iter().map(|entry| entry.op).filter(|op| op.key() == *key).collect();
            if sent != taken {
                self.wrong.push(format!("the messages of `{key}` were not taken in their order"));
            }
        }
    }

    /// Checks that nothing is stored without having been asked for.
    fn strangers(&mut self, heard: &Heard, evidence: &Evidence) {
        for (key, log) in &evidence.logs {
            let strangers = log.iter().filter(|entry| !heard.begun.contains(&entry.op));
            self.wrong.extend(strangers.map(|entry| format!("nobody asked for {:?} in `{key}`", entry.op)));
        }
    }

    fn health(&mut self, heard: &Heard, evidence: &Evidence) {
        self.wrong.extend(evidence.ill.iter().chain(&evidence.damage).chain(&heard.permits.wrong).cloned());
        evidence.fleet.judge(self);
        evidence.storm.judge(&heard.acknowledged, self);
        evidence.hooks.judge(|op| heard.begun.contains(&op), self);
        evidence.outbox.judge(&evidence.hooks.written, self);
        evidence.typed.health(|op| heard.begun.contains(&op), self);
    }
}

/// The entries of a log, by operation.
struct Tally(BTreeMap<Op, Vec<Entry>>);

impl Tally {
    fn of(log: &[Entry]) -> Self {
        let mut tally: BTreeMap<Op, Vec<Entry>> = BTreeMap::new();
        log.iter().for_each(|entry| tally.entry(entry.op).or_default().push(*entry));
        Self(tally)
    }

    fn crashed(&self, op: Op) -> bool {
        self.0.get(&op).is_some_and(|entries| entries.iter().any(|entry| entry.crashed))
    }
}

fn times(logs: &BTreeMap<&str, Tally>, key: &str, op: Op) -> usize {
    logs.get(key).and_then(|tally| tally.0.get(&op)).map_or(0, Vec::len)
}

impl fmt::Display for Verdict {
    /// Writes one line per broken promise, and a summary as the last line.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (word, what) in [("lost", &self.lost), ("doubled", &self.doubled), ("wrong", &self.wrong)] {
            what.iter().try_for_each(|what| writeln!(out, "{word}: {what}"))?;
        }
        write!(out, "{} kills: {} lost, {} doubled", self.kills, self.lost.len(), self.doubled.len())?;
        if self.wrong.is_empty() { Ok(()) } else { write!(out, ", {} wrong", self.wrong.len()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bell::Past;

    fn entry(nth: u64, op: Op) -> Entry {
        Entry { nth, op, crashed: op == GUILTY }
    }

    /// One operation of each sort and the guilty one, with all promises kept.
    fn kept() -> (Heard, Evidence) {
        let [add, relay, arm, work] = [0, 1, 2, 3].map(Op);
        let mut heard = Heard::default();
        for op in [add, relay, arm, work, GUILTY] {
            heard.begun.insert(op);
            heard.ran.insert(op);
            heard.acknowledged.insert(op, 1);
        }
        let logged = [(add.key(), add), (relay.key(), relay), (relay.sink(), relay), (work.key(), work)];
        let logged = logged.into_iter().chain([(ledger(0), work), (GUILTY.key(), GUILTY)]);
        let logs = logged.map(|(key, op)| (key, vec![entry(1, op)])).collect();
        let bells = BTreeMap::from([(arm.key(), Past { armed: 1, rung: 1, ..Past::default() })]);
        (heard, Evidence { logs, bells, ..Evidence::default() })
    }

    fn judged(change: impl FnOnce(&mut Heard, &mut Evidence)) -> Verdict {
        let ((mut heard, mut evidence), mut verdict) = (kept(), Verdict { kills: 7, ..Verdict::default() });
        change(&mut heard, &mut evidence);
        verdict.round(&heard, None, &evidence);
        verdict
    }

    #[test]
    fn kept_promises_are_one_line() {
        assert_eq!(judged(|_, _| {}).to_string(), "7 kills: 0 lost, 0 doubled");
    }

    #[test]
    fn whatever_is_missing_is_lost() {
        for key in ["counter-0@0", "relay-0@0", "sink-two@0", "worker-0@0", "ledger@0", "guilty@0"] {
            let verdict = judged(|_, evidence| evidence.logs.retain(|log, _| log != key));
            assert_eq!(verdict.lost.len(), 1, "{key}: {verdict}");
        }
        let silent = Past { armed: 1, ..Past::default() };
        let verdict = judged(|_, evidence| evidence.bells.extend([("bell-0@0".into(), silent)]));
        assert_eq!(verdict.lost, ["Op(2) is not in its bell, rung"]);
    }

    #[test]
    fn whatever_is_there_twice_is_doubled() {
        for (key, op) in [("counter-0@0", 0), ("sink-two@0", 1), ("worker-0@0", 3), ("ledger@0", 3)] {
            let verdict = judged(|_, evidence| evidence.logs.entry(key.into()).or_default().push(entry(2, Op(op))));
            assert_eq!((verdict.lost.len(), verdict.doubled.len()), (0, 1), "{key}: {verdict}");
        }
        let twice = Past { armed: 1, rung: 2, ..Past::default() };
        let verdict = judged(|_, evidence| evidence.bells.extend([("bell-0@0".into(), twice)]));
        assert!(verdict.to_string().ends_with("7 kills: 0 lost, 1 doubled"));
    }

    #[test]
    fn other_broken_promises_are_wrong() {
        let wrongs: [fn(&mut Heard, &mut Evidence); 7] = [
            |heard, _| heard.acknowledged.extend([(Op(0), 9)]),
            |heard, _| heard.acknowledged.retain(|op, _| op.0 != 0),
            |heard, _| heard.ran.retain(|op| op.0 != 3),
            |heard, _| heard.permits.wrong.push("two have one token".into()),
            |_, evidence| evidence.damage.push("row 3 missing from index".into()),
            |_, evidence| evidence.ill.push("worker-0 is parked".into()),
            |_, evidence| evidence.logs.entry("worker-0@0".into()).or_default()[0].crashed = true,
        ];
        for (nth, wrong) in wrongs.into_iter().enumerate() {
            let verdict = judged(wrong);
            assert!(verdict.to_string().ends_with("0 lost, 0 doubled, 1 wrong"), "{nth}: {verdict}");
        }
    }

    #[test]
    fn a_campaign_that_is_worth_nothing_is_wrong() {
        let worth = |aborts| {
            let mut verdict = Verdict { aborts, ..Verdict::default() };
            verdict.worth();
            verdict.wrong
        };
        assert_eq!(worth(6), [""; 0]);
        assert_eq!(worth(17), ["the guilty killed 17 processes, not 1 to 16"]);
        assert_eq!(worth(0).len(), 1);
    }

    /// M1
    #[test]
    fn messages_of_one_sender_keep_their_order() {
        let verdict = judged(|heard, evidence| {
            let later = Op(37);
            assert_eq!((later.key(), later.sink()), (Op(1).key(), Op(1).sink()));
            heard.begun.insert(later);
            heard.acknowledged.insert(later, 2);
            evidence.logs.insert("relay-0@0".into(), vec![entry(1, Op(1)), entry(2, later)]);
            evidence.logs.insert("sink-two@0".into(), vec![entry(1, later), entry(2, Op(1))]);
        });
        assert_eq!(verdict.wrong, ["the messages of `relay-0@0` were not taken in their order"]);
    }
}
