//! The judgement of the storm: what was acknowledged, against what was heard.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    super::{
        op::{Deed, Op},
        verdict::Verdict,
    },
    Answer, Topic,
    evidence::{Ended, Evidence},
};

impl Evidence {
    /// Everything that was acknowledged, with its answer.
    pub(in super::super) fn judge(&self, acknowledged: &BTreeMap<Op, u64>, verdict: &mut Verdict) {
        verdict.wrong.extend(self.parked.iter().cloned());
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
    fn published(&self, topic: Topic, op: Op, answer: Answer, verdict: &mut Verdict) {
        let none = Vec::new();
        let told = self.told.get(&answer.number).unwrap_or(&none);
        let hearers: Vec<&String> =
            self.heard.iter().filter(|(_, heard)| hears(heard, op)).map(|(run, _)| run).collect();
        let distinct: BTreeSet<&String> = told.iter().collect();
        if distinct.len() < told.len() {
            verdict.doubled.push(format!("{op:?} was sent to somebody twice: {told:?}"));
        }
        if topic.is_for_one() {
            let dead = self.dead.iter().filter(|dead| **dead == op.0).count();
            verdict.once(op, "a run or the dead letters", self.times(op) + dead);
        } else {
            self.heard_by_all(topic, (op, answer), (&distinct, &hearers), verdict);
        }
        if hearers.iter().any(|run| !distinct.contains(run)) {
            verdict.wrong.push(format!("{op:?} was heard by {hearers:?} and sent to {told:?}"));
        }
    }

    /// Whoever was told of an event for all has heard it, once; and whoever waited was told, unless the wait may have been over.
    fn heard_by_all(
        &self,
        topic: Topic,
        (op, answer): (Op, Answer),
        (told, hearers): (&BTreeSet<&String>, &[&String]),
        verdict: &mut Verdict,
    ) {
        for run in told.iter().filter(|run| !hearers.contains(*run)) {
            verdict.lost.push(format!("{op:?} was sent to {run}, which has not heard of it"));
        }
        if self.times(op) > hearers.len() {
            verdict.doubled.push(format!("{op:?} was heard twice by one of {hearers:?}"));
        }
        if !topic.is_brisk() && (told.len() as u64) < answer.waiting {
            verdict.lost.push(format!("{} waited for {op:?}, and {} were told", answer.waiting, told.len()));
        }
        if topic == Topic::News && hearers.len() < self.heard.len() {
            verdict.lost.push(format!("{op:?} was heard by {} of {}", hearers.len(), self.heard.len()));
        }
    }

    fn times(&self, op: Op) -> usize {
        self.heard.values().flatten().flatten().filter(|heard| **heard == op.0).count()
    }

    /// Every run has ended, and has heard what was published alone. What is for all comes in the order of its numbers; what is for one does
    /// not, where it came back and went to the next.
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

    /// Two events on each topic, told to its first two runs, or one of them.
    fn kept() -> (Evidence, BTreeMap<Op, u64>) {
        let (mut evidence, mut acknowledged) = (Evidence::default(), BTreeMap::new());
        for topic in Topic::all() {
            let of_topic = (0..1_000).map(Op).filter(|op| op.deed() == Deed::Publish && Topic::of(*op) == topic);
            let ops: Vec<Op> = of_topic.take(2).collect();
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

    fn judged(topic: Topic, change: impl FnOnce(&mut Ended)) -> String {
        let ((mut evidence, acknowledged), mut verdict) = (kept(), Verdict::default());
        change(evidence.topics.entry(topic).or_default());
        evidence.judge(&acknowledged, &mut verdict);
        verdict.to_string().lines().last().unwrap_or_default().to_owned()
    }

    fn heard(ended: &mut Ended) -> &mut Vec<u64> {
        ended.heard.values_mut().next().and_then(Option::as_mut).expect("somebody heard something")
    }

    #[test]
    fn kept_promises_are_not_worth_a_word() {
        assert_eq!(judged(Topic::News, |_| {}), "0 kills: 0 lost, 0 doubled");
    }

    #[test]
    fn what_is_for_one_is_heard_once_or_dead() {
        for topic in [Topic::Job, Topic::Task(1)] {
            let lost = judged(topic, |ended| heard(ended).truncate(1));
            assert_eq!(lost, "0 kills: 1 lost, 0 doubled");
            let dead = judged(topic, |ended| {
                let dead = heard(ended).pop();
                ended.dead.extend(dead);
            });
            assert_eq!(dead, "0 kills: 0 lost, 0 doubled");
            let twice = judged(topic, |ended| {
                let dead = heard(ended).last().copied();
                ended.dead.extend(dead);
            });
            assert_eq!(twice, "0 kills: 0 lost, 1 doubled");
            let back = judged(topic, |ended| heard(ended).reverse());
            assert_eq!(back, "0 kills: 0 lost, 0 doubled");
            assert_eq!(judged(topic, |ended| ended.pending = 1), "0 kills: 0 lost, 0 doubled, 1 wrong");
        }
    }

    #[test]
    fn what_is_for_all_is_heard_by_each_who_waited_once_and_in_order() {
        for topic in [Topic::News, Topic::Paid(0), Topic::Paid(2)] {
            let lost = judged(topic, |ended| heard(ended).truncate(1));
            let expected = if topic == Topic::News { 2 } else { 1 };
            assert_eq!(lost, format!("0 kills: {expected} lost, 0 doubled"), "{topic}");
            let twice = judged(topic, |ended| {
                let again = heard(ended)[1];
                heard(ended).push(again);
            });
            assert_eq!(twice, "0 kills: 0 lost, 1 doubled");
            assert_eq!(judged(topic, |ended| heard(ended).reverse()), "0 kills: 0 lost, 0 doubled, 1 wrong");
            let stranger = judged(topic, |ended| heard(ended).push(u64::MAX));
            assert_eq!(stranger, "0 kills: 0 lost, 0 doubled, 1 wrong");
            let endless = judged(topic, |ended| drop(ended.heard.insert("x".into(), None)));
            let expected = if topic == Topic::News { 3 } else { 1 };
            assert_eq!(endless, format!("0 kills: {expected} lost, 0 doubled"), "{topic}");
        }
        let untold = judged(Topic::Paid(0), |ended| {
            ended.told.insert(2, vec![Topic::Paid(0).run(1)]);
            heard(ended).pop();
        });
        assert_eq!(untold, "0 kills: 1 lost, 0 doubled");
    }
}
