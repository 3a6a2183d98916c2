//! What a campaign is worth: how much was done by children that were then killed. A kill of a child that did nothing proves nothing.

use std::fmt;

use super::{fleet::SHIPS, life::Life};

/// Fewer operations per kill are none that could have been lost. Three kills in four come after sixteen or more.
const ACKNOWLEDGED_MIN: u32 = 8;

/// In one of so many lives that were killed runs of the fleet must have got on.
const MOVED_IN: u32 = 2;

/// So many kills the fleet lasts: each sends three or four signals, of which a run takes two and then rests.
const FLEET_LASTS: u32 = SHIPS as u32 * 2 / 5;

/// What was done in the lives that were killed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// How many children were killed.
    pub kills: u32,
    /// How many of them had acknowledged something.
    pub worked: u32,
    /// How many operations they had acknowledged.
    pub acknowledged: u32,
    /// In how many of these lives runs of the fleet recorded steps.
    pub moved: u32,
    /// How many legs of voyages were recorded in them.
    pub legs: u64,
}

impl Proof {
    pub(super) fn of(lives: &[Life]) -> Self {
        let mut proof = Self::default();
        for life in lives.iter().filter(|life| life.killed) {
            proof.kills += 1;
            proof.worked += u32::from(life.acknowledged > 0);
            proof.acknowledged += life.acknowledged;
        }
        // What a child has recorded is what the next one finds beyond what itself has found.
        let sailed: Vec<_> = lives.iter().filter_map(|life| Some((life, life.booked?))).collect();
        for ((_, before), (_, after)) in sailed.iter().zip(sailed.iter().skip(1)).filter(|((life, _), _)| life.killed) {
            proof.moved += u32::from(after > before);
            proof.legs += after.saturating_sub(*before);
        }
        proof
    }

    /// Why it proves nothing, if it does not.
    pub(super) fn hollow(&self) -> Option<String> {
        let acknowledged = self.acknowledged < self.kills * ACKNOWLEDGED_MIN;
        let moved = self.moved * MOVED_IN < self.kills.min(FLEET_LASTS);
        (acknowledged || moved).then(|| format!("the proof is hollow: {self}"))
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kills, worked, acknowledged, moved, legs } = self;
        write!(out, "{worked} of {kills} were killed at work, with {acknowledged} operations acknowledged; ")?;
        write!(out, "runs of the fleet moved in {moved} of these lives, by {legs} legs")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn life(acknowledged: u32, booked: Option<u64>) -> Life {
        Life { opened: 4, acknowledged, booked, killed: true }
    }

    #[test]
    fn what_was_done_in_lives_that_were_killed_counts() {
        let aborted = Life { killed: false, ..life(100, Some(50)) };
        let last = Life { killed: false, ..life(400, Some(90)) };
        let proof = Proof::of(&[life(20, Some(0)), life(0, None), aborted, life(30, Some(60)), last]);
        assert_eq!(proof, Proof { kills: 3, worked: 2, acknowledged: 50, moved: 2, legs: 80 });
        assert_eq!(proof.hollow(), None);
    }

    #[test]
    fn kills_of_children_that_did_nothing_are_hollow() {
        let nothing = Proof::of(&[life(0, None), life(0, Some(0)), life(0, Some(0))]);
        assert!(nothing.hollow().is_some_and(|hollow| hollow.contains("0 of 3 were killed at work")));
        let without_fleet = Proof::of(&[life(20, Some(0)), life(20, Some(0)), life(20, Some(0))]);
        assert!(without_fleet.hollow().is_some());
        assert_eq!(Proof::default().hollow(), None);
    }
}
