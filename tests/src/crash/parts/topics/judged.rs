//! The verdict on the storm: compares the events that were acknowledged with the events that were heard.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Answer, Topic,
    evidence::{Ended, Evidence},
};
use crate::crash::{
    judging::verdict::Verdict,
    op::{Deed, Op},
};

impl Evidence {
    /// Judges everything that was acknowledged, with its answer.
    pub(in crate::crash) fn judge(&self, acknowledged: &BTreeMap<Op, u64>, verdict: &mut Verdict) {
        let published = acknowledged.iter().filter(|(op, _)| op.deed() == Deed::Publish);
        let mut numbers: BTreeMap<Topic, BTreeMap<u64, u64>> = BTreeMap::new();
        let mut places = BTreeMap::new();
        for (op, answer) in published {
            let (topic, answer) = (Topic::of(*op), Answer::unpacked(*answer));
            if let Some(ended) = self.topics.get(&topic) {
                ended.published(topic, *op, answer, verdict);
            }
            numbers.entry(topic).or_default().insert(op.0, answer.number);
            if let Some(other) = places.insert((topic, answer.number), op) {
                verdict.wrong.push(format!("{op:?} and {other:?} have one number"));
            }
        }
        for (topic, ended) in &self.topics {
            ended.order(*topic, numbers.get(topic).unwrap_or(&BTreeMap::new()), verdict);
        }
    }
}

impl Ended {
    /// Judges an event by what cannot be forgotten: the answer to the publisher, and the events that each
    /// run keeps in its state.
    fn published(&self, topic: Topic, op: Op, answer: Answer, verdict: &mut Verdict) {
        let hearers: BTreeSet<&String> =
            self.heard.iter().filter(|(_, heard)| hears(heard, op)).map(|(run, _)| run).collect();
        if topic.is_for_one() {
            let dead = self.dead.iter().filter(|dead| **dead == op.0).count();
            verdict.once(op, "a run or the dead letters", self.times(op) + dead);
        } else {
            self.heard_by_all(topic, (op, answer), &hearers, verdict);
        }
        self.as_told(topic, (op, answer), &hearers, verdict);
    }

    /// Checks that every run that waited for an event for all heard the event, unless the wait may have been
    /// over. Checks that no run heard the event twice.
    fn heard_by_all(
        &self,
        topic: Topic,
        (op, answer): (Op, Answer),
        hearers: &BTreeSet<&String>,
        verdict: &mut Verdict,
    ) {
        if self.times(op) > hearers.len() {
            verdict.doubled.push(format!("{op:?} was heard twice by one of {hearers:?}"));
        }
        if !topic.is_brisk() && (hearers.len() as u64) < answer.waiting {
            let (waited, heard) = (answer.waiting, hearers.len());
            verdict.lost.push(format!("{waited} waited for {op:?} on {topic}, and {heard} have heard it"));
        } else if topic.is_heard_whole() && hearers.len() < self.heard.len() {
            verdict.lost.push(format!("{op:?} was heard by {} of {}", hearers.len(), self.heard.len()));
        }
    }

    /// Compares the deliveries that the topic lists with what was heard, as far back as the topic remembers
    /// (T1).
    fn as_told(&self, topic: Topic, (op, answer): (Op, Answer), hearers: &BTreeSet<&String>, verdict: &mut Verdict) {
        let Some(told) = self.told.get(&answer.number) else { return };
        let distinct: BTreeSet<&String> = told.iter().collect();
        if distinct.len() < told.len() {
            verdict.doubled.push(format!("{op:?} was sent to one run twice: {told:?}"));
        }
        if !topic.is_for_one() {
            let deaf = distinct.difference(hearers);
            verdict.lost.extend(deaf.map(|run| format!("{op:?} was sent to {run}, which has not heard of it")));
        }
        // The topic may have forgotten a part of the first number that it lists.
        let is_whole = self.told.keys().next().is_some_and(|first| *first < answer.number);
        if is_whole && !hearers.is_subset(&distinct) {
            verdict.wrong.push(format!("{op:?} was heard by {hearers:?} and sent to {told:?}"));
        }
    }

    fn times(&self, op: Op) -> usize {
        self.heard.values().flatten().flatten().filter(|heard| **heard == op.0).count()
    }

    /// Checks that every run has ended, and has heard only published events. Events for all come in the
    /// order of their numbers. Events for one need not, because one may have gone back and to the next run.
    fn order(&self, topic: Topic, numbers: &BTreeMap<u64, u64>, verdict: &mut Verdict) {
        if self.pending > 0 {
            verdict.wrong.push(format!("{} events of {topic} were not taken", self.pending));
        }
        for (run, heard) in &self.heard {
            let Some(heard) = heard else {
                verdict.lost.push(format!("{run} has not heard the end"));
                continue;
            };
            let strangers = heard.iter().filter(|op| !numbers.contains_key(op));
            verdict.wrong.extend(strangers.map(|op| format!("{run} heard of {op}, which nobody published")));
            let heard: Vec<u64> = heard.iter().filter_map(|op| numbers.get(op)).copied().collect();
            if !topic.is_for_one() && !heard.is_sorted() {
                verdict.wrong.push(format!("{run} heard {heard:?}"));
            }
        }
    }
}

