//! The verdict on the outbox: a message is delivered, once, if and only if the row of its transaction is
//! there.

use std::collections::{BTreeMap, BTreeSet};

use super::{Letter, Post, evidence::Evidence};
use crate::crash::{
    judging::verdict::Verdict,
    op::Op,
    parts::hooks::{Writer, Written},
};

impl Evidence {
    /// Compares letters with rows, queues with their letters, and the events of parcels with the orders that
    /// were written.
    pub(in crate::crash) fn judge(&self, written: &[Written], verdict: &mut Verdict) {
        self.letters(written, verdict);
        self.posts(verdict);
        let orders: Vec<u64> = written.iter().filter(|row| row.writer == Writer::Order).map(|row| row.op).collect();
        for parcel in self.parcels.iter().filter(|(_, taken)| taken.is_none()) {
            verdict.lost.push(format!("{} has not ended", parcel.0));
        }
        let taken = || self.parcels.values().flatten();
        events("was sent", &orders, taken().flat_map(|(arrived, _)| arrived).flatten(), verdict);
        events("was published", &orders, taken().flat_map(|(_, sold)| sold).flatten(), verdict);
        if self.pending > 0 {
            verdict.doubled.push(format!("{} published events are more than parcels take", self.pending));
        }
    }

    fn letters(&self, written: &[Written], verdict: &mut Verdict) {
        let mut sent: BTreeMap<Letter, (usize, usize)> = BTreeMap::new();
        for row in written {
            sent.entry(Letter { writer: row.writer, op: row.op }).or_default().0 += 1;
        }
        for (_, letter) in &self.delivered {
            sent.entry(*letter).or_default().1 += 1;
        }
        for (letter, (rows, times)) in sent {
            let what = || format!("{letter:?} has {rows} rows and was delivered {times} times");
            if times < rows {
                verdict.lost.push(what());
            } else if times > rows {
                verdict.doubled.push(what());
            }
        }
    }

    /// Checks that each queue has applied the letters whose rows it has written.
    fn posts(&self, verdict: &mut Verdict) {
        for (key, post) in &self.posts {
            let mut found = Post::default();
            self.delivered.iter().filter(|(keeper, _)| keeper == key).for_each(|(_, letter)| found.take(letter.op));
            if found != *post {
                verdict.wrong.push(format!("{key} has applied {post:?}, and its rows are {found:?}"));
            }
        }
    }
}

/// Checks that the event of each order was taken once.
fn events<'a>(how: &str, orders: &[u64], taken: impl Iterator<Item = &'a u64>, verdict: &mut Verdict) {
    let mut heard = BTreeSet::new();
    for op in taken {
        if !heard.insert(*op) || !orders.contains(op) {
            verdict.doubled.push(format!("the event of {:?} that {how} was taken too often", Op(*op)));
        }
    }
    let lost = orders.iter().filter(|op| !heard.contains(op));
    verdict.lost.extend(lost.map(|op| format!("the event of {:?} that {how} was not taken", Op(*op))));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crash::parts::outbox::{ordering, parcel, post};

    const TICK: Letter = Letter { writer: Writer::Tick, op: 2 };

    fn order() -> Op {
        ordering(0, 0)
    }

    fn row(letter: Letter) -> Written {
        Written { writer: letter.writer, keeper: String::new(), op: letter.op, nth: 0 }
    }

    fn kept() -> (Vec<Written>, Evidence) {
        let ordered = Letter { writer: Writer::Order, op: order().0 };
        let letters = [ordered, TICK];
        let mut posts = BTreeMap::<String, Post>::new();
        letters.iter().for_each(|letter| posts.entry(post(Op(letter.op))).or_default().take(letter.op));
        let evidence = Evidence {
            delivered: letters.map(|letter| (post(Op(letter.op)), letter)).into(),
            posts,
            parcels: [(parcel(order()), Some((vec![Some(order().0), None], vec![None, Some(order().0)])))].into(),
            pending: 0,
        };
        (letters.map(row).into(), evidence)
    }

    fn judged(change: impl FnOnce(&mut Vec<Written>, &mut Evidence)) -> String {
        let ((mut written, mut evidence), mut verdict) = (kept(), Verdict::default());
        change(&mut written, &mut evidence);
        evidence.judge(&written, &mut verdict);
        verdict.to_string().lines().last().unwrap_or_default().to_owned()
    }

    fn taken(evidence: &mut Evidence, arrived: Vec<Option<u64>>, sold: Vec<Option<u64>>) {
        evidence.parcels.insert(parcel(order()), Some((arrived, sold)));
    }

    #[test]
    fn a_letter_is_kept_lost_or_doubled() {
        assert_eq!(judged(|_, _| {}), "0 kills: 0 lost, 0 doubled");
        assert_eq!(judged(|written, _| written.push(row(TICK))), "0 kills: 1 lost, 0 doubled");
        let unkept = judged(|written, _| written.retain(|row| row.writer != Writer::Tick));
        assert_eq!(unkept, "0 kills: 0 lost, 1 doubled", "a letter without its row");
        let twice = judged(|_, evidence| evidence.delivered.push((post(Op(TICK.op)), TICK)));
        assert_eq!(twice, "0 kills: 0 lost, 1 doubled, 1 wrong");
    }

    #[test]
    fn an_event_is_kept_lost_or_doubled() {
        let op = Some(order().0);
        assert_eq!(judged(|_, evidence| taken(evidence, vec![op], vec![])), "0 kills: 1 lost, 0 doubled");
        assert_eq!(judged(|_, evidence| taken(evidence, vec![], vec![op])), "0 kills: 1 lost, 0 doubled");
        assert_eq!(judged(|_, evidence| taken(evidence, vec![op, op], vec![op])), "0 kills: 0 lost, 1 doubled");
        assert_eq!(judged(|_, evidence| taken(evidence, vec![op], vec![op, op])), "0 kills: 0 lost, 1 doubled");
        assert_eq!(judged(|_, evidence| taken(evidence, vec![op, Some(1)], vec![op])), "0 kills: 0 lost, 1 doubled");
        assert_eq!(judged(|_, evidence| evidence.pending = 1), "0 kills: 0 lost, 1 doubled");
        let never_started = judged(|_, evidence| evidence.parcels.extend([(parcel(order()), None)]));
        assert_eq!(never_started, "0 kills: 3 lost, 0 doubled");
    }
}
