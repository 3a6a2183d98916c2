//! The outside effects of the steps of errands, as the steps report them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::sim::{
    recording::log::lock,
    workflows::{Kind, Trip},
};

/// Every execution of a step, by its task, and the events and restarts of callers.
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
    /// Notes that an execution begins to act.
    pub fn begins(&self, task: u64) {
        *lock(&self.begun).entry(task).or_default() += 1;
    }

    /// Notes that an execution succeeds, and makes a return value that no other execution has.
    pub fn returns(&self, task: u64) -> u64 {
        let value = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        lock(&self.returned).insert(value, task);
        value
    }

    /// Notes that a caller sends an event.
    pub fn sends(&self, number: u64, kind: Kind) {
        lock(&self.sent).insert(number, kind);
    }

    /// The type of an event that a caller or a transaction has sent.
    pub fn kind_of(&self, number: u64) -> Option<Kind> {
        lock(&self.sent).get(&number).copied()
    }

    /// Notes that an event was delivered to a body, perhaps in a turn that never becomes durable.
    pub fn hears(&self, number: u64) {
        lock(&self.heard).insert(number);
    }

    /// Whether an event was delivered to a body.
    pub fn was_heard(&self, number: u64) -> bool {
        lock(&self.heard).contains(&number)
    }

    /// Notes that a caller restarts a run with this input.
    pub fn restarts(&self, trip: &Trip) {
        lock(&self.restarts).push(trip.clone());
    }

    /// The inputs with which callers have restarted runs.
    pub fn restarted(&self) -> Vec<Trip> {
        lock(&self.restarts).clone()
    }

    /// Makes a value with which a caller replaces the result of a step (`restart_from`).
    pub fn gives(&self) -> u64 {
        let value = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        lock(&self.given).insert(value);
        value
    }

    /// Whether a caller has replaced the result of some step with this value.
    pub fn was_given(&self, value: u64) -> bool {
        lock(&self.given).contains(&value)
    }

    /// How often a task has acted.
    pub fn count(&self, task: u64) -> u32 {
        lock(&self.begun).get(&task).copied().unwrap_or(0)
    }

    /// The task with an execution that returned this value.
    pub fn task_of(&self, value: u64) -> Option<u64> {
        lock(&self.returned).get(&value).copied()
    }
}
