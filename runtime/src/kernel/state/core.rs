//! The kernel's memory: every key that is awake, and what is done next. One lock guards it and is held only
//! briefly: no handler code runs under the lock.

mod job;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

pub(crate) use self::job::Job;
use super::{
    alarms::Near,
    effects::{Effects, Event, Ring, Trash},
    lease::Held,
    mail::{Mail, Settled},
    residents::Residents,
    shared::Shared,
    slot::Slot,
};
use crate::{
    Epoch, Error, Key, Limit, Millis, Partition, Reply, Version,
    kernel::{
        Counts, Options,
        api::pending_call::Pending,
        resident::{Resident, work::Running},
        threads::reader::Wanted,
        util::{hasher::Seeded, sparse::Sparse},
    },
    store::StoreError,
};

/// It has more than fifteen fields because one lock guards them all: the end of a visit changes slots,
/// queues, alarms and counts in one step. The methods are in four files by subject: here, `core/job.rs`,
/// `eviction.rs` and `found.rs`.
pub(crate) struct Core {
    pub(crate) slots: HashMap<Key, Slot, Seeded>,
    /// The run queue: keys that wait for a visit.
    runnable: VecDeque<Key>,
    /// Keys whose chain waits for the writer.
    writable: VecDeque<Key>,
    /// Reads that wait for a thread.
    pub(crate) wanted: VecDeque<Wanted>,
    /// Whether a batch is in flight; there is one at a time.
    is_writing: bool,
    /// Whether a thread is reading; there is one at a time.
    is_loading: bool,
    /// Visits since the last batch was taken.
    visits: usize,
    /// Threads that wait for a job.
    pub(crate) idle_threads: usize,
    pub(crate) leases: BTreeMap<Partition, Arc<Held>>,
    pub(crate) others: BTreeMap<Partition, String>,
    pub(crate) partitions: u32,
    pub(crate) near: Near,
    /// By monotonic time, with a number that keeps timers of the same moment apart.
    timers: BTreeMap<(Duration, u64), (Key, Ring)>,
    /// The last number that a timer or a read got.
    next_timer: u64,
    /// The timer found the run queue full and waits until it is shorter.
    timer_waits: bool,
    /// Keys that wait for a free place to run work.
    work_line: VecDeque<Key>,
    /// Keys written since the scan in progress began: the scan's records of them are outdated.
    pub(crate) written: Option<BTreeSet<Key>>,
    pub(crate) waiting_bytes: usize,
    pub(crate) resident_bytes: usize,
    /// Keys in memory, by the time when they may leave it.
    pub(crate) residents: Residents,
    /// Partitions that were taken over and are not recovered yet.
    pub(crate) to_recover: BTreeMap<Partition, Epoch>,
    /// Partitions that a hint of the store has named.
    pub(crate) hinted: BTreeSet<Partition>,
    /// The kernel has ended: mail is no longer read.
    pub(crate) is_closed: bool,
    pub(crate) trouble: Option<StoreError>,
    pub(crate) counts: Counts,
}

/// Effects to carry out after the lock is released.
#[derive(Default)]
pub(crate) struct Released {
    pub(crate) answers: Vec<(Pending, Reply)>,
    pub(crate) events: Vec<Event>,
    /// Work whose code is dropped.
    pub(crate) dropped: Vec<Running>,
    pub(crate) trash: Vec<Trash>,
    /// How many idle threads to wake.
    pub(crate) threads: usize,
    /// A timer is earlier than the one that the timer waits for.
    pub(crate) ring: bool,
}

impl Released {
    /// Whether dropping this drops values of the author's, which may take long.
    pub(crate) fn drops(&self) -> bool {
        !self.trash.is_empty() || !self.dropped.is_empty()
    }
}

impl Core {
    pub(crate) fn new(options: &Options, seed: u64) -> Self {
        Self {
            slots: HashMap::with_hasher(Seeded::new(seed)),
            runnable: VecDeque::new(),
            writable: VecDeque::new(),
            wanted: VecDeque::new(),
            is_writing: false,
            is_loading: false,
            visits: 0,
            idle_threads: 0,
            leases: BTreeMap::new(),
            others: BTreeMap::new(),
            partitions: 1,
            near: Near::new(options.near_max, Seeded::new(seed)),
            timers: BTreeMap::new(),
            next_timer: 0,
            timer_waits: false,
            work_line: VecDeque::new(),
            written: None,
            waiting_bytes: 0,
            resident_bytes: 0,
            residents: Residents::new(),
            to_recover: BTreeMap::new(),
            hinted: BTreeSet::new(),
            is_closed: false,
            trouble: None,
            counts: Counts::default(),
        }
    }

