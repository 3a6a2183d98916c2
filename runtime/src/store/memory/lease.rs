//! Leases of the store in memory.

use super::tables::Tables;
use crate::{
    Epoch, Millis, Partition,
    store::{Claimed, Lease, StoreError, StoreErrorKind, Want, Worker},
};

/// The ownership of one partition.
#[derive(Debug)]
pub(super) struct Owner {
    pub(super) epoch: Epoch,
    worker: Option<Worker>,
    until: Millis,
    clean: bool,
    highest: Millis,
    /// The number of the last batch of this epoch.
    batch: u64,
}

impl Default for Owner {
    fn default() -> Self {
        // A partition that never had an owner is clean.
        Self { epoch: Epoch(0), worker: None, until: Millis(0), clean: true, highest: Millis(0), batch: 0 }
    }
}

impl Owner {
    /// Returns the worker that holds the partition, unless the lease has expired.
    fn holder(&self, now: Millis) -> Option<&Worker> {
        self.worker.as_ref().filter(|_| self.until > now)
    }

    fn lease(&self, partition: Partition, before: Epoch, clean: bool) -> Lease {
        Lease { partition, epoch: self.epoch, before, clean, highest: self.highest }
    }
}

impl Tables {
    pub(super) fn claim(&mut self, now: Millis, worker: &Worker, want: &Want) -> Result<Claimed, StoreError> {
        let leases = match want {
            Want::Take { at_most, lease } => self.take(now, worker, *at_most, now.after(*lease))?,
            Want::Renew { held, lease, now: told } => self.renew(held, now.after(*lease), *told),
            Want::Release { held, clean, now: told } => {
                self.release(held, *clean, *told)?;
                Vec::new()
            }
        };
        Ok(Claimed {
            now,
            highest: self.owners.iter().map(|owner| owner.highest).max().unwrap_or_default(),
            partitions: self.partitions(),
            leases,
            others: self.others(now, worker),
        })
    }

    /// Records the highest time that an owner reported. Returns `None`, and records nothing, if the owner was
    /// replaced.
    pub(super) fn tell(&mut self, partition: Partition, epoch: Epoch, now: Millis) -> Option<&mut Owner> {
        let owner = self.owners.get_mut(partition.0 as usize).filter(|owner| owner.epoch == epoch)?;
        owner.highest = owner.highest.max(now);
        Some(owner)
    }

    /// Returns whether a batch comes in order. If it does, it is recorded as the last batch.
    pub(super) fn is_next(&mut self, partition: Partition, epoch: Epoch, number: u64) -> bool {
        let owner = self.owners.get_mut(partition.0 as usize).filter(|owner| owner.epoch == epoch);
        match owner.filter(|owner| owner.batch < number) {
            Some(owner) => {
                owner.batch = number;
                true
            }
            None => false,
        }
    }

    fn take(&mut self, now: Millis, worker: &Worker, at_most: u32, until: Millis) -> Result<Vec<Lease>, StoreError> {
        let mut open: Vec<usize> = (0..self.owners.len()).collect();
        open.retain(|&index| self.owners[index].holder(now).is_none());
        open.truncate(at_most as usize);
        let mut leases = Vec::new();
        for index in open {
            let epoch = self.next_epoch()?;
            let owner = &mut self.owners[index];
            let (before, clean) = (owner.epoch, std::mem::replace(&mut owner.clean, false));
            (owner.epoch, owner.until, owner.worker, owner.batch) = (epoch, until, Some(worker.clone()), 0);
            leases.push(owner.lease(Partition(index as u32), before, clean));
            // The lease has the highest time of the previous owner, so the new time is recorded after it was
            // made.
            owner.highest = owner.highest.max(now);
        }
        Ok(leases)
    }

    fn renew(&mut self, held: &[(Partition, Epoch)], until: Millis, told: Millis) -> Vec<Lease> {
        let mut leases = Vec::new();
        for &(partition, epoch) in held {
            if let Some(owner) = self.tell(partition, epoch, told) {
                owner.until = until;
                leases.push(owner.lease(partition, owner.epoch, owner.clean));
            }
        }
        leases
    }

    fn release(&mut self, held: &[(Partition, Epoch)], clean: bool, told: Millis) -> Result<(), StoreError> {
        for &(partition, epoch) in held {
            if self.tell(partition, epoch, told).is_none() {
                continue;
            }
            // After an end that was not clean the epoch stays: the next owner needs to know the epoch of the
            // one that died.
            let next = if clean { self.next_epoch()? } else { epoch };
            let owner = &mut self.owners[partition.0 as usize];
            (owner.epoch, owner.worker, owner.clean) = (next, None, clean);
        }
        Ok(())
    }

    fn others(&self, now: Millis, worker: &Worker) -> Vec<(Partition, String)> {
        let held = self.owners.iter().enumerate().filter_map(|(index, owner)| Some((index, owner.holder(now)?)));
        held.filter(|(_, holder)| holder.id != worker.id)
            .map(|(index, holder)| (Partition(index as u32), holder.address.clone()))
            .collect()
    }

    fn next_epoch(&mut self) -> Result<Epoch, StoreError> {
        // Versions keep the epoch in the upper half of a signed 64-bit integer.
        if self.epoch >= i32::MAX as u32 {
            return Err(StoreError::new(StoreErrorKind::Unsupported, "all epochs of this store are used up"));
        }
        self.epoch += 1;
        Ok(Epoch(self.epoch))
    }
}
