//! The verdict on the typed app: compares acknowledged operations with committed states and dead letters.

use super::{Clock, evidence::Evidence};
use crate::crash::{
    judging::verdict::Verdict,
    op::{Op, Rule},
};

impl Evidence {
    /// Checks that an item is in one successful batch or in one dead letter, as its rule says.
    pub(in crate::crash) fn item(&self, op: Op, verdict: &mut Verdict) {
        let times = |items: &Vec<u64>| items.iter().filter(|item| **item == op.0).count();
        let flushed = self.flushed.get(&op.key()).map_or(0, times);
        let dead: usize = self.dead.iter().map(times).sum();
        verdict.once(op, "its pile or the dead letters", flushed + dead);
        if op.rule() != Rule::Succeeds && flushed > 0 {
            verdict.wrong.push(format!("the flush of {op:?} cannot succeed, and did"));
        }
    }

    /// Checks that a job was processed once or is one dead letter, as its rule says.
    pub(in crate::crash) fn job(&self, op: Op, verdict: &mut Verdict) {
        let times = |items: &Vec<u64>| items.iter().filter(|item| **item == op.0).count();
        let done = self.done.get(&op.key()).map_or(0, times);
        let dead: usize = self.dead.iter().map(times).sum();
        verdict.once(op, "its queue or the dead letters", done + dead);
        if done + dead == 1 && (op.rule() == Rule::Succeeds) != (done == 1) {
            verdict.wrong.push(format!("the job {op:?} {:?}, and was processed {done} times", op.rule()));
        }
    }

    /// Checks that a note was armed once, and rang once.
    pub(in crate::crash) fn note(&self, op: Op, verdict: &mut Verdict) {
        let Some(note) = self.notes.get(&op.key()) else { return verdict.once(op, "its note", 0) };
        verdict.once(op, "its note, armed", note.armed as usize);
        verdict.once(op, "its note, rung", note.rung as usize);
        if note.early > 0 {
            verdict.wrong.push(format!("the note of {op:?} rang early"));
        }
    }

    /// Checks that a batch died only of a bad item in it, that ticks were counted once, and that nothing is
    /// there without having been asked for.
    pub(in crate::crash) fn health(&self, was_begun: impl Fn(Op) -> bool, verdict: &mut Verdict) {
        for (key, (used, waiting)) in self.permits.iter().filter(|(_, out)| **out != (0, 0)) {
            verdict.wrong.push(format!("{used} permits of `{key}` have not come back, and {waiting} callers wait"));
        }
        for items in self.dead.iter().filter(|items| items.iter().all(|item| Op(*item).rule() == Rule::Succeeds)) {
            verdict.wrong.push(format!("a batch is dead, and nothing in it is bad: {items:?}"));
        }
        for item in self
            .flushed
            .values()
            .chain(self.done.values())
            .chain(&self.dead)
            .flatten()
            .filter(|item| !was_begun(Op(**item)))
        {
            verdict.wrong.push(format!("nobody asked for the item {item}"));
        }
        self.ticks(verdict);
    }

    fn ticks(&self, verdict: &mut Verdict) {
        let Some((clock, runs)) = &self.clock else { return };
        if clock.again > 0 {
            verdict.doubled.push(format!("{} ticks came with the number of an earlier one", clock.again));
        }
        let Clock { ticks, astray, .. } = clock;
        if ticks != runs || *astray > 0 {
            let wrong = format!("{runs} runs are counted, {ticks} ticks are kept, {astray} were told otherwise");
            verdict.wrong.push(wrong);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crash::parts::typed::Note;

    const ITEM: Op = Op(4);
    const NOTE: Op = Op(5);
    const JOB: Op = Op(6);

    fn kept() -> Evidence {
        let note = Note { armed: 1, rung: 1, ..Note::default() };
        Evidence {
            flushed: [(ITEM.key(), vec![ITEM.0])].into(),
            notes: [(NOTE.key(), note)].into(),
            done: [(JOB.key(), vec![JOB.0])].into(),
            clock: Some((Clock { ticks: 3, last: 4, ..Clock::default() }, 3)),
            ..Evidence::default()
        }
    }

    fn judged(change: impl FnOnce(&mut Evidence)) -> String {
        let (mut evidence, mut verdict) = (kept(), Verdict::default());
        change(&mut evidence);
        evidence.item(ITEM, &mut verdict);
        evidence.note(NOTE, &mut verdict);
        evidence.job(JOB, &mut verdict);
        evidence.health(|op| op == ITEM || op == JOB || op.rule() != Rule::Succeeds, &mut verdict);
        verdict.to_string().lines().last().unwrap_or_default().to_owned()
    }

    #[test]
    fn a_promise_is_kept_lost_doubled_or_wrong() {
        let bad = (0..1_000).map(Op).find(|op| op.rule() == Rule::Fails).unwrap().0;
        assert_eq!(judged(|_| {}), "0 kills: 0 lost, 0 doubled");
        assert_eq!(judged(|evidence| evidence.flushed.clear()), "0 kills: 1 lost, 0 doubled");
        assert_eq!(judged(|evidence| evidence.notes.clear()), "0 kills: 1 lost, 0 doubled");
        assert_eq!(judged(|evidence| evidence.done.clear()), "0 kills: 1 lost, 0 doubled");
        assert_eq!(judged(|evidence| evidence.dead.push(vec![bad, JOB.0])), "0 kills: 0 lost, 1 doubled");
        assert_eq!(judged(|evidence| evidence.dead.push(vec![bad, ITEM.0])), "0 kills: 0 lost, 1 doubled");
        assert_eq!(judged(|evidence| evidence.dead.push(vec![bad])), "0 kills: 0 lost, 0 doubled");
        assert_eq!(judged(|evidence| evidence.dead.push(vec![])), "0 kills: 0 lost, 0 doubled, 1 wrong");
        let out = judged(|evidence| evidence.permits.extend([("berth-0@0".into(), (1, 0))]));
        assert_eq!(out, "0 kills: 0 lost, 0 doubled, 1 wrong");
        let clock = |again, runs| Some((Clock { ticks: 3, last: 4, again, ..Clock::default() }, runs));
        assert_eq!(judged(|evidence| evidence.clock = clock(1, 3)), "0 kills: 0 lost, 1 doubled");
        assert_eq!(judged(|evidence| evidence.clock = clock(0, 4)), "0 kills: 0 lost, 0 doubled, 1 wrong");
    }
}