    /// Returns the lease that covers a key, or an error that names the other owner.
    pub(crate) fn lease_of(&self, key: &Key) -> Result<&Arc<Held>, Error> {
        if self.is_closed {
            return Err(Error::Closing);
        }
        let partition = key.partition(self.partitions);
        let owner = || self.others.get(&partition).cloned();
        self.leases.get(&partition).ok_or_else(|| Error::NotOwner { partition, owner: owner() })
    }

    /// Accepts a call, if there is room for it (R8).
    pub(crate) fn admit(&mut self, key: &Key, pending: Pending, options: &Options) -> Result<(), Error> {
        let over = |what| Error::Overloaded { what };
        let refusal = match self.lease_of(key) {
            Err(error) => Some(error),
            Ok(_) if self.waiting_bytes + pending.weight() > options.waiting_bytes_max => {
                Some(over(Limit::WaitingBytes))
            }
            Ok(_) if self.writable.len() > options.batch_writes_max => Some(over(Limit::WaitingCommits)),
            Ok(_) => None,
        };
        if let Some(error) = refusal {
            return Err(error);
        }
        if self.slots.get(key).is_some_and(|slot| slot.calls >= options.calls_per_key_max) {
            return Err(over(Limit::CallsPerKey));
        }
        let weight = pending.weight();
        self.waiting_bytes += weight;
        self.post(key, Mail::Call(pending));
        if let Some(slot) = self.slots.get_mut(key) {
            slot.calls += 1;
            slot.bytes += weight;
        }
        Ok(())
    }

    /// Delivers mail to a key and puts the key in the run queue. Mail for a partition that this worker does
    /// not own is dropped.
    pub(crate) fn post(&mut self, key: &Key, mail: Mail) {
        if !self.slots.contains_key(key) {
            let Ok(lease) = self.lease_of(key) else { return };
            let slot = Slot::new(Resident::cold(key.clone(), lease.clone()), self.residents.tick());
            self.resident_bytes += slot.weight;
            self.residents.put(key.clone(), slot.used_at);
            self.slots.insert(key.clone(), slot);
        }
        if let Some(slot) = self.slots.get_mut(key) {
            slot.mail.add(mail);
        }
        self.queue(key);
    }

    /// Delivers mail to a key only if the key is in memory.
    pub(crate) fn post_resident(&mut self, key: &Key, mail: Mail) {
        if self.slots.contains_key(key) {
            self.post(key, mail);
        }
    }

    pub(crate) fn is_resident(&self, key: &Key) -> bool {
        self.slots.contains_key(key)
    }

    /// Puts a key in the run queue. If a thread is visiting the key, the key is queued when that visit
    /// ends.
    pub(crate) fn queue(&mut self, key: &Key) {
        let Some(slot) = self.slots.get_mut(key) else { return };
        if slot.resident.is_none() {
            slot.was_called = true;
        } else if !slot.is_queued {
            slot.is_queued = true;
            self.runnable.push_back(key.clone());
        }
    }

    /// Whether the timer, which waits, can continue.
    pub(crate) fn may_ring(&mut self, options: &Options) -> bool {
        let may = self.timer_waits && self.runnable.len() < options.pace / 2 + 1;
        self.timer_waits &= !may;
        may
    }

    /// Gives an entity the verdict on its chain. If a thread is visiting the key, the verdict is delivered
    /// as mail.
    pub(crate) fn settle(&mut self, chain: &(Key, Version), verdict: Settled, at: &Shared, released: &mut Released) {
        let (key, version) = chain;
        let Some(mut resident) = self.slots.get_mut(key).and_then(|slot| slot.resident.take()) else {
            return self.post_verdict(chain, verdict);
        };
        self.was_written(key);
        let mut out = Effects::default();
        resident.settle(*version, verdict, at, &mut out);
        // A resident that forgot everything must be read again, even without new input. A resident that only holds
        // callers needs no visit.
        let more = !resident.only_holds() || !resident.is_warm();
        self.put_back(key, resident, out, more, at, released);
    }

    /// Delivers the verdict as mail, for the next visit.
    pub(crate) fn post_verdict(&mut self, (key, version): &(Key, Version), verdict: Settled) {
        self.was_written(key);
        self.post_resident(key, Mail::Settled(*version, verdict));
    }

    fn was_written(&mut self, key: &Key) {
        if let Some(written) = &mut self.written {
            written.insert(key.clone());
        }
    }

