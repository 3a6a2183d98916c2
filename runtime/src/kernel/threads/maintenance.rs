//! The janitor: sweeps deleted data, adapts entities whose definition changed, and looks for entities that
//! nothing will wake, which would be a bug of ours (K6, E11, R7). It also evicts idle entities from memory,
//! even while the store does not answer (W8).

use std::sync::Arc;

use crate::{
    Entity,
    kernel::{
        state::{mail::Mail, shared::Shared},
        util::race::race,
    },
    store::{Query, StoreError},
};

/// How many rows one sweep deletes, and how many entities one page lists.
const SLICE: usize = 1_000;

impl Shared {
    pub(crate) async fn tidy_for_ever(self: Arc<Self>) {
        race(self.clean_for_ever(), self.evict_for_ever()).await;
    }

    async fn clean_for_ever(&self) {
        let mut adapted = false;
        loop {
            let soon = self.driver.monotonic() + self.options.sweep_every;
            race(self.closed(), self.driver.sleep_until(soon)).await;
            if self.is_closing() || self.is_closed() {
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
        while !self.is_closing() && self.store()?.sweep(self.time.now(), SLICE).await? >= SLICE {}
        Ok(())
    }

    /// Wakes and counts entities that need a wake source and have none.
    async fn reconcile(&self) -> Result<(), StoreError> {
        let stuck = Query { stuck: true, limit: SLICE, ..Query::default() };
        self.each(stuck, |shared, entity| {
            shared.with(|core, _| {
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
        for definition in self.registry.iter() {
            let changed = Query {
                definition: Some(definition.name.clone()),
                config_other_than: Some(definition.fingerprint()),
                limit: SLICE,
                ..Query::default()
            };
            self.each(changed, |shared, entity| shared.post(&entity.key, Mail::Relist)).await?;
        }
        Ok(())
    }

    async fn each(&self, mut query: Query, deal: impl Fn(&Self, &Entity)) -> Result<(), StoreError> {
        loop {
            let page = self.store()?.list(&query).await?;
            page.entities.iter().for_each(|entity| deal(self, entity));
            query.after = page.next;
            if query.after.is_none() || self.is_closing() {
                return Ok(());
            }
            self.wait_for_room().await;
        }
    }
}
