//! Admission after a crash: many innocent entities at once, suspects a few at a time, the worst suspects
//! alone and only after the controls of this life (W2).

use std::{
    collections::{BTreeSet, VecDeque},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use crate::{Crashes, Key};

/// A control lasts between one probation and this many.
const CONTROL_PROBATIONS_MAX: u32 = 10;

/// How suspicious an entity is, by the deaths held against it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// Acquitted: like `Fresh`, but not while other entities are held back. It may be guilty as well, and a
    /// death by its work would acquit them.
    Acquitted,
    /// At most one death: 1,024 at once.
    Fresh,
    /// Two deaths: 32 at once.
    Twice,
    /// Three deaths: alone, after its control.
    Alone,
    /// More deaths: alone, after its control, and after the classes above.
    Trial,
}

impl Class {
    const ALL: [Self; 5] = [Self::Acquitted, Self::Fresh, Self::Twice, Self::Alone, Self::Trial];

    pub(crate) fn of(crashes: Crashes) -> Self {
        match crashes.deaths() {
            _ if crashes.is_acquitted() => Self::Acquitted,
            0 | 1 => Self::Fresh,
            2 => Self::Twice,
            3 => Self::Alone,
            _ => Self::Trial,
        }
    }

    const fn places(self) -> usize {
        match self {
            Self::Acquitted | Self::Fresh => 1_024,
            Self::Twice => 32,
            Self::Alone | Self::Trial => 1,
        }
    }

    /// The index of the set of places that the class uses. The classes that run alone share a place.
    const fn index(self) -> usize {
        match self {
            Self::Acquitted | Self::Fresh => 0,
            Self::Twice => 1,
            Self::Alone | Self::Trial => 2,
        }
    }
}

/// The places that entities take after a crash, the lines for them, and the controls.
#[derive(Debug, Default)]
pub(crate) struct CrashWindow(Mutex<Places>);

#[derive(Debug, Default)]
struct Places {
    admitted: [BTreeSet<Key>; 3],
    line: [VecDeque<Key>; 5],
    /// The keys that are held back, all until the same time: a trial during a control could acquit a guilty
    /// entity.
    controls: BTreeSet<Key>,
    controls_end: Duration,
}

impl CrashWindow {
    /// Takes a place for `key`, or puts the key in line. A key in line is woken when a place is free, and
    /// asks again.
    pub(crate) fn admit(&self, key: &Key, class: Class) -> bool {
        let mut places = self.lock();
        // An entity that is read again keeps its place, of whatever class: otherwise it would wait for
        // itself.
        if places.admitted.iter().any(|admitted| admitted.contains(key)) {
            return true;
        }
        if places.is_free(class) {
            places.admitted[class.index()].insert(key.clone());
            return true;
        }
        let line = &mut places.line[class as usize];
        if !line.contains(key) {
            line.push_back(key.clone());
        }
        false
    }

    /// Holds `key` back and returns until when. The time is random, and drawn once for all keys that are
    /// held back together: a cause outside the process that kills it cannot know when the trials begin.
    pub(crate) fn hold_back(&self, key: &Key, now: Duration, probation: Duration, random: u64) -> Duration {
        let mut places = self.lock();
        if places.controls_end < now + probation {
            let spread = (probation * (CONTROL_PROBATIONS_MAX - 1)).as_millis() as u64;
            places.controls_end = now + probation + Duration::from_millis(random % (spread + 1));
        }
        places.controls.insert(key.clone());
        places.controls_end
    }

    /// Ends the control of `key`; returns the keys that may ask again.
    pub(crate) fn end_control(&self, key: &Key) -> Vec<Key> {
        let mut places = self.lock();
        places.controls.remove(key);
        places.next()
    }

    /// Gives up the place of `key`, wherever it is; returns the keys that may ask again.
    pub(crate) fn leave(&self, key: &Key) -> Vec<Key> {
        let mut places = self.lock();
        for admitted in &mut places.admitted {
            admitted.remove(key);
        }
        for line in &mut places.line {
            line.retain(|waiting| waiting != key);
        }
        places.controls.remove(key);
        places.next()
    }

