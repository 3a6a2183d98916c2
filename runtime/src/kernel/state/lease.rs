//! The ownership of one partition as the kernel holds it, shared by everything that relies on it.

use std::{
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    time::Duration,
};

use crate::{Epoch, Millis, Partition, Version, store::Lease};

/// A lease that the kernel holds or held. A lost lease stays lost; taking the partition again makes a new
/// one.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) partition: Partition,
    pub(crate) epoch: Epoch,
    /// The epoch of the previous owner.
    pub(crate) before: Epoch,
    /// Whether the previous owner ended in order.
    pub(crate) clean: bool,
    /// The highest time of the previous owner: alarms due by then may have been ringing when it ended.
    pub(crate) highest: Millis,
    counter: AtomicU32,
    until_millis: AtomicU64,
    lost: AtomicBool,
}

impl Held {
    pub(crate) fn new(lease: Lease, until: Duration) -> Self {
        Self {
            partition: lease.partition,
            epoch: lease.epoch,
            before: lease.before,
            clean: lease.clean,
            highest: lease.highest,
            counter: AtomicU32::new(0),
            until_millis: AtomicU64::new(until.as_millis() as u64),
            lost: AtomicBool::new(false),
        }
    }

    /// Returns a version that was never used before.
    pub(crate) fn next_version(&self) -> Version {
        Version::of(self.epoch, self.counter.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Whether the versions of this epoch run out, so that a new epoch is needed.
    pub(crate) fn is_worn(&self) -> bool {
        self.counter.load(Ordering::Relaxed) > u32::MAX / 4 * 3
    }

    pub(crate) fn renew(&self, until: Duration) {
        self.until_millis.store(until.as_millis() as u64, Ordering::Relaxed);
    }

    /// Returns when the lease ends, by the monotonic clock, unless it is renewed.
    pub(crate) fn until(&self) -> Duration {
        Duration::from_millis(self.until_millis.load(Ordering::Relaxed))
    }

    pub(crate) fn lose(&self) {
        self.lost.store(true, Ordering::Relaxed);
    }

    /// Whether the lease may be relied on at this moment. Safety does not depend on this check, because the
    /// store checks the epoch. But a worker that was asleep must not start work under a lease that is over
    /// (fD9).
    pub(crate) fn is_valid(&self, monotonic: Duration) -> bool {
        !self.lost.load(Ordering::Relaxed) && monotonic < self.until()
    }
}
