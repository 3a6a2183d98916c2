//! Which keys are in memory, by when they may leave it (W8).
//!
//! Time is counted in ticks, which the janitor makes. A key lies in the bucket of the tick at which it may leave, as far as
//! was known when it was put there. Using it does not move it, so that a use costs a number in its slot and nothing
//! here: when its tick has come it is looked at, and leaves, or is put where it now belongs. So each key is looked at
//! once in the time that it may be idle, however often it is used, and there is no timer of its own.

use std::{collections::VecDeque, sync::Arc};

use tokio::sync::Notify;

use crate::Key;

/// How many ticks the time is long that a key may be idle.
pub(crate) const TICKS: u32 = 5;

/// How many ticks after its last use a key may leave: one more, for the tick in which it was used had begun before.
const REST: u64 = TICKS as u64 + 1;

#[derive(Debug)]
pub(crate) struct Residents {
    tick: u64,
    /// Those who may leave now, those who may in the next tick, and so on.
    buckets: VecDeque<VecDeque<Key>>,
    /// Rung when somebody comes into an empty memory: from then on there must be ticks.
    pub(crate) bell: Arc<Notify>,
}

impl Residents {
    pub(crate) fn new() -> Self {
        let buckets = (0..=REST).map(|_| VecDeque::new()).collect();
        Self { tick: 0, buckets, bell: Arc::new(Notify::new()) }
    }

    /// The number of the tick that it is.
    pub(crate) fn tick(&self) -> u64 {
        self.tick
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.buckets.iter().all(VecDeque::is_empty)
    }

    /// Another tick has begun.
    pub(crate) fn begin_tick(&mut self) {
        self.tick += 1;
        // Those who were due and not looked at yet still come first.
        let mut due = self.buckets.pop_front().unwrap_or_default();
        self.buckets.push_back(VecDeque::new());
        if let Some(next) = self.buckets.front_mut() {
            due.append(next);
            *next = due;
        }
    }

    /// Puts a key that is nowhere yet, or was taken, where one belongs that was last used in this tick.
    pub(crate) fn put(&mut self, key: Key, used_at: u64) {
        if self.is_empty() {
            self.bell.notify_one();
        }
        let place = (used_at + REST).saturating_sub(self.tick).min(REST);
        self.buckets[place as usize].push_back(key);
    }

    /// Takes one that is to be looked at now.
    pub(crate) fn take_due(&mut self) -> Option<Key> {
        self.buckets.front_mut()?.pop_front()
    }

    /// Takes the one whose look is next, due or not.
    pub(crate) fn take_first(&mut self) -> Option<Key> {
        self.buckets.iter_mut().find_map(VecDeque::pop_front)
    }

    /// Whether one that was last used in this tick has been idle for long enough.
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
