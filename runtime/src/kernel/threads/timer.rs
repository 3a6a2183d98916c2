//! The ringer: wakes keys when their time comes, from memory alone, so that a slow store does not delay an
//! alarm that is near. It also gives up partitions whose lease is over.

use std::{sync::Arc, time::Duration};

use crate::{
    Partition,
    kernel::{
        state::{core::Released, shared::Shared},
        util::race::race,
    },
};

impl Shared {
    pub(crate) async fn ring_for_ever(self: Arc<Self>) {
        while !self.is_closed() {
            let next = self.ring_due();
            let now = self.driver.monotonic();
            // The sleep is limited, because the kernel's time may jump forward meanwhile (fD2).
            let latest = now + self.options.nap_max;
            let until = next.unwrap_or(latest).min(latest);
            race(self.ringer.notified(), self.driver.sleep_until(until)).await;
        }
    }

    fn ring_due(&self) -> Option<Duration> {
        let mut released = Released::default();
        let (now, monotonic) = (self.time.now(), self.driver.monotonic());
        let mut core = self.lock();
        let over: Vec<Partition> =
            core.leases.values().filter(|lease| !lease.is_valid(monotonic)).map(|lease| lease.partition).collect();
        for partition in over {
            tracing::warn!(partition = partition.0, "the lease is over and was not renewed");
            core.lose(partition, self, &mut released);
        }
        let next = if self.is_closing() { None } else { core.ring(now, monotonic, self) };
        released.hands += core.hands_wanted(&self.options);
        drop(core);
        self.let_go(released);
        next
    }
}
