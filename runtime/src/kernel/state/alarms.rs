//! The near horizon: alarms that ring soon, in memory. The store's due index is the timer wheel behind it
//! (A6).

use std::collections::{BTreeMap, HashMap};

use crate::{Entity, Key, Millis, Partition, kernel::util::hasher::Seeded};

/// The longest record that is kept with an alarm. A longer record is read again when its alarm rings, so
/// that the records of 65,536 alarms take 64 MiB at most.
const KEPT_BYTES_MAX: usize = 1_024;

/// Alarms up to the horizon, one per key. Alarms beyond the horizon are in the store alone.
#[derive(Debug)]
pub(crate) struct Near {
    by_time: BTreeMap<(Millis, Key), Option<Box<Entity>>>,
    by_key: HashMap<Key, Millis, Seeded>,
    /// Every alarm at or before the horizon, in the partitions held, is here.
    horizon: Millis,
    /// How often the horizon was forgotten. A scan that began earlier does not know the alarms that have
    /// come since.
    forgotten: u64,
    limit: usize,
    drew_nearer: bool,
}

impl Near {
    pub(crate) fn new(limit: usize, seed: Seeded) -> Self {
        Self {
            by_time: BTreeMap::new(),
            by_key: HashMap::with_hasher(seed),
            horizon: Millis(i64::MIN),
            forgotten: 0,
            limit,
            drew_nearer: false,
        }
    }

    pub(crate) fn horizon(&self) -> Millis {
        self.horizon
    }

    /// Moves the horizon forward: a scan has found every alarm up to here.
    pub(crate) fn extend(&mut self, horizon: Millis) {
        self.horizon = self.horizon.max(horizon);
    }

    /// Moves the horizon to just before this moment: the scan stopped here, and may not have read all
    /// alarms of this moment.
    pub(crate) fn stop_before(&mut self, horizon: Millis) {
        self.horizon = self.horizon.min(Millis(horizon.0.saturating_sub(1)));
    }

    /// Forgets the horizon: alarms may have come that are not here, so the store must be scanned from the
    /// beginning.
    pub(crate) fn forget_horizon(&mut self) {
        self.horizon = Millis(i64::MIN);
        self.forgotten += 1;
    }

    /// Returns how often the horizon was forgotten.
    pub(crate) fn forgotten(&self) -> u64 {
        self.forgotten
    }

    pub(crate) fn contains(&self, key: &Key) -> bool {
        self.by_key.contains_key(key)
    }

    /// Sets the alarm of `key`. `record` is the entity as it is stored, if the entity is not in memory
    /// elsewhere.
    pub(crate) fn set(&mut self, key: &Key, alarm: Option<Millis>, record: Option<Box<Entity>>) {
        self.remove(key);
        let Some(alarm) = alarm.filter(|alarm| *alarm <= self.horizon) else { return };
        self.by_key.insert(key.clone(), alarm);
        self.by_time.insert((alarm, key.clone()), record);
        if self.by_time.len() > self.limit {
            self.draw_nearer();
        }
    }

    /// Keeps the record of an entity that leaves memory, if the record is short: then the alarm rings
    /// without a read.
    pub(crate) fn keep(&mut self, key: &Key, record: Entity) {
        let Some(alarm) = self.by_key.get(key).filter(|alarm| record.alarm == Some(**alarm)) else { return };
        if record.weight() <= KEPT_BYTES_MAX
            && let Some(kept) = self.by_time.get_mut(&(*alarm, key.clone()))
        {
            *kept = Some(Box::new(record));
        }
    }

    /// Leaves the latest alarm to the store, because there are too many: the horizon comes nearer.
    fn draw_nearer(&mut self) {
        if let Some(((last, key), _)) = self.by_time.pop_last() {
            self.by_key.remove(&key);
            self.horizon = Millis(last.0.saturating_sub(1));
            self.drew_nearer = true;
        }
    }

    /// Whether alarms were left to the store since the last call. If so, the store must be scanned in time
    /// for them.
    pub(crate) fn drew_nearer(&mut self) -> bool {
        std::mem::take(&mut self.drew_nearer)
    }

    pub(crate) fn remove(&mut self, key: &Key) {
        if let Some(alarm) = self.by_key.remove(key) {
            self.by_time.remove(&(alarm, key.clone()));
        }
    }

    pub(crate) fn remove_partition(&mut self, partition: Partition, partitions: u32) {
        let lost: Vec<Key> = self
            .by_time
            .keys()
            .filter(|(_, key)| key.partition(partitions) == partition)
            .map(|(_, key)| key.clone())
            .collect();
        lost.iter().for_each(|key| self.remove(key));
    }

    /// Takes up to `limit` alarms that are due, oldest first (A4).
    pub(crate) fn take_due(&mut self, now: Millis, limit: usize) -> Vec<(Key, Option<Box<Entity>>)> {
        let mut due = Vec::new();
        while due.len() < limit
            && let Some(entry) = self.by_time.first_entry()
            && entry.key().0 <= now
        {
            let ((_, key), record) = entry.remove_entry();
            self.by_key.remove(&key);
            due.push((key, record));
        }
        due
    }

    /// Returns when the next alarm rings.
    pub(crate) fn next(&self) -> Option<Millis> {
        self.by_time.first_key_value().map(|((alarm, _), _)| *alarm)
    }

    pub(crate) fn has_room(&self, more: usize) -> bool {
        self.by_time.len() + more <= self.limit
    }

    pub(crate) fn len(&self) -> usize {
        self.by_time.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: i64) -> Key {
        Key::new("app", number.to_string()).unwrap()
    }

    fn near(limit: usize, horizon: i64) -> Near {
        let mut near = Near::new(limit, Seeded::new(7));
        near.extend(Millis(horizon));
        near
    }

    /// A1
    #[test]
    fn setting_an_alarm_replaces_the_one_before() {
        let mut near = near(8, 100);
        near.set(&key(1), Some(Millis(10)), None);
        near.set(&key(1), Some(Millis(20)), None);
        assert!(near.take_due(Millis(10), 8).is_empty());
        assert_eq!(near.take_due(Millis(20), 8).len(), 1);
        assert_eq!(near.next(), None);
    }

    /// A4
    #[test]
    fn the_oldest_ring_first_and_no_more_than_asked() {
        let mut near = near(8, 100);
        (1..=5).for_each(|at| near.set(&key(at), Some(Millis(at)), None));
        let first: Vec<_> = near.take_due(Millis(9), 2).into_iter().map(|(key, _)| key).collect();
        assert_eq!(first, [key(1), key(2)]);
        assert_eq!(near.next(), Some(Millis(3)));
    }

    /// A6
    #[test]
    fn memory_is_bounded_by_a_horizon_that_draws_nearer() {
        let mut near = near(3, 100);
        (1..=9).for_each(|at| near.set(&key(at), Some(Millis(at)), None));
        assert_eq!(near.len(), 3);
        assert!(near.horizon() < Millis(4));
        near.set(&key(50), Some(Millis(50)), None);
        assert!(!near.contains(&key(50)));
    }
}
