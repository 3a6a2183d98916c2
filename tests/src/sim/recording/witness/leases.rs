//! The owners of partitions over time, as the store's answers name them (R3).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use drystone_runtime::{
    Epoch, Millis, Name, Partition,
    store::{Claimed, Lease, Want, Worker},
};

use crate::sim::recording::log::{Chronicle, Class};

/// The leases that the store has given out.
pub struct Leases {
    chronicle: Arc<Chronicle>,
    held: BTreeMap<Partition, Held>,
    highest: Epoch,
    /// The partitions that their last owner released in order.
    in_order: BTreeSet<Partition>,
}

struct Held {
    epoch: Epoch,
    worker: Name,
    address: String,
    until: Millis,
    clean: bool,
}

impl Leases {
    /// Creates an empty list of leases.
    pub(super) fn new(chronicle: Arc<Chronicle>) -> Self {
        Self { chronicle, held: BTreeMap::new(), highest: Epoch(0), in_order: BTreeSet::new() }
    }

    /// Whether this owner has a lease of the partition that has not ended.
    pub fn valid(&self, partition: Partition, address: &str, now: Millis) -> bool {
        self.held.get(&partition).is_some_and(|held| held.address == address && held.until >= now)
    }

    /// The epoch under which this owner has the partition.
    pub fn epoch(&self, partition: Partition, address: &str) -> Option<Epoch> {
        self.held.get(&partition).filter(|held| held.address == address).map(|held| held.epoch)
    }

    /// Whether the current owner found that the previous one had ended in order.
    pub fn clean(&self, partition: Partition) -> bool {
        self.held.get(&partition).is_none_or(|held| held.clean)
    }

    /// Checks a worker whose kernel was dropped and has ended: it must have released all its partitions
    /// (R2). A killed worker of the same address is another worker, and its leases do not count.
    pub fn dropped(&self, name: &str) {
        let is_its = |held: &Held| held.worker.as_str().strip_prefix(name).is_some_and(|rest| rest.starts_with('-'));
        let kept = self.held.iter().find(|(_, held)| is_its(held));
        self.chronicle.check(kept.is_none(), Class::Broken, "R2", || {
            format!("{name} was dropped, and has not given up {:?}", kept.map(|(partition, _)| partition))
        });
    }

    /// Takes the store's answer to a claim.
    pub(super) fn claimed(&mut self, worker: &Worker, want: &Want, claimed: &Claimed) {
        match want {
            Want::Take { lease, .. } => {
                claimed.leases.iter().for_each(|taken| self.taken(worker, taken, claimed.now, *lease));
            }
            Want::Renew { lease, .. } => {
                claimed.leases.iter().for_each(|renewed| self.renewed(worker, renewed, claimed.now, *lease));
            }
            Want::Release { held, clean, .. } => {
                held.iter().for_each(|(partition, epoch)| self.released(*partition, *epoch, *clean));
            }
        }
    }

    /// Checks that only the current owner of a partition writes to it.
    pub(super) fn applied(&mut self, partition: Partition, epoch: Option<Epoch>) {
        let owner = self.held.get(&partition).map(|held| held.epoch);
        self.chronicle.check(epoch.is_some() && owner == epoch, Class::Broken, "R3", || {
            format!("a write of epoch {epoch:?} was applied to partition {}, which has {owner:?}", partition.0)
        });
    }

    fn taken(&mut self, worker: &Worker, lease: &Lease, now: Millis, span: Duration) {
        let grows = lease.epoch > self.highest;
        self.chronicle.check(grows, Class::Broken, "R3", || format!("{:?} was given out twice", lease.epoch));
        self.highest = self.highest.max(lease.epoch);
        let in_order = self.in_order.remove(&lease.partition);
        self.chronicle.check(lease.clean || !in_order, Class::Broken, "R2", || {
            format!("partition {} was given up in order, and counts as crashed", lease.partition.0)
        });
        if let Some(before) = self.held.get(&lease.partition) {
            self.chronicle.sometimes("a partition changed owner");
            let over = before.until <= now || before.address == worker.address;
            self.chronicle.check(over, Class::Broken, "R3", || {
                format!("partition {} was taken from {} too early", lease.partition.0, before.address)
            });
        }
        let (epoch, address, until) = (lease.epoch, worker.address.clone(), now.after(span));
        let held = Held { epoch, worker: worker.id.clone(), address, until, clean: lease.clean };
        self.held.insert(lease.partition, held);
    }

    fn renewed(&mut self, worker: &Worker, lease: &Lease, now: Millis, span: Duration) {
        match self.held.get_mut(&lease.partition).filter(|held| held.epoch == lease.epoch) {
            Some(held) => held.until = now.after(span),
            None => {
                let message = format!("{} renewed partition {}, which it has not", worker.id, lease.partition.0);
                self.chronicle.violation(Class::Broken, "R3", message);
            }
        }
    }

    fn released(&mut self, partition: Partition, epoch: Epoch, clean: bool) {
        if self.held.get(&partition).is_some_and(|held| held.epoch == epoch) {
            self.held.remove(&partition);
            if clean {
                self.in_order.insert(partition);
            }
        }
    }
}
