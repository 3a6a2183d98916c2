//! What the whole store suffers from for a while: a full disk, or no connection.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use drystone_runtime::store::{StoreError, StoreErrorKind};

use super::chronicle::lock;

/// Until when what lasts, and how many calls are under way.
#[derive(Default)]
pub struct Weather {
    spells: Mutex<Spells>,
    under_way: Arc<()>,
}

/// While this lives, a call of the store is under way.
pub struct UnderWay(#[expect(dead_code, reason = "it is counted by being there")] Arc<()>);

#[derive(Default)]
struct Spells {
    full_until: Duration,
    away_until: Duration,
}

impl Weather {
    /// The disk is full until then.
    pub fn fill(&self, until: Duration) {
        lock(&self.spells).full_until = until;
    }

    /// The store is away until then.
    pub fn cut(&self, until: Duration) {
        lock(&self.spells).away_until = until;
    }

    /// A call begins.
    pub fn begin(&self) -> UnderWay {
        UnderWay(self.under_way.clone())
    }

    /// Whether no call is under way, of the living or the dead.
    pub fn is_still(&self) -> bool {
        Arc::strong_count(&self.under_way) == 1
    }

    /// What a call meets now; a full disk can still be read.
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
