//! Maintenance: sweeps deleted data, adapts entities whose definition changed, and looks for entities that
//! nothing will wake, which would be a bug of ours (K6, E11, R7). It also evicts idle entities from memory,
//! even while the store does not answer (W8).

use std::time::Duration;

use crate::{
    Entity,
    kernel::{
        state::{mail::Mail, residents::TICKS, shared::Shared},
        util::race::race,
    },
    store::{Query, StoreError},
};

/// How many rows one sweep deletes, and how many entities one page lists.
const SLICE: usize = 1_000;

/// How many keys are checked before the lock is released.
const CHECKED_AT_ONCE: usize = 256;

/// How long the lock stays free between two slices.
const BREATH: Duration = Duration::from_millis(1);

/// The shortest and the longest tick. Without an upper bound the clock could not represent the end of a
/// tick.
const TICK_MIN: Duration = Duration::from_millis(10);
const TICK_MAX: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The loop of the maintenance.
pub(crate) struct Maintenance<'a> {
    shared: &'a Shared,
}

impl<'a> Maintenance<'a> {
    pub(crate) fn new(shared: &'a Shared) -> Self {
        Self { shared }
    }

    /// Works until the kernel is closing.
    pub(crate) async fn run(&self) {
        race(self.clean(), self.evict()).await;
    }

    async fn clean(&self) {
        let mut adapted = false;
        loop {
            let soon = self.shared.driver.monotonic() + self.shared.options.sweep_every;
            race(self.shared.closed(), self.shared.driver.sleep_until(soon)).await;
            if self.shared.is_closing() || self.shared.is_closed() {
                return;
            }
            // An error is ignored here: the next pass tries again, and other loops report trouble with the
            // store.
            let _ = self.sweep_all().await;
            let _ = self.reconcile().await;
            adapted = adapted || self.adapt().await.is_ok();
        }
    }

    async fn sweep_all(&self) -> Result<(), StoreError> {
        while !self.shared.is_closing() && self.shared.store()?.sweep(self.shared.time.now(), SLICE).await? >= SLICE {}
        Ok(())
    }

    /// Wakes and counts entities that need a wake source and have none.
    async fn reconcile(&self) -> Result<(), StoreError> {
        let stuck = Query { stuck: true, limit: SLICE, ..Query::default() };
        self.each(stuck, |entity| {
            self.shared.with(|core, _| {
                let awake = core.slots.get(&entity.key).is_some_and(|slot| slot.resident.as_ref().is_none_or(|resident| !resident.is_idle()));
                if awake || core.lease_of(&entity.key).is_err() {
                    return;
                }
                tracing::error!(key = %entity.key, status = %entity.status.word, "nothing would wake it; please report this as a bug of Drystone");
                core.counts.stuck += 1;
                core.post(&entity.key, Mail::Relist);
            });
        })
        .await
    }

    /// Wakes every entity whose definition changed since it last ran. The entity adapts when it is read.
    async fn adapt(&self) -> Result<(), StoreError> {
        for definition in self.shared.registry.iter() {
            let changed = Query {
                definition: Some(definition.name.clone()),
                config_other_than: Some(definition.fingerprint()),
                limit: SLICE,
                ..Query::default()
            };
            self.each(changed, |entity| self.shared.post(&entity.key, Mail::Relist)).await?;
        }
        Ok(())
    }

    async fn each(&self, mut query: Query, deal: impl Fn(&Entity)) -> Result<(), StoreError> {
        loop {
            let page = self.shared.store()?.list(&query).await?;
            page.entities.iter().for_each(&deal);
            query.after = page.next;
            if query.after.is_none() || self.shared.is_closing() {
                return Ok(());
            }
            self.shared.wait_for_room().await;
        }
    }

    /// Begins ticks while any key is in memory, and evicts the keys whose time has come.
    async fn evict(&self) {
        let bell = self.shared.lock().residents.bell.clone();
        let tick = (self.shared.options.evict_after / TICKS).clamp(TICK_MIN, TICK_MAX);
        loop {
            while self.shared.lock().residents.is_empty() {
                bell.notified().await;
            }
            let until = self.shared.driver.monotonic() + tick;
            // A sleep may end early. With a short tick, keys would seem idle for longer than they were.
            while self.shared.driver.monotonic() < until {
                self.shared.driver.sleep_until(until).await;
            }
            self.shared.lock().residents.begin_tick();
            while self.shared.with(|core, released| core.evict_idle(CHECKED_AT_ONCE, self.shared, released)) {
                self.shared.driver.sleep_until(self.shared.driver.monotonic() + BREATH).await;
            }
        }
    }
}
