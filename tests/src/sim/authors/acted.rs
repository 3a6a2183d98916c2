//! What the steps of errands did outside, as they say themselves.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::sim::{
    chronicle::lock,
    errands::{Kind, Trip},
};

/// Every execution, by its task.
#[derive(Default)]
pub struct Acted {
    begun: Mutex<BTreeMap<u64, u32>>,
    returned: Mutex<BTreeMap<u64, u64>>,
    last: AtomicU64,
    sent: Mutex<BTreeMap<u64, Kind>>,
    heard: Mutex<BTreeSet<u64>>,
    restarts: Mutex<Vec<Trip>>,
    given: Mutex<BTreeSet<u64>>,
}

impl Acted {
    /// An execution acts.
    pub fn begins(&self, task: u64) {
        *lock(&self.begun).entry(task).or_default() += 1;
    }

    /// An execution ends well; what it returns, which no other does.
    pub fn returns(&self, task: u64) -> u64 {
        let value = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        lock(&self.returned).insert(value, task);
        value
    }

    /// A caller sends an event.
    pub fn sends(&self, number: u64, kind: Kind) {
        lock(&self.sent).insert(number, kind);
    }

    /// Of which type an event is that somebody has sent.
    pub fn kind_of(&self, number: u64) -> Option<Kind> {
        lock(&self.sent).get(&number).copied()
    }

    /// A body is told an event, perhaps in a turn that never becomes durable.
    pub fn hears(&self, number: u64) {
        lock(&self.heard).insert(number);
    }

    /// Whether a body was told this event.
    pub fn was_heard(&self, number: u64) -> bool {
        lock(&self.heard).contains(&number)
    }

    /// A caller restarts a run with this.
    pub fn restarts(&self, trip: &Trip) {
        lock(&self.restarts).push(trip.clone());
    }

    /// What callers have restarted runs with.
    pub fn restarted(&self) -> Vec<Trip> {
        lock(&self.restarts).clone()
    }

    /// A caller says what a step is to have returned.
    pub fn gives(&self) -> u64 {
        let value = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        lock(&self.given).insert(value);
        value
    }

    /// Whether a caller has said that some step is to have returned this.
    pub fn was_given(&self, value: u64) -> bool {
        lock(&self.given).contains(&value)
    }

    /// How often a task has acted.
    pub fn count(&self, task: u64) -> u32 {
        lock(&self.begun).get(&task).copied().unwrap_or(0)
    }

    /// Whose execution has returned this.
    pub fn task_of(&self, value: u64) -> Option<u64> {
        lock(&self.returned).get(&value).copied()
    }
}
