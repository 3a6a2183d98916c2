//! How keys leave memory: because others need the room, because their partition was lost, because the kernel ends.

use super::{
    core::{Core, Released},
    effects::Effects,
    mail::Mail,
    shared::Shared,
    slot::Slot,
};
use crate::{Error, Key, Partition};

impl Core {
    /// Lets the least recently used go until there is room; never one that something would be lost with.
    pub(crate) fn evict(&mut self, at: &Shared) {
        for _ in 0..self.residents.len() {
            if self.resident_bytes <= at.options.resident_bytes_max / 8 * 7 {
                return;
            }
            let Some(key) = self.residents.pop_front() else { return };
            let Some(slot) = self.slots.get_mut(&key) else { continue };
            let idle = slot.body.as_ref().is_some_and(|body| body.is_idle()) && slot.mail.is_empty();
            if slot.was_used || !idle || slot.is_queued {
                slot.was_used = false;
                self.residents.push_back(key);
            } else {
                self.remove(&key);
            }
        }
    }

    pub(crate) fn remove(&mut self, key: &Key) -> Option<Slot> {
        let slot = self.slots.remove(key)?;
        self.resident_bytes -= slot.weight;
        self.waiting_bytes -= slot.bytes;
        Some(slot)
    }

    /// Gives up a partition at once: its entities leave memory, their callers are told.
    pub(crate) fn lose(&mut self, partition: Partition, at: &Shared, released: &mut Released) {
        let Some(lease) = self.leases.remove(&partition) else { return };
        lease.lose();
        self.near.remove_partition(partition, self.partitions);
        let keys: Vec<Key> =
            self.slots.keys().filter(|key| key.partition(self.partitions) == partition).cloned().collect();
        for key in keys {
            let error = Error::NotOwner { partition, owner: None };
            self.drop_slot(&key, &error, at, released);
        }
    }

    /// A key leaves memory: whoever has not begun gets `error`, of the others nothing is known.
    fn drop_slot(&mut self, key: &Key, error: &Error, at: &Shared, released: &mut Released) {
        let mut out = Effects::default();
        out.wake.extend(at.window.leave(key));
        let Some(slot) = self.slots.get_mut(key) else { return };
        for mail in slot.mail.drain(..) {
            if let Mail::Call(pending) = mail {
                out.answers.push((pending, Err(error.clone())));
            }
        }
        match slot.body.take() {
            Some(mut body) => {
                body.abandon(error, &mut out);
                self.remove(key);
            }
            None => slot.is_lost = true,
        }
        self.carry_out(key, out, at, released);
    }

    /// Drops every piece of work that runs; what it would have done is done again later.
    pub(crate) fn drop_work(&mut self, released: &mut Released) {
        for body in self.slots.values_mut().filter_map(|slot| slot.body.as_mut()) {
            released.dropped.append(&mut body.running);
        }
    }

    /// Everything leaves memory: the kernel has ended.
    pub(crate) fn empty(&mut self, at: &Shared, released: &mut Released) {
        let keys: Vec<Key> = self.slots.keys().cloned().collect();
        for key in keys {
            self.drop_slot(&key, &Error::Closing, at, released);
        }
        self.wanted.clear();
    }

    /// The body of a key was lost: whoever waits for it learns that nothing is known.
    pub(crate) fn forget(&mut self, key: &Key) {
        self.remove(key);
    }
}
