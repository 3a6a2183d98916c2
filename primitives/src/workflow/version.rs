//! Which version of a piece of its code a run goes through (R5).
//!
//! It is no operation: nothing is awaited and nothing journalled, so that a call that is put into the code shifts nothing of
//! what was recorded. What a run takes at its first passing is kept in its record, in the commit of the turn in which it
//! passes.
//!
//! *A run has gone past a place* if a replay comes there and nothing is recorded: whatever a replay does was done before, up to
//! the point where the run rests. So it takes the lowest version there, the one before the change, and is pinned to it.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
};

use super::{
    Divergence,
    core::{Core, Stop},
};

/// The versions that a run is pinned to.
#[derive(Debug, Default)]
pub(super) struct Versions {
    pinned: BTreeMap<String, u32>,
    /// Whether the body does what it did before.
    pub(super) is_replay: bool,
    /// Whether some are not in the record yet.
    is_changed: bool,
    /// What the part of the code has asked for that is kept of an older generation, while it is told.
    kept: BTreeSet<String>,
    keeps: bool,
}

/// A run is pinned to a version that its code does not have.
#[derive(Clone, Debug)]
pub(super) struct Unsupported {
    id: String,
    pinned: u32,
    supported: (u32, u32),
}

impl Unsupported {
    pub(super) fn divergence(&self, entry: u64) -> Divergence {
        Divergence::unsupported(entry, &self.id, self.pinned, self.supported)
    }
}

impl Versions {
    /// Those that the record has.
    pub(super) fn pin(&mut self, recorded: &BTreeMap<String, u32>) {
        self.pinned.clone_from(recorded);
    }

    /// All of them, if the record does not have them.
    pub(super) fn take_changed(&mut self) -> Option<BTreeMap<String, u32>> {
        std::mem::take(&mut self.is_changed).then(|| self.pinned.clone())
    }

    /// From here on what is asked for stays pinned.
    pub(super) fn keep_what_is_asked(&mut self) {
        self.keeps = true;
    }

    /// What was not asked for up to here is chosen anew.
    pub(super) fn choose_anew(&mut self) {
        let (kept, before) = (std::mem::take(&mut self.kept), self.pinned.len());
        self.pinned.retain(|id, _| kept.contains(id));
        self.keeps = false;
        self.is_changed |= self.pinned.len() < before;
    }

    fn of(&mut self, id: &str, supported: &RangeInclusive<u32>) -> u32 {
        if self.keeps {
            self.kept.insert(id.to_owned());
        }
        if let Some(pinned) = self.pinned.get(id) {
            return *pinned;
        }
        let version = if self.is_replay { *supported.start() } else { *supported.end() };
        self.pinned.insert(id.to_owned(), version);
        self.is_changed = true;
        version
    }
}

/// The version that the run is pinned to here. One that is not supported stops the run: until the body rests it goes on with
/// another, and nothing of that counts.
pub(super) fn pinned(core: &Core, id: &str, supported: &RangeInclusive<u32>) -> u32 {
    let (lowest, highest) = (*supported.start(), *supported.end());
    assert!(!supported.is_empty(), "`flow.version({id:?}, {lowest}..={highest})` has no version: write `1..=2`");
    let version = core.with_versions(|versions| versions.of(id, supported));
    if !supported.contains(&version) {
        let supported = (lowest, highest);
        core.stop(Stop::Unsupported(Unsupported { id: id.to_owned(), pinned: version, supported }));
        return lowest;
    }
    version
}
