//! The worth of a campaign: how much was done by children that were then killed. Killing a child that did
//! nothing proves nothing.

use std::{collections::BTreeMap, fmt};

use crate::crash::{
    parts::part::Part,
    processes::life::{Killed, Life},
};

/// The least number of operations per kill. With fewer, nothing could have been lost. Each kill comes after
/// sixteen or more.
const ACKNOWLEDGED_MIN: u32 = 16;

/// A part may be idle in one of this many lives, and in a few more that are killed before the round has got
/// going.
const IDLE_IN: u32 = 10;
const IDLE_AT_FIRST: u32 = 4;

/// Everything that was done in the lives that were killed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// The number of children killed while they worked.
    pub kills: u32,
    /// The number of children killed while they opened their files.
    pub openings: u32,
    /// The number of operations acknowledged by the children that were killed while they worked.
    pub acknowledged: u32,
    /// The number of those lives in which each part was active.
    moved: BTreeMap<Part, u32>,
}

impl Proof {
    pub(in crate::crash) fn count(&mut self, life: &Life) {
        match life.killed {
            Some(Killed::Working) => {
                self.kills += 1;
                self.acknowledged += life.acknowledged;
                life.moved.iter().for_each(|part| *self.moved.entry(*part).or_default() += 1);
            }
            Some(Killed::Opening) => self.openings += 1,
            None => {}
        }
    }

    /// The number of lives, killed at work, in which a part was active.
    fn moved(&self, part: Part) -> u32 {
        self.moved.get(&part).copied().unwrap_or_default()
    }

    /// Lists the reasons why the campaign proves nothing. Empty if it proves something.
    pub(in crate::crash) fn hollow(&self) -> Vec<String> {
        let mut hollow = Vec::new();
        if self.acknowledged < self.kills * ACKNOWLEDGED_MIN {
            hollow.push(format!("the proof is hollow: {} operations in {} lives", self.acknowledged, self.kills));
        }
        for part in Part::ALL {
            let idle = self.kills - self.moved(part);
            if idle > self.kills / IDLE_IN + IDLE_AT_FIRST {
                hollow.push(format!("the proof is hollow: {part} were idle in {idle} of {} lives", self.kills));
            }
        }
        hollow
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kills, openings, acknowledged, .. } = self;
        write!(out, "{kills} were killed at work, with {acknowledged} operations acknowledged; ")?;
        writeln!(out, "{openings} more while they opened their files")?;
        write!(out, "lives in which each part moved:")?;
        Part::ALL.iter().try_for_each(|part| write!(out, " {part} {},", self.moved(*part)))?;
        write!(out, " of {kills}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn life(acknowledged: u32, idle: Option<Part>, killed: Option<Killed>) -> Life {
        let moved = Part::ALL.into_iter().filter(|part| Some(*part) != idle).collect();
        Life { opened: 2, acknowledged, moved, killed }
    }

    fn proof(lives: impl IntoIterator<Item = Life>) -> Proof {
        let mut proof = Proof::default();
        lives.into_iter().for_each(|life| proof.count(&life));
        proof
    }

    #[test]
    fn only_lives_that_were_killed_at_work_count() {
        let others = [life(100, None, None), life(0, None, Some(Killed::Opening))];
        let proof = proof(
            [life(20, None, Some(Killed::Working)), life(30, None, Some(Killed::Working))].into_iter().chain(others),
        );
        assert_eq!((proof.kills, proof.openings, proof.acknowledged), (2, 1, 50));
        assert!(Part::ALL.into_iter().all(|part| proof.moved(part) == 2));
        assert_eq!(proof.hollow(), [""; 0]);
    }

    #[test]
    fn kills_of_children_that_acknowledged_too_little_are_hollow() {
        let nothing = proof((0..3).map(|_| life(15, None, Some(Killed::Working))));
        assert_eq!(nothing.hollow(), ["the proof is hollow: 45 operations in 3 lives"]);
        assert_eq!(Proof::default().hollow(), [""; 0]);
    }

    #[test]
    fn a_part_that_idled_in_a_tenth_of_lives_is_hollow() {
        let lives =
            |idle| (0..100).map(move |nth| life(20, (nth < idle).then_some(Part::Undos), Some(Killed::Working)));
        assert_eq!(proof(lives(14)).hollow(), [""; 0]);
        assert_eq!(proof(lives(15)).hollow(), ["the proof is hollow: undos were idle in 15 of 100 lives"]);
    }
}
