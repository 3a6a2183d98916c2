//! How keys leave memory: nothing uses them, other keys need the room, their partition was lost, or the
//! kernel ends.

use super::{
    core::{Core, Released},
    effects::Effects,
    mail::{Mail, Settled},
    shared::Shared,
};
use crate::{Error, Key, Partition, Version, kernel::resident::Resident};

/// How many keys a visit that finds memory full checks. A visit adds one key at most, and a used key is
/// passed over once, so this number keeps up. A larger number would cost time under the lock at every visit
/// while no key can leave.
const LOOKS: usize = 4;

impl Core {
    /// Evicts the least recently used keys until there is room, but no key that would lose something.
    pub(crate) fn evict(&mut self, at: &Shared, released: &mut Released) {
        for _ in 0..LOOKS {
            if self.resident_bytes <= at.options.resident_bytes_max / 8 * 7 {
                return;
            }
            let Some(key) = self.residents.take_first() else { return };
            let Some(is_idle) = self.is_idle(&key) else { continue };
            let Some(slot) = self.slots.get_mut(&key) else { continue };
            match (is_idle, std::mem::take(&mut slot.was_used)) {
                (true, false) => self.leave(&key, at, released),
                (true, true) => self.residents.put(key, slot.used_at),
                // To the end of the line: other keys are checked before this one is checked again.
                (false, _) => self.residents.put(key, self.residents.tick()),
            }
        }
    }

    /// Evicts keys that nothing has used for long (W8), and checks at most `most` keys. Returns whether
    /// more may be due.
    pub(crate) fn evict_idle(&mut self, most: usize, at: &Shared, released: &mut Released) -> bool {
        for _ in 0..most {
            let Some(key) = self.residents.take_due() else { return false };
            let Some(is_idle) = self.is_idle(&key) else { continue };
            let Some(slot) = self.slots.get_mut(&key) else { continue };
            if !is_idle {
                // A caller that waits for an answer needs the entity, but not the handler's memory.
                let forgets = self.residents.is_over(slot.used_at) && !slot.is_queued && slot.mail.is_empty();
                let memory = slot
                    .resident
                    .as_mut()
                    .filter(|resident| forgets && resident.only_holds())
                    .map(|resident| resident.take_memory());
                released.trash.extend(memory.map(|memory| Box::new(memory) as Box<_>));
                // The idle time begins when a thread is done with the key, which is in this tick at the
                // earliest.
                self.residents.put(key, self.residents.tick());
            } else if !self.residents.is_over(slot.used_at) {
                self.residents.put(key, slot.used_at);
            } else {
                self.leave(&key, at, released);
                self.counts.left += 1;
            }
        }
        true
    }

    /// Evicts an idle key. If its alarm rings soon, a short record stays with the alarm, so that the key
    /// wakes without a read.
    fn leave(&mut self, key: &Key, at: &Shared, released: &mut Released) {
        let resident = self.slots.get_mut(key).and_then(|slot| slot.resident.as_mut());
        if let Some(record) = resident.and_then(|resident| resident.take_stored()) {
            self.near.keep(key, record);
        }
        self.remove(key, at, released);
    }

    /// Whether a key can leave memory without losing anything; `None` if the key is not in memory.
    fn is_idle(&self, key: &Key) -> Option<bool> {
        let slot = self.slots.get(key)?;
        // If the key was written during the scan in progress, the scan has read an old record, and only
        // memory knows the alarm.
        let is_written = self.written.as_ref().is_some_and(|written| written.contains(key));
        let is_idle = slot.resident.as_ref().is_some_and(|resident| resident.is_idle());
        Some(is_idle && slot.mail.is_empty() && !slot.is_queued && !is_written)
    }

    /// Takes a key out of memory and out of the window; returns its unread mail.
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

    /// Removes a key whose partition was lost while a thread had the resident. Mail that has come since goes
    /// to the present owner, if that is this worker again; calls are refused otherwise.
    pub(crate) fn remove_lost(
        &mut self,
        key: &Key,
        resident: Box<Resident>,
        mut out: Effects,
        at: &Shared,
        released: &mut Released,
    ) {
        let error = Error::NotOwner { partition: resident.lease().partition, owner: None };
        self.abandon(key, resident, &error, &mut out, at, released);
        for mail in self.remove(key, at, released) {
            if !matches!(mail, Mail::Found(..) | Mail::Ended { .. }) {
                self.post_or_refuse(key, mail, released);
            }
        }
        self.carry_out(key, out, at, released);
    }

