//! Versions of a piece of code that a run goes through (R5).
//!
//! `flow.version` is no operation: nothing is awaited and nothing is journalled, so a call that is added to
//! the code does not shift what was recorded. The version that a run takes at its first pass is stored in
//! its record, in the commit of the turn in which the run passes.
//!
//! *A run is past a place* if a replay comes there and no version is recorded. Everything that a replay
//! does was done before, up to the point where the run rests. Such a run takes the lowest version there,
//! the code before the change, and is pinned to it.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
};

use crate::workflow::{
    Divergence,
    replay::core::{Core, Stop},
};

/// The versions that a run is pinned to.
#[derive(Debug, Default)]
pub(in crate::workflow) struct Versions {
    pinned: BTreeMap<String, u32>,
    /// Whether the body is being replayed.
    pub(in crate::workflow) is_replay: bool,
    /// Whether some versions are not in the record yet.
    is_changed: bool,
    /// The ids that were asked for while entries kept from an older generation are delivered.
    kept: BTreeSet<String>,
    keeps: bool,
}

/// A run is pinned to a version that its code does not support.
#[derive(Clone, Debug)]
pub(in crate::workflow) struct Unsupported {
    id: String,
    pinned: u32,
    supported: (u32, u32),
}

impl Unsupported {
    pub(in crate::workflow) fn divergence(&self, entry: u64) -> Divergence {
        Divergence::unsupported(entry, &self.id, self.pinned, self.supported)
    }
}

impl Versions {
    /// Sets the versions that the record has.
    pub(in crate::workflow) fn pin(&mut self, recorded: &BTreeMap<String, u32>) {
        self.pinned.clone_from(recorded);
    }

    /// All versions, if the record does not have all of them.
    pub(in crate::workflow) fn take_changed(&mut self) -> Option<BTreeMap<String, u32>> {
        std::mem::take(&mut self.is_changed).then(|| self.pinned.clone())
    }

    /// From here on, ids that are asked for keep their versions.
    pub(in crate::workflow) fn keep_what_is_asked(&mut self) {
        self.keeps = true;
    }

    /// Forgets the versions of ids that were not asked for until here: the run chooses them again.
    pub(in crate::workflow) fn choose_anew(&mut self) {
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

/// The version to which the run is pinned at this place. An unsupported version stops the run: until the
/// body rests, it continues with the lowest version, and its actions are ignored.
pub(in crate::workflow) fn pinned(core: &Core, id: &str, supported: &RangeInclusive<u32>) -> u32 {
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
