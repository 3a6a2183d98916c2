//! The keys in memory, by the time when they may leave it (W8).
//!
//! Time is counted in ticks of the maintenance. A key lies in the bucket of the tick at which it may
//! leave, as far as known when the key was put there. Use does not move the key: a use only sets a number
//! in the slot of the key. When the tick comes, the key is checked, and leaves memory or moves to the
//! bucket where it belongs now. So each key is checked once per idle period, however often it is used, and
//! needs no timer.

use std::{collections::VecDeque, sync::Arc};

use tokio::sync::Notify;

use crate::Key;

/// How many ticks a key must be idle before it may leave.
pub(crate) const TICKS: u32 = 5;

/// How many ticks after its last use a key may leave: one more, because the tick of the last use had
/// already begun.
const REST: u64 = TICKS as u64 + 1;

#[derive(Debug)]
pub(crate) struct Residents {
    tick: u64,
    /// The keys that may leave now, the keys that may leave in the next tick, and so on.
    buckets: VecDeque<VecDeque<Key>>,
    /// Notified when a key comes into an empty memory: from then on ticks are needed.
    pub(crate) bell: Arc<Notify>,
}

impl Residents {
    pub(crate) fn new() -> Self {
        let buckets = (0..=REST).map(|_| VecDeque::new()).collect();
        Self { tick: 0, buckets, bell: Arc::new(Notify::new()) }
    }

    /// Returns the number of the current tick.
    pub(crate) fn tick(&self) -> u64 {
        self.tick
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.buckets.iter().all(VecDeque::is_empty)
    }

    /// Begins the next tick.
    pub(crate) fn begin_tick(&mut self) {
        self.tick += 1;
        // Keys that were due before and are not checked yet come first.
        let mut due = self.buckets.pop_front().unwrap_or_default();
        self.buckets.push_back(VecDeque::new());
        if let Some(next) = self.buckets.front_mut() {
            due.append(next);
            *next = due;
        }
    }

    /// Adds a key that is in no bucket and was last used in the tick `used_at`.
    pub(crate) fn put(&mut self, key: Key, used_at: u64) {
        if self.is_empty() {
            self.bell.notify_one();
        }
        let place = (used_at + REST).saturating_sub(self.tick).min(REST);
        self.buckets[place as usize].push_back(key);
    }

    /// Takes a key that is due for a check.
    pub(crate) fn take_due(&mut self) -> Option<Key> {
        self.buckets.front_mut()?.pop_front()
    }

    /// Takes the key whose check comes next, due or not.
    pub(crate) fn take_first(&mut self) -> Option<Key> {
        self.buckets.iter_mut().find_map(VecDeque::pop_front)
    }

    /// Whether a key that was last used in the tick `used_at` has been idle for long enough.
    pub(crate) fn is_over(&self, used_at: u64) -> bool {
        used_at + REST <= self.tick
    }

    pub(crate) fn retain(&mut self, stays: impl Fn(&Key) -> bool) {
        self.buckets.iter_mut().for_each(|bucket| bucket.retain(&stays));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u64) -> Key {
        Key::new("app", number.to_string()).unwrap()
    }

    fn pass(residents: &mut Residents, ticks: u64) {
        (0..ticks).for_each(|_| residents.begin_tick());
    }

    /// W8
    #[test]
    fn a_key_is_looked_at_once_when_its_rest_may_be_over() {
        let mut residents = Residents::new();
        residents.put(key(1), 0);
        pass(&mut residents, REST - 1);
        assert_eq!((residents.take_due(), residents.is_over(0)), (None, false));
        pass(&mut residents, 1);
        assert_eq!((residents.take_due(), residents.is_over(0)), (Some(key(1)), true));
        assert_eq!((residents.take_due(), residents.is_empty()), (None, true));
    }

    #[test]
    fn one_that_was_used_waits_from_then_on() {
        let mut residents = Residents::new();
        residents.put(key(1), 0);
        pass(&mut residents, REST);
        let taken = residents.take_due().unwrap();
        assert!(!residents.is_over(2));
        residents.put(taken, 2);
        pass(&mut residents, 1);
        assert_eq!(residents.take_due(), None);
        pass(&mut residents, 1);
        assert_eq!(residents.take_due(), Some(key(1)));
    }

    #[test]
    fn whoever_was_due_and_not_looked_at_is_still_due_and_first() {
        let mut residents = Residents::new();
        residents.put(key(1), 0);
        residents.begin_tick();
        residents.put(key(2), 1);
        pass(&mut residents, REST);
        assert_eq!(
            [residents.take_due(), residents.take_due(), residents.take_due()],
            [Some(key(1)), Some(key(2)), None]
        );
    }

    #[test]
    fn if_there_is_no_room_whoever_is_due_first_is_taken_first() {
        let mut residents = Residents::new();
        residents.put(key(1), 0);
        residents.begin_tick();
        residents.put(key(2), 1);
        assert_eq!([residents.take_first(), residents.take_first()], [Some(key(1)), Some(key(2))]);
        assert!(residents.is_empty());
    }

    #[test]
    fn the_bell_rings_when_memory_is_no_longer_empty() {
        let mut residents = Residents::new();
        let bell = residents.bell.clone();
        let has_rung = || {
            let mut notified = std::pin::pin!(bell.notified());
            notified.as_mut().enable()
        };
        assert!(!has_rung());
        residents.put(key(1), 0);
        assert!(has_rung());
        residents.put(key(2), 0);
        assert!(!has_rung());
    }
}