    /// Drops a resident. Verdicts in its mail are settled first, although the partition is lost: no other
    /// worker can answer these callers.
    fn abandon(
        &mut self,
        key: &Key,
        mut resident: Box<Resident>,
        error: &Error,
        out: &mut Effects,
        at: &Shared,
        released: &mut Released,
    ) {
        for (version, verdict) in self.take_verdicts(key) {
            resident.settle(version, verdict, at, out);
        }
        resident.abandon(error, out);
        // The alarm of a lost entity must not be kept here.
        out.alarm = None;
        out.reads.clear();
        released.trash.push(resident);
    }

    fn take_verdicts(&mut self, key: &Key) -> Vec<(Version, Settled)> {
        let Some(slot) = self.slots.get_mut(key) else { return Vec::new() };
        let verdicts = slot.mail.extract_if(.., |mail| matches!(mail, Mail::Settled(..)));
        let told = |mail| match mail {
            Mail::Settled(version, verdict) => Some((version, verdict)),
            _ => None,
        };
        verdicts.filter_map(told).collect()
    }

    fn post_or_refuse(&mut self, key: &Key, mail: Mail, released: &mut Released) {
        match (self.lease_of(key).map(drop), mail) {
            (Err(error), Mail::Call(pending)) => released.answers.push((pending, Err(error))),
            (_, mail) => self.post(key, mail),
        }
    }

    /// Gives up a partition at once: its entities leave memory, and their callers get an error.
    pub(crate) fn lose(&mut self, partition: Partition, at: &Shared, released: &mut Released) {
        let Some(lease) = self.leases.remove(&partition) else { return };
        lease.lose();
        self.near.remove_partition(partition, self.partitions);
        let keys: Vec<Key> =
            self.slots.keys().filter(|key| key.partition(self.partitions) == partition).cloned().collect();
        let partitions = self.partitions;
        self.residents.retain(|key| key.partition(partitions) != partition);
        for key in keys {
            let error = Error::NotOwner { partition, owner: None };
            self.drop_slot(&key, &error, at, released);
        }
    }

    /// Drops a key from memory. Callers whose input has not begun get `error`; for all others the outcome
    /// is unknown.
    fn drop_slot(&mut self, key: &Key, error: &Error, at: &Shared, released: &mut Released) {
        let mut out = Effects::default();
        let Some(slot) = self.slots.get_mut(key) else { return };
        for mail in std::mem::take(&mut slot.mail) {
            match mail {
                Mail::Call(pending) => out.answers.push((pending, Err(error.clone()))),
                Mail::Settled(..) => slot.mail.push(mail),
                _ => {}
            }
        }
        match slot.resident.take() {
            Some(resident) => {
                self.abandon(key, resident, error, &mut out, at, released);
                self.remove(key, at, released);
            }
            None => slot.is_lost = true,
        }
        self.carry_out(key, out, at, released);
    }

    /// Drops every piece of work that runs. The work is done again later.
    pub(crate) fn drop_work(&mut self, released: &mut Released) {
        for resident in self.slots.values_mut().filter_map(|slot| slot.resident.as_mut()) {
            released.dropped.append(&mut resident.take_running());
        }
    }

    /// Drops everything from memory: the kernel has ended.
    pub(crate) fn empty(&mut self, at: &Shared, released: &mut Released) {
        let keys: Vec<Key> = self.slots.keys().cloned().collect();
        for key in keys {
            self.drop_slot(&key, &Error::Closing, at, released);
        }
        self.wanted.clear();
        self.residents.retain(|_| false);
        self.leases.clear();
        self.is_closed = true;
    }

    /// Drops a key whose resident was lost. Its callers get an unknown outcome.
    pub(crate) fn forget(&mut self, key: &Key, at: &Shared, released: &mut Released) {
        self.remove(key, at, released);
        self.residents.retain(|other| other != key);
    }
}
