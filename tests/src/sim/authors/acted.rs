//! What the steps of errands did outside, as they say themselves.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::sim::{chronicle::lock, errands::Kind};

/// Every execution, by its task.
#[derive(Default)]
pub struct Acted {
    begun: Mutex<BTreeMap<u64, u32>>,
    returned: Mutex<BTreeMap<u64, u64>>,
    last: AtomicU64,
    sent: Mutex<BTreeMap<u64, Kind>>,
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

    /// How often a task has acted.
    pub fn count(&self, task: u64) -> u32 {
        lock(&self.begun).get(&task).copied().unwrap_or(0)
    }

    /// Whose execution has returned this.
    pub fn task_of(&self, value: u64) -> Option<u64> {
        lock(&self.returned).get(&value).copied()
    }
}
