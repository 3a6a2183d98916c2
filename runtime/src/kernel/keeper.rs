//! The keeper: takes leases, renews them on a thread of its own, and tells the time (R3, fC10).

use std::{sync::Arc, time::Duration};

use super::{core::Released, lease::Held, race::race, shared::Shared};
use crate::{
    Epoch, Partition,
    store::{Claimed, StoreError, Want},
};

impl Shared {
    pub(crate) async fn keep_for_ever(self: Arc<Self>) {
        let mut failures = 0;
        loop {
            let pause = match failures {
                0 => self.options.renew_every,
                _ => self.options.renew_every / 10,
            };
            race(self.closed.notified(), self.driver.sleep_until(self.driver.monotonic() + pause)).await;
            if self.is_closed() {
                return;
            }
            failures = match self.renew().await {
                Ok(()) => 0,
                Err(error) => {
                    self.store_trouble(&error);
                    failures + 1
                }
            };
        }
    }

    async fn renew(&self) -> Result<(), StoreError> {
        self.give_up_worn();
        let held = self.held();
        if !held.is_empty() {
            let asked_at = self.driver.monotonic();
            let want = Want::Renew { held: held.clone(), lease: self.options.lease, now: self.time.now() };
            let claimed = self.store.claim(&self.worker, want).await?;
            self.renewed(&held, &claimed, asked_at);
        }
        self.take().await.map(drop)
    }

    /// Takes what is free, up to this worker's share; what was taken is recovered by the scout.
    pub(crate) async fn take(&self) -> Result<Vec<Arc<Held>>, StoreError> {
        let at_most = self.options.partitions_max.saturating_sub(self.held().len() as u32);
        if at_most == 0 || self.is_closing() {
            return Ok(Vec::new());
        }
        let asked_at = self.driver.monotonic();
        let claimed = self.store.claim(&self.worker, Want::Take { at_most, lease: self.options.lease }).await?;
        self.told(&claimed);
        let until = self.lease_until(asked_at);
        let taken: Vec<Arc<Held>> = claimed.leases.iter().map(|lease| Arc::new(Held::new(*lease, until))).collect();
        if !taken.is_empty() {
            self.took_over();
            let mut core = self.lock();
            core.leases.extend(taken.iter().map(|lease| (lease.partition, lease.clone())));
            core.near.forget_horizon();
            core.to_recover.extend(taken.iter().map(|lease| lease.partition));
            drop(core);
            self.scout.notify_one();
            self.ringer.notify_one();
        }
        Ok(taken)
    }

    /// We stop a tenth before the store would give the lease to another.
    fn lease_until(&self, asked_at: Duration) -> Duration {
        asked_at + self.options.lease / 10 * 9
    }

    fn told(&self, claimed: &Claimed) {
        self.set_partitions(claimed.partitions);
        self.time.told(claimed.now);
        self.time.told(claimed.highest);
        self.lock().others = claimed.others.iter().cloned().collect();
        self.ringer.notify_one();
    }

    pub(crate) fn held(&self) -> Vec<(Partition, Epoch)> {
        self.lock().leases.values().map(|lease| (lease.partition, lease.epoch)).collect()
    }

    fn renewed(&self, held: &[(Partition, Epoch)], claimed: &Claimed, asked_at: Duration) {
        self.told(claimed);
        let mut released = Released::default();
        let mut core = self.lock();
        for (partition, epoch) in held {
            let kept = claimed.leases.iter().any(|lease| lease.partition == *partition && lease.epoch == *epoch);
            match core.leases.get(partition).filter(|lease| lease.epoch == *epoch) {
                Some(lease) if kept => lease.renew(self.lease_until(asked_at)),
                Some(_) => core.lose(*partition, self, &mut released),
                None => {}
            }
        }
        drop(core);
        self.let_go(released);
    }

    /// An epoch whose versions run out is given up; taking the partition again gives a new one.
    fn give_up_worn(&self) {
        let mut released = Released::default();
        let mut core = self.lock();
        let worn: Vec<Partition> =
            core.leases.values().filter(|lease| lease.is_worn()).map(|lease| lease.partition).collect();
        worn.into_iter().for_each(|partition| core.lose(partition, self, &mut released));
        drop(core);
        self.let_go(released);
    }

    pub(crate) async fn release(&self, clean: bool) -> Result<(), StoreError> {
        let want = Want::Release { held: self.held(), clean, now: self.time.now() };
        self.store.claim(&self.worker, want).await.map(drop)
    }
}
