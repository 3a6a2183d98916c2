//! How keys leave memory: because others need the room, because their partition was lost, because the kernel ends.

use super::{
    body::Body,
    core::{Core, Released},
    effects::Effects,
    mail::Mail,
    shared::Shared,
};
use crate::{Error, Key, Partition};

impl Core {
    /// Lets the least recently used go until there is room; never one that something would be lost with.
    pub(crate) fn evict(&mut self, at: &Shared, released: &mut Released) {
        // A few at a time: this is done at every visit that finds memory full.
        for _ in 0..self.residents.len().min(64) {
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
                self.remove(&key, at, released);
            }
        }
    }

    /// Takes a key out of memory, and out of the window; returns the mail that nobody has opened.
    pub(crate) fn remove(&mut self, key: &Key, at: &Shared, released: &mut Released) -> Vec<Mail> {
        let Some(mut slot) = self.slots.remove(key) else { return Vec::new() };
        self.resident_bytes -= slot.weight;
        self.waiting_bytes -= slot.bytes;
        for other in at.window.leave(key) {
            self.queue(&other);
        }
        let mail = std::mem::take(&mut slot.mail);
        released.trash.push(Box::new(slot));
        mail
    }

    /// The partition was lost while a hand had the body: what has come since is for whoever has it now.
    pub(crate) fn remove_lost(
        &mut self,
        key: &Key,
        mut body: Box<Body>,
        mut out: Effects,
        at: &Shared,
        released: &mut Released,
    ) {
        let error = Error::NotOwner { partition: body.lease.partition, owner: None };
        body.abandon(&error, &mut out);
        // What it knew of its alarm is no longer ours to know.
        out.alarm = None;
        out.reads.clear();
        released.trash.push(body);
        for mail in self.remove(key, at, released) {
            if !matches!(mail, Mail::Found(..) | Mail::Settled(_) | Mail::Ended { .. }) {
                self.post_or_refuse(key, mail, released);
            }
        }
        self.carry_out(key, out, at, released);
    }

    fn post_or_refuse(&mut self, key: &Key, mail: Mail, released: &mut Released) {
        match (self.lease_of(key).map(drop), mail) {
            (Err(error), Mail::Call(pending)) => released.answers.push((pending, Err(error))),
            (_, mail) => self.post(key, mail),
        }
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
        let Some(slot) = self.slots.get_mut(key) else { return };
        for mail in slot.mail.drain(..) {
            if let Mail::Call(pending) = mail {
                out.answers.push((pending, Err(error.clone())));
            }
        }
        match slot.body.take() {
            Some(mut body) => {
                body.abandon(error, &mut out);
                released.trash.push(body);
                self.remove(key, at, released);
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
        self.leases.clear();
        self.is_closed = true;
    }

    /// The body of a key was lost: whoever waits for it learns that nothing is known.
    pub(crate) fn forget(&mut self, key: &Key, at: &Shared, released: &mut Released) {
        self.remove(key, at, released);
    }
}
