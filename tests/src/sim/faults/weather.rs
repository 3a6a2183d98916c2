//! Faults of the whole store that last for a while: a full disk, or no connection.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use drystone_runtime::store::{StoreError, StoreErrorKind};

use crate::sim::recording::log::lock;

/// The ends of the current faults, and the number of store calls under way.
#[derive(Default)]
pub struct Weather {
    spells: Mutex<Spells>,
    under_way: Arc<()>,
}

/// A guard: while it lives, a call of the store is under way.
pub struct UnderWay(#[expect(dead_code, reason = "it is counted by being there")] Arc<()>);

#[derive(Default)]
struct Spells {
    full_until: Duration,
    away_until: Duration,
}

impl Weather {
    /// Makes the disk full until this time.
    pub fn fill(&self, until: Duration) {
        lock(&self.spells).full_until = until;
    }

    /// Makes the store unreachable until this time.
    pub fn cut(&self, until: Duration) {
        lock(&self.spells).away_until = until;
    }

    /// Registers a call that begins.
    pub fn begin(&self) -> UnderWay {
        UnderWay(self.under_way.clone())
    }

    /// Whether no call is under way, neither of a living nor of a dead process.
    pub fn is_still(&self) -> bool {
        Arc::strong_count(&self.under_way) == 1
    }

    /// Returns the error that a call meets at this time. A full disk can still be read.
    pub fn meets(&self, writes: bool, now: Duration) -> Result<(), StoreError> {
        let spells = lock(&self.spells);
        if now < spells.away_until {
            return Err(StoreError::new(StoreErrorKind::Unavailable, "away"));
        }
        if writes && now < spells.full_until {
            return Err(StoreError::new(StoreErrorKind::Full, "full"));
        }
        Ok(())
    }
}
