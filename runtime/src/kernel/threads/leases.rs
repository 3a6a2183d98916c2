//! Takes leases, renews them on a thread of its own, and keeps the time (R3, fC10).

use std::{sync::Arc, time::Duration};

use crate::{
    Epoch, Partition,
    kernel::{
        state::{core::Released, lease::Held, shared::Shared},
        util::race::race,
    },
    store::{Claimed, StoreError, Want},
};

/// The leases of this worker, as the store gives them.
pub(crate) struct Leases<'a> {
    shared: &'a Shared,
}

impl<'a> Leases<'a> {
    pub(crate) fn new(shared: &'a Shared) -> Self {
        Self { shared }
    }

    /// Keeps the leases until the kernel has ended.
    pub(crate) async fn run(&self) {
        // This loop holds the store last: the store closes on this thread, which may block, and not where
        // a runtime is dropped.
        let _store = self.shared.store();
        let mut failures = 0;
        loop {
            let pause = match failures {
                0 => self.shared.options.renew_every,
                _ => self.shared.options.renew_every / 10,
            };
            race(self.shared.closed(), self.shared.driver.sleep_until(self.shared.driver.monotonic() + pause)).await;
            if self.shared.is_closed() {
                return;
            }
            failures = match self.renew().await {
                Ok(()) => 0,
                Err(error) => {
                    self.shared.store_trouble(&error);
                    failures + 1
                }
            };
        }
    }

    async fn renew(&self) -> Result<(), StoreError> {
        self.give_up_worn().await?;
        let held = self.held();
        if !held.is_empty() {
            let asked_at = self.shared.driver.monotonic();
            let want =
                Want::Renew { held: held.clone(), lease: self.shared.options.lease, now: self.shared.time.now() };
            let claimed = self.shared.store()?.claim(&self.shared.worker, want).await?;
            let orphans = self.renewed(&held, &claimed, asked_at);
            self.give_back(orphans).await?;
        }
        self.take().await.map(drop)
    }

    /// Takes free partitions, up to this worker's share. The scanner recovers the partitions that were taken.
    pub(crate) async fn take(&self) -> Result<Vec<Arc<Held>>, StoreError> {
        let held = self.held().len() as u32;
        let at_most = self.shared.options.partitions_max.saturating_sub(held);
        if at_most == 0 || held == self.shared.partitions() || self.shared.is_closing() {
            return Ok(Vec::new());
        }
        let asked_at = self.shared.driver.monotonic();
        let claimed = self
            .shared
            .store()?
            .claim(&self.shared.worker, Want::Take { at_most, lease: self.shared.options.lease })
            .await?;
        self.told(&claimed);
        let until = self.lease_until(asked_at);
        let taken: Vec<Arc<Held>> = claimed.leases.iter().map(|lease| Arc::new(Held::new(*lease, until))).collect();
        if !taken.is_empty() {
            self.shared.expect_unseen();
            self.shared.with(|core, released| {
                for lease in &taken {
                    // Nothing in memory may outlive an earlier ownership of the partition.
                    core.lose(lease.partition, self.shared, released);
                    core.leases.insert(lease.partition, lease.clone());
                    core.to_recover.insert(lease.partition, lease.epoch);
                }
                core.near.forget_horizon();
            });
            self.shared.scanner.notify_one();
            self.shared.timer.notify_one();
        }
        Ok(taken)
    }

    /// Returns when this worker stops relying on a lease: a tenth before the store would give it to another
    /// worker.
    fn lease_until(&self, asked_at: Duration) -> Duration {
        asked_at + self.shared.options.lease / 10 * 9
    }

    fn told(&self, claimed: &Claimed) {
        self.shared.set_partitions(claimed.partitions);
        self.shared.time.told(claimed.now);
        self.shared.time.told(claimed.highest);
        self.shared.lock().others = claimed.others.iter().cloned().collect();
        self.shared.timer.notify_one();
    }

    fn held(&self) -> Vec<(Partition, Epoch)> {
        self.shared.lock().leases.values().map(|lease| (lease.partition, lease.epoch)).collect()
    }

    /// Takes in a renewal. Returns the leases that were renewed but given up here in the meantime.
    fn renewed(&self, held: &[(Partition, Epoch)], claimed: &Claimed, asked_at: Duration) -> Vec<(Partition, Epoch)> {
        self.told(claimed);
        let (mut released, mut orphans) = (Released::default(), Vec::new());
        let now = self.shared.driver.monotonic();
        let mut core = self.shared.lock();
        for (partition, epoch) in held {
            let kept = claimed.leases.iter().any(|lease| lease.partition == *partition && lease.epoch == *epoch);
            match core.leases.get(partition).filter(|lease| lease.epoch == *epoch) {
                Some(lease) if kept && lease.is_valid(now) => lease.renew(self.lease_until(asked_at)),
                // The lease was over here before the answer came: nothing may continue under it.
                Some(_) if kept => {
                    core.lose(*partition, self.shared, &mut released);
                    orphans.push((*partition, *epoch));
                }
                Some(_) => core.lose(*partition, self.shared, &mut released),
                None if kept => orphans.push((*partition, *epoch)),
                None => {}
            }
        }
        released.threads = core.threads_wanted(&self.shared.options);
        drop(core);
        self.shared.let_go(released);
        orphans
    }

    /// Releases leases that nothing here relies on any more. The code under them was dropped, which is no
    /// crash.
    async fn give_back(&self, held: Vec<(Partition, Epoch)>) -> Result<(), StoreError> {
        if held.is_empty() {
            return Ok(());
        }
        let want = Want::Release { held, clean: true, now: self.shared.time.now() };
        self.shared.store()?.claim(&self.shared.worker, want).await.map(drop)
    }

    /// Gives up, in order, a lease whose versions run out. Taking the partition again gives a new epoch.
    async fn give_up_worn(&self) -> Result<(), StoreError> {
        let worn: Vec<Arc<Held>> =
            self.shared.lock().leases.values().filter(|lease| lease.is_worn()).cloned().collect();
        self.shared
            .with(|core, released| worn.iter().for_each(|lease| core.lose(lease.partition, self.shared, released)));
        self.give_back(worn.iter().map(|lease| (lease.partition, lease.epoch)).collect()).await
    }

    pub(crate) async fn release(&self, clean: bool) -> Result<(), StoreError> {
        let want = Want::Release { held: self.held(), clean, now: self.shared.time.now() };
        self.shared.store()?.claim(&self.shared.worker, want).await.map(drop)
    }
}
