//! When a child is killed: after a certain progress, and after a short pause, so that the kill hits whatever
//! the child does then.
//!
//! Progress is counted, not timed. So a slow machine kills no earlier than a fast one, and every child that
//! was to work has worked. Most children also get some more operations until every part of the system was
//! active: on a busy machine some parts come later than others.

use std::{ops::Range, time::Duration};

use drystone_runtime::stable_hash;

use super::life::{Killed, Life};
use crate::crash::parts::part::Part;

/// One life in this many is killed while the child opens its files and resumes earlier work. The first life
/// is included.
const OPENING: u32 = 4;

/// The number of files that a child opens.
const FILES: u64 = 2;

/// A working child is killed after this many operations, which include one of each sort.
pub(in crate::crash) const ACKNOWLEDGED: Range<u64> = 16..65;

/// The operations that a child may do beyond its progress while a part is idle.
const MORE: u64 = 200;

/// One working life in this many gets no more operations: its kill may come before some parts are active.
const EARLY: u64 = 16;

/// The pause before the kill, in microseconds: the time of a few commits.
const PAUSE_US: Range<u64> = 0..20_001;

/// The progress at which a child is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::crash) struct Moment {
    opened: u32,
    acknowledged: u32,
    /// The operations that the child may do beyond that while a part is idle.
    more: u32,
    /// The pause between the progress and the kill.
    pub(in crate::crash) pause: Duration,
}

impl Moment {
    /// The moment for a life. Each life has another, so a child that dies by itself is followed by a
    /// different kill.
    pub(in crate::crash) fn of(seed: u64, life: u32) -> Self {
        let draw = |what: &str, from: Range<u64>| {
            let chance = stable_hash(&[&seed.to_be_bytes(), &life.to_be_bytes(), what.as_bytes()]);
            from.start + chance % (from.end - from.start)
        };
        let pause = Duration::from_micros(draw("pause", PAUSE_US));
        let (opened, acknowledged) = if life.is_multiple_of(OPENING) {
            (draw("opened", 0..FILES + 1), 0)
        } else {
            (FILES, draw("acknowledged", ACKNOWLEDGED))
        };
        let more = if draw("more", 0..EARLY) == 0 { 0 } else { MORE };
        Self { opened: opened as u32, acknowledged: acknowledged as u32, more: more as u32, pause }
    }

    /// Whether a child has made this progress.
    pub(in crate::crash) fn has_come(&self, life: &Life) -> bool {
        let waits_for_a_part = self.kind() == Killed::Working
            && life.moved.len() < Part::ALL.len()
            && life.acknowledged < self.acknowledged + self.more;
        life.opened >= self.opened && life.acknowledged >= self.acknowledged && !waits_for_a_part
    }

    /// The phase that a kill at this moment hits.
    pub(in crate::crash) fn kind(&self) -> Killed {
        if self.acknowledged == 0 { Killed::Opening } else { Killed::Working }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some come with each number of files open.
    #[test]
    fn most_kills_come_while_children_work() {
        let moments: Vec<_> = (0..2_000).map(|life| Moment::of(7, life)).collect();
        let (opening, working): (Vec<&Moment>, Vec<&Moment>) =
            moments.iter().partition(|moment| moment.kind() == Killed::Opening);
        assert_eq!((opening.len(), working.len()), (500, 1_500));
        assert!((0..=2).all(|files| opening.iter().any(|moment| moment.opened == files)));
        let after = || working.iter().map(|moment| moment.acknowledged);
        assert_eq!((after().min(), after().max()), (Some(16), Some(64)));
        assert!(moments.iter().all(|moment| moment.pause <= Duration::from_millis(20)));
        assert_eq!(Moment::of(7, 5), Moment::of(7, 5));
    }

    #[test]
    fn a_moment_has_come_when_the_child_has_come_so_far() {
        let moment = Moment { opened: 2, acknowledged: 20, more: 10, pause: Duration::ZERO };
        let life = Life { opened: 2, acknowledged: 20, moved: Part::ALL.into(), ..Life::default() };
        assert!(moment.has_come(&life));
        let idle = Life { moved: [Part::Calls].into(), ..life.clone() };
        assert!(!moment.has_come(&idle));
        assert!(moment.has_come(&Life { acknowledged: 30, ..idle.clone() }), "a part may stay idle");
        assert!(Moment { more: 0, ..moment }.has_come(&idle), "an early kill waits for no part");
        assert!(!moment.has_come(&Life { acknowledged: 19, ..life.clone() }));
        assert!(!moment.has_come(&Life { opened: 1, ..life }));
    }
}
