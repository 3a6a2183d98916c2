//! The verdict on the hooks: a row is there, once, if and only if its entity has recorded the hook.

use std::collections::BTreeMap;

use super::{Press, Writer, evidence::Evidence};
use crate::crash::{judging::verdict::Verdict, op::Op};

impl Evidence {
    /// Checks that an acknowledged operation was flushed, processed and put out once, and that its alarm
    /// rang once if its candle says so.
    pub(in crate::crash) fn stamp(&self, op: Op, verdict: &mut Verdict) {
        for writer in [Writer::Flush, Writer::Process, Writer::Destroy] {
            verdict.once(op, &format!("the rows of its {}", writer.word()), self.times(writer, op));
        }
        let rang = self.times(Writer::Alarm, op);
        if rang > 1 {
            verdict.doubled.push(format!("the alarm of {op:?} has {rang} rows"));
        }
        let ends = self.written.iter().filter(|row| row.writer == Writer::Destroy && row.op == op.0);
        // If an entity is destroyed after a hook wrote its row and before the hook is recorded, the record
        // is dropped and the row stays (E8).
        for end in ends.filter(|end| end.nth > rang as u64) {
            verdict.wrong.push(format!("the candle of {op:?} rang {} times, and {rang} rows say so", end.nth));
        }
    }

    pub(in crate::crash) fn times(&self, writer: Writer, op: Op) -> usize {
        self.written.iter().filter(|row| row.writer == writer && row.op == op.0).count()
    }

    /// Checks that the rows of an entity are those that it counted, and that no row was written without
    /// having been asked for.
    pub(in crate::crash) fn judge(&self, was_begun: impl Fn(Op) -> bool, verdict: &mut Verdict) {
        let counted: BTreeMap<&str, Vec<u64>> = self.numbers(&[Writer::Tick, Writer::Flush]);
        for (key, count) in &self.counts {
            let mut numbers = counted.get(key.as_str()).cloned().unwrap_or_default();
            numbers.sort_unstable();
            if numbers != (1..=*count).collect::<Vec<_>>() {
                verdict.wrong.push(format!("{key} has counted {count} rows, and these are there: {numbers:?}"));
            }
        }
        for (key, press) in &self.presses {
            let rows = self.written.iter().filter(|row| row.writer == Writer::Process && row.keeper == *key);
            let found = rows.fold(Press::default(), |found, row| Press {
                processed: found.processed + 1,
                sum: found.sum.wrapping_add(row.op),
            });
            if found != *press {
                verdict.wrong.push(format!("{key} has applied {press:?}, and its rows are {found:?}"));
            }
        }
        let unasked = self.written.iter().filter(|row| row.writer != Writer::Tick && !was_begun(Op(row.op)));
        verdict.wrong.extend(unasked.map(|row| format!("nobody asked for {row:?}")));
    }

    /// The counts in the rows of these writers, by entity.
    fn numbers(&self, writers: &[Writer]) -> BTreeMap<&str, Vec<u64>> {
        let mut numbers: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for row in self.written.iter().filter(|row| writers.contains(&row.writer)) {
            numbers.entry(&row.keeper).or_default().push(row.nth);
        }
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crash::parts::hooks::{Written, candle, chronicle, press, stamping, tally};

    fn row(writer: Writer, keeper: String, nth: u64) -> Written {
        Written { writer, keeper, op: stamping(0, 0).0, nth }
    }

    fn kept() -> Evidence {
        let op = stamping(0, 0);
        let written = vec![
            row(Writer::Tick, chronicle(0), 1),
            row(Writer::Flush, tally(op), 1),
            row(Writer::Process, press(op), 1),
            row(Writer::Alarm, candle(op), 1),
            row(Writer::Destroy, candle(op), 1),
        ];
        let counts = [(chronicle(0), 1), (tally(op), 1)].into();
        Evidence { written, counts, presses: [(press(op), Press { processed: 1, sum: op.0 })].into() }
    }

    fn judged(change: impl FnOnce(&mut Evidence)) -> String {
        let (mut evidence, mut verdict) = (kept(), Verdict::default());
        change(&mut evidence);
        evidence.stamp(stamping(0, 0), &mut verdict);
        evidence.judge(|op| op == stamping(0, 0), &mut verdict);
        verdict.to_string().lines().last().unwrap_or_default().to_owned()
    }

    fn without(writer: Writer) -> String {
        judged(|evidence| evidence.written.retain(|row| row.writer != writer))
    }

    fn twice(writer: Writer) -> String {
        judged(|evidence| {
            let again = evidence.written.iter().find(|row| row.writer == writer).cloned();
            evidence.written.extend(again);
        })
    }

    #[test]
    fn kept_promises_are_none_broken() {
        assert_eq!(judged(|_| {}), "0 kills: 0 lost, 0 doubled");
        let put_out = judged(|evidence| {
            evidence.written.retain(|row| row.writer != Writer::Alarm);
            evidence.written.iter_mut().filter(|row| row.writer == Writer::Destroy).for_each(|row| row.nth = 0);
        });
        assert_eq!(put_out, "0 kills: 0 lost, 0 doubled", "a candle that was put out has not rung");
    }

    #[test]
    fn a_row_that_is_missing_is_lost_or_wrong() {
        assert_eq!(without(Writer::Flush), "0 kills: 1 lost, 0 doubled, 1 wrong");
        assert_eq!(without(Writer::Process), "0 kills: 1 lost, 0 doubled, 1 wrong");
        assert_eq!(without(Writer::Destroy), "0 kills: 1 lost, 0 doubled");
        assert_eq!(without(Writer::Alarm), "0 kills: 0 lost, 0 doubled, 1 wrong");
        assert_eq!(without(Writer::Tick), "0 kills: 0 lost, 0 doubled, 1 wrong");
    }

    #[test]
    fn a_row_that_is_there_twice_is_doubled_or_wrong() {
        assert_eq!(twice(Writer::Flush), "0 kills: 0 lost, 1 doubled, 1 wrong");
        assert_eq!(twice(Writer::Process), "0 kills: 0 lost, 1 doubled, 1 wrong");
        assert_eq!(twice(Writer::Destroy), "0 kills: 0 lost, 1 doubled");
        assert_eq!(twice(Writer::Alarm), "0 kills: 0 lost, 1 doubled");
        assert_eq!(twice(Writer::Tick), "0 kills: 0 lost, 0 doubled, 1 wrong");
    }

    #[test]
    fn a_record_without_its_row_is_wrong() {
        let wrong = "0 kills: 0 lost, 0 doubled, 1 wrong";
        assert_eq!(judged(|evidence| evidence.counts.extend([(chronicle(0), 2)])), wrong);
        let more = |evidence: &mut Evidence| evidence.presses.values_mut().for_each(|press| press.processed += 1);
        assert_eq!(judged(more), wrong);
        let unasked = judged(|evidence| evidence.written.push(Written { op: 3, ..row(Writer::Alarm, "x".into(), 1) }));
        assert_eq!(unasked, wrong);
    }
}
