//! What the whole store suffers from for a while: a full disk, or no connection.

use std::{sync::Mutex, time::Duration};

use drystone_runtime::store::{StoreError, StoreErrorKind};

use super::chronicle::lock;

/// Until when what lasts.
#[derive(Default)]
pub struct Weather(Mutex<Spells>);

#[derive(Default)]
struct Spells {
    full_until: Duration,
    away_until: Duration,
}

impl Weather {
    /// The disk is full until then.
    pub fn fill(&self, until: Duration) {
        lock(&self.0).full_until = until;
    }

    /// The store is away until then.
    pub fn cut(&self, until: Duration) {
        lock(&self.0).away_until = until;
    }

    /// What a call meets now; a full disk can still be read.
    pub fn meets(&self, writes: bool, now: Duration) -> Result<(), StoreError> {
        let spells = lock(&self.0);
        if now < spells.away_until {
            return Err(StoreError::new(StoreErrorKind::Unavailable, "away"));
        }
        if writes && now < spells.full_until {
            return Err(StoreError::new(StoreErrorKind::Full, "full"));
        }
        Ok(())
    }
}