    /// Returns a resident to its slot after a visit or a settlement, and carries out its effects.
    pub(crate) fn put_back(
        &mut self,
        key: &Key,
        resident: Box<Resident>,
        out: Effects,
        more: bool,
        at: &Shared,
        released: &mut Released,
    ) {
        let Some(slot) = self.slots.get_mut(key) else { return };
        if slot.is_lost {
            return self.remove_lost(key, resident, out, at, released);
        }
        let (calls, bytes) = waiting(&resident, &slot.mail);
        self.waiting_bytes = self.waiting_bytes + bytes - slot.bytes;
        self.resident_bytes = self.resident_bytes + resident.weight() - slot.weight;
        (slot.calls, slot.bytes, slot.weight) = (calls, bytes, resident.weight());
        if resident.is_writable() && !slot.is_writable {
            slot.is_writable = true;
            self.writable.push_back(key.clone());
        }
        slot.used_at = self.residents.tick();
        let again = more || !slot.mail.is_empty() || std::mem::take(&mut slot.was_called);
        slot.resident = Some(resident);
        if again {
            self.queue(key);
        }
        self.carry_out(key, out, at, released);
        if self.resident_bytes > at.options.resident_bytes_max {
            self.evict(at, released);
        }
    }

    pub(crate) fn carry_out(&mut self, key: &Key, out: Effects, at: &Shared, released: &mut Released) {
        for to in out.looks {
            self.post(&to, Mail::Look);
        }
        // Messages reach their receivers before the answers of the same commit go out (M2).
        for (to, letter) in out.messages {
            self.post(&to, Mail::Message(letter));
        }
        if !out.reads.is_empty() {
            self.next_timer += 1;
            let read = self.next_timer;
            if let Some(resident) = self.slots.get_mut(key).and_then(|slot| slot.resident.as_mut()) {
                resident.read_was_sent(read);
                self.wanted.push_back(Wanted::Resident(key.clone(), read, out.reads));
            }
        }
        if let Some(alarm) = out.alarm {
            self.near.set(key, alarm, None);
            released.ring |= alarm.is_some() && self.near.next() == alarm;
            if self.near.drew_nearer() {
                at.scanner.notify_one();
            }
        }
        for (when, ring) in out.timers {
            released.ring |= self.set_timer(when, key.clone(), ring);
        }
        for other in out.wake {
            self.queue(&other);
        }
        if out.wants_work_place && !self.work_line.contains(key) {
            self.work_line.push_back(key.clone());
        }
        self.counts.turns += out.turns;
        self.counts.alarms += out.rung;
        self.counts.started += out.started;
        self.counts.late_ends += out.late_ends;
        self.counts.dead_letters += out.dead_letters;
        released.answers.extend(out.answers);
        released.events.extend(out.events);
        released.dropped.extend(out.dropped);
        released.trash.extend(out.trash);
        released.ring |= self.may_ring(&at.options);
    }

    fn set_timer(&mut self, when: Duration, key: Key, ring: Ring) -> bool {
        self.next_timer += 1;
        self.timers.insert((when, self.next_timer), (key, ring));
        self.timers.first_key_value().is_some_and(|((first, _), _)| *first == when)
    }

    /// Rings the alarms and timers that are due. Returns the time when this must be done again.
    pub(crate) fn ring(&mut self, now: Millis, monotonic: Duration, at: &Shared) -> Option<Duration> {
        let room = at.options.pace.saturating_sub(self.runnable.len());
        for (key, record) in self.near.take_due(now, room) {
            if let Some(record) = record.filter(|_| !self.is_resident(&key)) {
                self.post(&key, Mail::Woken(record));
            }
            self.post(&key, Mail::Alarm);
        }
        while let Some(entry) = self.timers.first_entry()
            && entry.key().0 <= monotonic
        {
            let (key, ring) = entry.remove();
            self.post_resident(&key, Mail::Rang(ring));
        }
        self.timer_waits = room == 0;
        let alarm = self.near.next().filter(|_| room > 0).map(|next| monotonic + next.since(now));
        let timer = self.timers.first_key_value().map(|((when, _), _)| *when);
        let lease = self.leases.values().map(|lease| lease.until()).min();
        [alarm, timer, lease].into_iter().flatten().min()
    }

    /// Whether nothing runs and nothing is in flight, so that a closing kernel can end.
    pub(crate) fn is_at_rest(&self) -> bool {
        let busy = |slot: &Slot| match &slot.resident {
            None => true,
            Some(resident) => !resident.is_at_rest(),
        };
        !self.is_writing && !self.slots.values().any(busy)
    }

    pub(crate) fn written_one_batch(&mut self, writes: usize) {
        self.counts.batches += 1;
        self.counts.writes += writes as u64;
    }

    pub(crate) fn run_queue(&self) -> usize {
        self.runnable.len()
    }
}

/// Returns the number of calls that wait at a key, and their bytes.
fn waiting(resident: &Resident, mail: &[Mail]) -> (usize, usize) {
    let mailed = mail.iter().filter_map(|mail| match mail {
        Mail::Call(pending) => Some(pending.weight()),
        _ => None,
    });
    let all = resident.waiting_callers().map(Pending::weight).chain(mailed);
    all.fold((0, 0), |(calls, bytes), weight| (calls + 1, bytes + weight))
}
