//! Who may be taken up after a crash: many innocents at once, the suspicious few by few, the worst alone (W2).

use std::{
    collections::{BTreeSet, VecDeque},
    sync::{Mutex, PoisonError},
};

use crate::{Key, planted::Bug};

/// How suspicious an entity is, by how many crashes it was there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// None so far: 1,024 at once.
    Fresh,
    /// One: 32 at once.
    Twice,
    /// More: alone, with nobody else who was there.
    Alone,
}

impl Class {
    pub(crate) fn of(crashes: u8) -> Self {
        match crashes {
            0 => Self::Fresh,
            1 => Self::Twice,
            _ => Self::Alone,
        }
    }

    const fn places(self) -> usize {
        match self {
            Self::Fresh => 1_024,
            Self::Twice => 32,
            Self::Alone => 1,
        }
    }
}

/// The places that entities take while they are taken up, and the line before them.
#[derive(Debug, Default)]
pub(crate) struct Window(Mutex<Places>);

#[derive(Debug, Default)]
struct Places {
    seated: [BTreeSet<Key>; 3],
    line: [VecDeque<Key>; 3],
}

impl Window {
    /// Takes a place for `key`, or puts it in line: then it is woken when one is free, and asks again.
    pub(crate) fn admit(&self, key: &Key, class: Class) -> bool {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = class as usize;
        // Whoever is read again keeps its place, of whatever class: it would wait for itself otherwise.
        if places.seated.iter().any(|seated| seated.contains(key)) {
            return true;
        }
        if places.is_free(class) || Bug::InnocentExhausted.planted() {
            places.seated[index].insert(key.clone());
            return true;
        }
        if !places.line[index].contains(key) {
            places.line[index].push_back(key.clone());
        }
        false
    }

    /// Gives up the place of `key`, wherever it is; returns who may ask again.
    pub(crate) fn leave(&self, key: &Key) -> Vec<Key> {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for seated in &mut places.seated {
            seated.remove(key);
        }
        for line in &mut places.line {
            line.retain(|waiting| waiting != key);
        }
        places.next()
    }

    /// How many wait in line: a takeover that is far ahead of the window pauses.
    pub(crate) fn waiting(&self) -> usize {
        let places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        places.line.iter().map(VecDeque::len).sum()
    }
}

impl Places {
    fn is_free(&self, class: Class) -> bool {
        let [fresh, twice, alone] = &self.seated;
        match class {
            Class::Alone => fresh.is_empty() && twice.is_empty() && alone.is_empty(),
            Class::Fresh => alone.is_empty() && fresh.len() < class.places(),
            Class::Twice => alone.is_empty() && twice.len() < class.places(),
        }
    }

    /// Those first in line for whom there is room now; the least suspicious go first.
    fn next(&mut self) -> Vec<Key> {
        let mut called = Vec::new();
        for class in [Class::Fresh, Class::Twice, Class::Alone] {
            let taken = self.seated[class as usize].len();
            let room = if self.is_free(class) { class.places().saturating_sub(taken) } else { 0 };
            // Whoever is alone waits until nobody of the other classes is in line either.
            let room = if class == Class::Alone && !called.is_empty() { 0 } else { room };
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
    fn whoever_was_there_for_two_crashes_runs_alone() {
        let window = Window::default();
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
    fn whoever_asks_again_keeps_its_place() {
        let window = Window::default();
        assert!(window.admit(&key(1), Class::Twice));
        assert!(window.admit(&key(1), Class::Alone));
        assert!(!window.admit(&key(2), Class::Alone));
        assert_eq!(window.leave(&key(1)), [key(2)]);
    }

    #[test]
    fn the_windows_are_as_wide_as_stated() {
        let window = Window::default();
        assert!((0..1_024).all(|number| window.admit(&key(number), Class::Fresh)));
        assert!(!window.admit(&key(2_000), Class::Fresh));
        assert!((3_000..3_032).all(|number| window.admit(&key(number), Class::Twice)));
        assert!(!window.admit(&key(4_000), Class::Twice));
        assert_eq!(window.waiting(), 2);
    }
}