    /// Returns how many keys wait in line. A takeover that is far ahead of the window pauses.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().line.iter().map(VecDeque::len).sum()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Places> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Places {
    fn is_free(&self, class: Class) -> bool {
        let [fresh, twice, alone] = &self.admitted;
        match class {
            Class::Alone | Class::Trial => {
                self.controls.is_empty() && fresh.is_empty() && twice.is_empty() && alone.is_empty()
            }
            Class::Acquitted => self.controls.is_empty() && self.is_free(Class::Fresh),
            Class::Fresh => alone.is_empty() && fresh.len() < class.places(),
            Class::Twice => alone.is_empty() && twice.len() < class.places(),
        }
    }

    /// Takes the keys for which there is room now out of the lines. The least suspicious go first.
    fn next(&mut self) -> Vec<Key> {
        let mut called = Vec::new();
        for class in Class::ALL {
            let taken = self.admitted[class.index()].len();
            let room = if self.is_free(class) { class.places().saturating_sub(taken) } else { 0 };
            // An entity runs alone only when no entity of the other classes is in line.
            let room = if class >= Class::Alone && !called.is_empty() { 0 } else { room };
            let line = &mut self.line[class as usize];
            called.extend(line.drain(..room.min(line.len())));
        }
        called
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> Key {
        Key::new("app", number.to_string()).unwrap()
    }

    /// W2
    #[test]
    fn an_entity_with_three_deaths_runs_alone() {
        let window = CrashWindow::default();
        assert!(window.admit(&key(1), Class::Twice));
        assert!(!window.admit(&key(2), Class::Alone));
        assert_eq!(window.leave(&key(1)), [key(2)]);
        assert!(window.admit(&key(2), Class::Alone));
        assert!(!window.admit(&key(3), Class::Alone));
        assert!(!window.admit(&key(4), Class::Fresh));
        assert_eq!(window.leave(&key(2)), [key(4)]);
        assert!(window.admit(&key(4), Class::Fresh));
        assert_eq!(window.leave(&key(4)), [key(3)]);
    }

    /// W2
    #[test]
    fn an_entity_that_asks_again_keeps_its_place() {
        let window = CrashWindow::default();
        assert!(window.admit(&key(1), Class::Twice));
        assert!(window.admit(&key(1), Class::Alone));
        assert!(!window.admit(&key(2), Class::Alone));
        assert_eq!(window.leave(&key(1)), [key(2)]);
    }

    #[test]
    fn the_windows_are_as_wide_as_stated() {
        let window = CrashWindow::default();
        assert!((0..1_024).all(|number| window.admit(&key(number), Class::Fresh)));
        assert!(!window.admit(&key(2_000), Class::Fresh));
        assert!((3_000..3_032).all(|number| window.admit(&key(number), Class::Twice)));
        assert!(!window.admit(&key(4_000), Class::Twice));
        assert_eq!(window.waiting(), 2);
    }

    const MINUTE: Duration = Duration::from_secs(60);

    /// W2
    #[test]
    fn nobody_runs_alone_while_somebody_is_held_back_and_the_others_run() {
        let window = CrashWindow::default();
        window.hold_back(&key(1), Duration::ZERO, MINUTE, 7);
        assert!(!window.admit(&key(2), Class::Alone));
        assert!(window.admit(&key(3), Class::Fresh) && window.admit(&key(4), Class::Twice));
        assert_eq!((window.leave(&key(3)), window.leave(&key(4))), (vec![], vec![]));
        assert!(!window.admit(&key(5), Class::Trial));
        assert_eq!(window.end_control(&key(1)), [key(2)]);
        assert!(window.admit(&key(2), Class::Alone));
        assert_eq!(window.leave(&key(2)), [key(5)], "on trial after those who were there twice");
    }

    /// W2
    #[test]
    fn a_control_lasts_one_to_ten_probations_and_those_who_are_held_back_together_end_it_together() {
        let now = Duration::from_secs(5);
        for random in [0, 1, 7_000_000, u64::MAX - 1] {
            let window = CrashWindow::default();
            let end = window.hold_back(&key(1), now, MINUTE, random);
            assert!((now + MINUTE..=now + 10 * MINUTE).contains(&end));
            assert_eq!(window.hold_back(&key(2), end - MINUTE, MINUTE, random + 1), end);
            assert!(window.hold_back(&key(3), end, MINUTE, 0) >= end + MINUTE, "nobody's is shorter");
        }
    }
}
