//! Which runs have begun which, and what the two have told one another.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use drystone_runtime::store::Write;

use crate::sim::errands::End;

/// All children.
#[derive(Default)]
pub struct Family {
    begun: BTreeSet<Bytes>,
    cancelled: BTreeSet<Bytes>,
    ends: BTreeMap<Bytes, Vec<End>>,
    restarted: BTreeSet<Bytes>,
}

impl Family {
    /// Takes what a write says to children; which it begins again.
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

    /// A run has ended so.
    pub fn ended(&mut self, key: &Bytes, end: End) {
        self.ends.entry(key.clone()).or_default().push(end);
    }

    /// A run has begun another generation.
    pub fn restarts(&mut self, key: &Bytes) {
        self.restarted.insert(key.clone());
    }

    /// Whether a run has ever begun another generation.
    pub fn was_restarted(&self, key: &[u8]) -> bool {
        self.restarted.contains(key)
    }

    /// How runs of a key have ended, of all time.
    pub fn ends(&self, key: &[u8]) -> &[End] {
        self.ends.get(key).map_or(&[], Vec::as_slice)
    }

    /// Whether a child was begun.
    pub fn has_begun(&self, key: &[u8]) -> bool {
        self.begun.contains(key)
    }

    /// Whether a parent has let a child go, and told it so.
    pub fn is_cancelled(&self, key: &[u8]) -> bool {
        self.cancelled.contains(key)
    }

    /// All children that were begun.
    pub fn begun(&self) -> impl Iterator<Item = &Bytes> {
        self.begun.iter()
    }
}
