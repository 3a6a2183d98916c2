//! The children of all runs, and the messages between them and their parents.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use drystone_runtime::store::Write;

use crate::sim::workflows::End;

/// All children.
#[derive(Default)]
pub struct Family {
    begun: BTreeSet<Bytes>,
    cancelled: BTreeSet<Bytes>,
    ends: BTreeMap<Bytes, Vec<End>>,
    restarted: BTreeSet<Bytes>,
}

impl Family {
    /// Takes the messages of a write to children. Returns a child that the write begins although it was
    /// begun before.
    pub fn says(&mut self, write: &Write) -> Option<Bytes> {
        let said = |verb: &'static str| {
            let own = write.sent.iter().filter(move |sent| sent.verb == verb);
            own.map(|sent| sent.to.key.clone())
        };
        self.cancelled.extend(said("cancel"));
        let again = said("child:begin").find(|key| self.begun.contains(key));
        self.begun.extend(said("child:begin"));
        again
    }

    /// Notes the end of a run.
    pub fn ended(&mut self, key: &Bytes, end: End) {
        self.ends.entry(key.clone()).or_default().push(end);
    }

    /// Notes that a run has begun a new generation.
    pub fn restarts(&mut self, key: &Bytes) {
        self.restarted.insert(key.clone());
    }

    /// Whether a run has ever begun a new generation.
    pub fn was_restarted(&self, key: &[u8]) -> bool {
        self.restarted.contains(key)
    }

    /// All ends that runs of a key ever had.
    pub fn ends(&self, key: &[u8]) -> &[End] {
        self.ends.get(key).map_or(&[], Vec::as_slice)
    }

    /// Whether a child was begun.
    pub fn has_begun(&self, key: &[u8]) -> bool {
        self.begun.contains(key)
    }

    /// Whether a parent has released the child and sent it a `cancel`.
    pub fn is_cancelled(&self, key: &[u8]) -> bool {
        self.cancelled.contains(key)
    }

    /// All children that were ever begun.
    pub fn begun(&self) -> impl Iterator<Item = &Bytes> {
        self.begun.iter()
    }
}