fn hears(heard: &Option<Vec<u64>>, op: Op) -> bool {
    heard.iter().flatten().any(|heard| *heard == op.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crash::parts::topics::Sort;

    const ROUND: u64 = 3;

    fn topic(sort: Sort) -> Topic {
        Topic { round: ROUND, sort }
    }

    /// Returns evidence with three events on each topic, heard by its first two runs, or by one of them if
    /// the topic is for one.
    fn kept() -> (Evidence, BTreeMap<Op, u64>) {
        let (mut evidence, mut acknowledged) = (Evidence::default(), BTreeMap::new());
        for topic in Topic::all(ROUND) {
            let ops = Op::of_round(ROUND).map(Op).filter(|op| op.deed() == Deed::Publish && Topic::of(*op) == topic);
            let ops: Vec<Op> = ops.take(3).collect();
            let runs = if topic.is_for_one() { 1 } else { 2 };
            let all: Vec<u64> = ops.iter().map(|op| op.0).collect();
            let mut ended = Ended::default();
            for nth in 0..runs {
                ended.heard.insert(topic.run(nth), Some(all.clone()));
            }
            for (number, op) in (1..).zip(ops) {
                ended.told.insert(number, (0..runs).map(|nth| topic.run(nth)).collect());
                acknowledged.insert(op, Answer { number, waiting: runs }.packed());
            }
            evidence.topics.insert(topic, ended);
        }
        (evidence, acknowledged)
    }

    fn judged(sort: Sort, change: impl FnOnce(&mut Ended)) -> String {
        let ((mut evidence, acknowledged), mut verdict) = (kept(), Verdict::default());
        change(evidence.topics.entry(topic(sort)).or_default());
        evidence.judge(&acknowledged, &mut verdict);
        verdict.to_string().lines().last().unwrap_or_default().to_owned()
    }

    fn heard(ended: &mut Ended) -> &mut Vec<u64> {
        ended.heard.values_mut().next().and_then(Option::as_mut).expect("somebody heard something")
    }

    #[test]
    fn kept_promises_are_not_worth_a_word() {
        assert_eq!(judged(Sort::News, |_| {}), "0 kills: 0 lost, 0 doubled");
    }

    #[test]
    fn an_event_for_one_is_heard_once_or_dead() {
        for sort in [Sort::Job, Sort::Task(1)] {
            let lost = judged(sort, |ended| heard(ended).truncate(2));
            assert_eq!(lost, "0 kills: 1 lost, 0 doubled");
            let dead = judged(sort, |ended| {
                let dead = heard(ended).pop();
                ended.dead.extend(dead);
            });
            assert_eq!(dead, "0 kills: 0 lost, 0 doubled");
            let twice = judged(sort, |ended| {
                let dead = heard(ended).last().copied();
                ended.dead.extend(dead);
            });
            assert_eq!(twice, "0 kills: 0 lost, 1 doubled");
            let back = judged(sort, |ended| heard(ended).reverse());
            assert_eq!(back, "0 kills: 0 lost, 0 doubled");
            assert_eq!(judged(sort, |ended| ended.pending = 1), "0 kills: 0 lost, 0 doubled, 1 wrong");
        }
    }

    #[test]
    fn each_that_waited_hears_an_event_for_all_once_in_order() {
        for sort in [Sort::News, Sort::Paid(0), Sort::Paid(2)] {
            // The loss shows in the answer to the publisher (both runs waited) or in the topic's deliveries
            // to both runs.
            let lost = judged(sort, |ended| heard(ended).truncate(2));
            let expected = if sort == Sort::Paid(2) { 1 } else { 2 };
            assert_eq!(lost, format!("0 kills: {expected} lost, 0 doubled"), "{sort:?}");
            let twice = judged(sort, |ended| {
                let again = heard(ended)[2];
                heard(ended).push(again);
            });
            assert_eq!(twice, "0 kills: 0 lost, 1 doubled");
            assert_eq!(judged(sort, |ended| heard(ended).reverse()), "0 kills: 0 lost, 0 doubled, 1 wrong");
            let stranger = judged(sort, |ended| heard(ended).push(u64::MAX));
            assert_eq!(stranger, "0 kills: 0 lost, 0 doubled, 1 wrong");
            let endless = judged(sort, |ended| drop(ended.heard.insert("x".into(), None)));
            let expected = if sort == Sort::News { 4 } else { 1 };
            assert_eq!(endless, format!("0 kills: {expected} lost, 0 doubled"), "{sort:?}");
        }
    }

    /// T1
    #[test]
    fn a_delivery_list_that_forgot_its_oldest_entries_is_no_loss() {
        for sort in [Sort::News, Sort::Paid(0), Sort::Task(1)] {
            assert_eq!(judged(sort, |ended| ended.told.clear()), "0 kills: 0 lost, 0 doubled", "{sort:?}");
            let in_part = judged(sort, |ended| {
                ended.told.remove(&1);
                ended.told.entry(2).or_default().pop();
            });
            assert_eq!(in_part, "0 kills: 0 lost, 0 doubled", "{sort:?}");
            // A topic forgets its oldest deliveries first, so a gap after a known delivery is an error.
            let gap = judged(sort, |ended| drop(ended.told.entry(2).or_default().pop()));
            assert_eq!(gap, "0 kills: 0 lost, 0 doubled, 1 wrong", "{sort:?}");
        }
    }

    /// T1, T4: also without a record of its receivers.
    #[test]
    fn an_event_that_nobody_heard_is_lost() {
        let unheard = judged(Sort::Paid(0), |ended| {
            ended.told.clear();
            heard(ended).truncate(2);
        });
        assert_eq!(unheard, "0 kills: 1 lost, 0 doubled");
    }
}
