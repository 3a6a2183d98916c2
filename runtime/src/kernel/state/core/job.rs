//! What a kernel thread does next: a visit, a batch or a read; and how many threads are woken for the rest.

use std::collections::VecDeque;

use super::{Core, Released};
use crate::{
    Key,
    kernel::{
        Options,
        resident::Resident,
        state::{mail::Mail, shared::Shared},
        threads::{reader::Wanted, writer::InFlightBatch},
    },
};

/// While all threads are busy, a batch waits for at most this many times `turns_per_visit` visits. Without
/// the bound the first turns of a batch would wait too long.
const FEW_TIMES: usize = 8;

/// The next job of a kernel thread.
pub(crate) enum Job {
    /// Visits a key.
    Visit(Key, Box<Resident>, Vec<Mail>),
    /// Writes a batch.
    Write(InFlightBatch),
    /// Reads what residents asked for.
    Load(Vec<Wanted>),
}

impl Core {
    /// Takes the next job, and counts the threads that must be woken for the jobs that are left.
    pub(crate) fn take_job(&mut self, at: &Shared, released: &mut Released) -> Option<Job> {
        let job = self.next_job(at);
        if job.is_some() {
            released.threads += self.threads_wanted(&at.options);
        }
        released.ring |= self.may_ring(&at.options);
        job
    }

    /// Chooses the next job. While all threads are busy, turns come first, until as many keys were visited
    /// as still wait: the more keys wait, the more of them share a batch. If another thread is free to
    /// visit them, a batch is written without waiting.
    fn next_job(&mut self, at: &Shared) -> Option<Job> {
        if !self.is_loading && !self.wanted.is_empty() {
            self.is_loading = true;
            let count = self.wanted.len().min(256);
            return Some(Job::Load(self.wanted.drain(..count).collect()));
        }
        self.call_work_line(at);
        let writer_waits = !self.is_writing && !self.writable.is_empty();
        let few = at.options.turns_per_visit;
        let shared = self.runnable.len().clamp(few, few * FEW_TIMES);
        let is_time = self.free_threads(&at.options) > 0 || self.visits >= shared;
        if writer_waits
            && (self.runnable.is_empty() || is_time)
            && let Some(batch) = self.take_batch(at)
        {
            return Some(Job::Write(batch));
        }
        self.next_visit()
    }

    fn next_visit(&mut self) -> Option<Job> {
        while let Some(key) = self.runnable.pop_front() {
            let Some(slot) = self.slots.get_mut(&key) else { continue };
            slot.is_queued = false;
            if let Some(resident) = slot.resident.take() {
                self.visits += 1;
                slot.was_used = true;
                return Some(Job::Visit(key, resident, std::mem::take(&mut slot.mail)));
            }
        }
        None
    }

    fn call_work_line(&mut self, at: &Shared) {
        for _ in 0..at.free_places().min(self.work_line.len()) {
            if let Some(key) = self.work_line.pop_front() {
                self.queue(&key);
            }
        }
    }

    /// Returns how many more threads have something to do, and counts them as no longer idle.
    pub(crate) fn threads_wanted(&mut self, options: &Options) -> usize {
        let write = usize::from(!self.is_writing && !self.writable.is_empty());
        let load = usize::from(!self.is_loading && !self.wanted.is_empty());
        let visits = usize::from(!self.runnable.is_empty());
        let wanted = (write.max(visits) + load).min(self.free_threads(options) + load).min(self.idle_threads);
        self.idle_threads -= wanted;
        wanted
    }

    /// Returns the number of idle threads that may be woken for turns and batches. One is kept back unless
    /// a thread is reading: more running threads than processors slow each other down.
    fn free_threads(&self, options: &Options) -> usize {
        let is_kept = options.turn_threads > 2 && !self.is_loading;
        self.idle_threads.saturating_sub(usize::from(is_kept))
    }

    /// Takes every chain that waits, up to the limits of a batch, merged to one write per entity.
    fn take_batch(&mut self, at: &Shared) -> Option<InFlightBatch> {
        let most = self.writable.len().min(at.options.batch_writes_max);
        let mut batch = InFlightBatch::new(at.time.now(), most);
        let mut visiting = VecDeque::new();
        while batch.has_room(&at.options)
            && let Some(key) = self.writable.pop_front()
        {
            let Some(slot) = self.slots.get_mut(&key) else { continue };
            match slot.resident.as_mut() {
                // A thread is visiting the key: it stays in line.
                None => visiting.push_back(key),
                Some(resident) => {
                    slot.is_writable = false;
                    let before = resident.stored().filter(|_| cfg!(feature = "planted")).cloned();
                    if let Some((version, write)) = resident.take_write() {
                        batch.add((key, version), resident.lease().epoch, write, before);
                    }
                }
            }
        }
        self.writable.append(&mut visiting);
        if batch.is_empty() {
            return None;
        }
        self.is_writing = true;
        self.visits = 0;
        Some(batch)
    }

    pub(crate) fn loaded(&mut self) {
        self.is_loading = false;
    }

    pub(crate) fn written(&mut self) {
        self.is_writing = false;
    }
}
