//! How keys leave memory: because nothing uses them, because others need the room, because their partition was lost,
//! because the kernel ends.

use std::time::Duration;

use super::{
    body::Body,
    core::{Core, Released},
    effects::Effects,
    mail::{Mail, Settled},
    residents::TICKS,
    shared::Shared,
};
use crate::{Error, Key, Partition, Version};

/// How many keys are looked at by a visit that finds memory full. It has brought one at the most, and who is in use is passed over once,
/// so this keeps up; more would be spent at every visit, under the lock, while nobody can leave.
const LOOKS: usize = 4;

impl Core {
    /// Lets the least recently used go until there is room; never one that something would be lost with.
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
                // To the end: others are looked at before it is again.
                (false, _) => self.residents.put(key, self.residents.tick()),
            }
        }
    }

    /// Lets those go whom nothing has used for long (W8), and looks at `most` of them. Says whether there are more.
    pub(crate) fn evict_idle(&mut self, most: usize, at: &Shared, released: &mut Released) -> bool {
        for _ in 0..most {
            let Some(key) = self.residents.take_due() else { return false };
            let Some(is_idle) = self.is_idle(&key) else { continue };
            let Some(slot) = self.slots.get_mut(&key) else { continue };
            if !is_idle {
                // Whoever waits for an answer needs the entity, but not what its handler remembers.
                let forgets = self.residents.is_over(slot.used_at) && !slot.is_queued && slot.mail.is_empty();
                let memory =
                    slot.body.as_mut().filter(|body| forgets && body.only_holds()).map(|body| body.take_memory());
                released.trash.extend(memory.map(|memory| Box::new(memory) as Box<_>));
                // Its rest begins when a hand is done with it, which is in this tick at the earliest.
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

    /// An idle key leaves memory. If its alarm rings soon, a short record stays with that: it is woken without a read.
    fn leave(&mut self, key: &Key, at: &Shared, released: &mut Released) {
        let body = self.slots.get_mut(key).and_then(|slot| slot.body.as_mut());
        if let Some(record) = body.and_then(|body| body.committed.take()) {
            self.near.keep(key, record);
        }
        self.remove(key, at, released);
    }

    /// Whether nothing is lost if a key leaves memory; `None` if it is not there.
    fn is_idle(&self, key: &Key) -> Option<bool> {
        let slot = self.slots.get(key)?;
        // What the scan that is under way has read of it is old, and only we know its alarm.
        let is_written = self.written.as_ref().is_some_and(|written| written.contains(key));
        let is_idle = slot.body.as_ref().is_some_and(|body| body.is_idle());
        Some(is_idle && slot.mail.is_empty() && !slot.is_queued && !is_written)
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
        body: Box<Body>,
        mut out: Effects,
        at: &Shared,
        released: &mut Released,
    ) {
        let error = Error::NotOwner { partition: body.lease.partition, owner: None };
        self.abandon(key, body, &error, &mut out, at, released);
        for mail in self.remove(key, at, released) {
            if !matches!(mail, Mail::Found(..) | Mail::Ended { .. }) {
                self.post_or_refuse(key, mail, released);
            }
        }
        self.carry_out(key, out, at, released);
    }

    /// Lets go of a body. What is known to be durable of it is told first, also by one who has lost it: nobody else can.
    fn abandon(
        &mut self,
        key: &Key,
        mut body: Box<Body>,
        error: &Error,
        out: &mut Effects,
        at: &Shared,
        released: &mut Released,
    ) {
        for (version, verdict) in self.take_verdicts(key) {
            body.settle(version, verdict, at, out);
        }
        body.abandon(error, out);
        // What it knew of its alarm is no longer ours to know.
        out.alarm = None;
        out.reads.clear();
        released.trash.push(body);
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

    /// Gives up a partition at once: its entities leave memory, their callers are told.
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

    /// A key leaves memory: whoever has not begun gets `error`, of the others nothing is known.
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
        match slot.body.take() {
            Some(body) => {
                self.abandon(key, body, error, &mut out, at, released);
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
        self.residents.retain(|_| false);
        self.leases.clear();
        self.is_closed = true;
    }

    /// The body of a key was lost: whoever waits for it learns that nothing is known.
    pub(crate) fn forget(&mut self, key: &Key, at: &Shared, released: &mut Released) {
        self.remove(key, at, released);
        self.residents.retain(|other| other != key);
    }
}

/// How many keys are looked at before others have the lock.
const SLICE: usize = 256;

/// The lock is free for so long between two slices.
const BREATH: Duration = Duration::from_millis(1);

/// No tick is shorter, or longer: the clock must be able to count to its end.
const TICK_MIN: Duration = Duration::from_millis(10);
const TICK_MAX: Duration = Duration::from_secs(365 * 24 * 60 * 60);

impl Shared {
    /// Makes ticks while anybody is in memory, and lets those go whose time has come. It ends with the janitor.
    pub(crate) async fn evict_for_ever(&self) {
        let bell = self.lock().residents.bell.clone();
        let tick = (self.options.evict_after / TICKS).clamp(TICK_MIN, TICK_MAX);
        loop {
            while self.lock().residents.is_empty() {
                bell.notified().await;
            }
            let until = self.driver.monotonic() + tick;
            // A sleep may end early: then nobody has been idle for as long as it would seem.
            while self.driver.monotonic() < until {
                self.driver.sleep_until(until).await;
            }
            self.lock().residents.begin_tick();
            while self.with(|core, released| core.evict_idle(SLICE, self, released)) {
                self.driver.sleep_until(self.driver.monotonic() + BREATH).await;
            }
        }
    }
}
