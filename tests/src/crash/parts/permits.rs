//! Everything that was heard of semaphores: fencing tokens that callers got, and runs that held the only
//! permit of a dock.

use std::collections::BTreeMap;

use super::runs;
use crate::crash::op::Op;

/// Everything that was heard of permits in one round.
#[derive(Clone, Debug, Default)]
pub(in crate::crash) struct Permits {
    /// The operation that got each token, by semaphore and token.
    tokens: BTreeMap<(String, u64), Op>,
    /// The highest token of each semaphore, in this life and in all lives before it.
    highest: BTreeMap<String, (u64, u64)>,
    /// The operation that holds the permit of each dock.
    holders: BTreeMap<String, Op>,
    /// The promises that were broken.
    pub(in crate::crash) wrong: Vec<String>,
}

impl Permits {
    /// Records a token that a caller got. No other caller may have it, and it must be higher than those of
    /// all earlier lives (S2).
    pub(in crate::crash) fn granted(&mut self, op: Op, token: u64) {
        let key = op.key();
        if let Some(other) = self.tokens.insert((key.clone(), token), op) {
            self.wrong.push(format!("{op:?} and {other:?} have the token {token} of `{key}`"));
        }
        let (here, before) = self.highest.entry(key.clone()).or_default();
        *here = token.max(*here);
        if token <= *before {
            self.wrong.push(format!("{op:?} has the token {token} of `{key}`, and {before} was given before"));
        }
    }

    pub(in crate::crash) fn life_ended(&mut self) {
        self.highest.values_mut().for_each(|(here, before)| *before = *here);
    }

    /// Records that a run holds the only permit of its dock. Its step may report this again after a crash
    /// (S5, M5).
    pub(in crate::crash) fn docked(&mut self, op: Op) {
        let dock = runs::dock(op);
        let holder = *self.holders.entry(dock.clone()).or_insert(op);
        if holder != op {
            self.wrong.push(format!("{op:?} came to `{dock}` while {holder:?} held its only permit"));
        }
    }

    pub(in crate::crash) fn undocked(&mut self, op: Op) {
        let dock = runs::dock(op);
        if self.holders.get(&dock) == Some(&op) {
            self.holders.remove(&dock);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Op = Op(9);
    const SAME: Op = Op(33);

    #[test]
    fn tokens_are_never_given_twice_and_grow_from_life_to_life() {
        assert_eq!(ONE.key(), SAME.key());
        let mut permits = Permits::default();
        permits.granted(ONE, 5);
        permits.granted(SAME, 4);
        assert_eq!(permits.wrong, [""; 0], "two callers of one life may hear of their tokens in any order");
        permits.life_ended();
        permits.granted(Op(57), 5);
        assert_eq!(permits.wrong.len(), 2, "{:?}", permits.wrong);
    }

    #[test]
    fn a_dock_with_one_permit_has_one_run_at_a_time() {
        let [one, same] = [Op(19), Op(67)];
        assert_eq!(runs::dock(one), runs::dock(same));
        let mut permits = Permits::default();
        [one, one].into_iter().for_each(|op| permits.docked(op));
        permits.undocked(one);
        permits.docked(same);
        assert_eq!(permits.wrong, [""; 0]);
        permits.docked(one);
        assert_eq!(permits.wrong.len(), 1);
    }
}
