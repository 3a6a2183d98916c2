//! The timer: wakes keys when their time comes, from memory alone, so that a slow store does not delay an
//! alarm that is near. It also gives up partitions whose lease is over.

use std::time::Duration;

use crate::{
    Partition,
    kernel::{
        state::{core::Released, shared::Shared},
        util::race::race,
    },
};

/// The loop of the timer.
pub(crate) struct Timer<'a> {
    shared: &'a Shared,
}

impl<'a> Timer<'a> {
    pub(crate) fn new(shared: &'a Shared) -> Self {
        Self { shared }
    }

    /// Rings until the kernel has ended.
    pub(crate) async fn run(&self) {
        while !self.shared.is_closed() {
            let next = self.ring_due();
            let now = self.shared.driver.monotonic();
            // The sleep is limited, because the kernel's time may jump forward meanwhile (fD2).
            let latest = now + self.shared.options.nap_max;
            let until = next.unwrap_or(latest).min(latest);
            race(self.shared.timer.notified(), self.shared.driver.sleep_until(until)).await;
        }
    }

    fn ring_due(&self) -> Option<Duration> {
        let mut released = Released::default();
        let (now, monotonic) = (self.shared.time.now(), self.shared.driver.monotonic());
        let mut core = self.shared.lock();
        let over: Vec<Partition> =
            core.leases.values().filter(|lease| !lease.is_valid(monotonic)).map(|lease| lease.partition).collect();
        for partition in over {
            tracing::warn!(partition = partition.0, "the lease is over and was not renewed");
            core.lose(partition, self.shared, &mut released);
        }
        let next = if self.shared.is_closing() { None } else { core.ring(now, monotonic, self.shared) };
        released.threads += core.threads_wanted(&self.shared.options);
        drop(core);
        self.shared.let_go(released);
        next
    }
}
