//! A turn thread does the kernel's next job: a visit, a batch or a read.
//!
//! All turn threads are alike. So a lone call needs only one of them, and a thread that the author's code
//! blocks can be replaced by another.

use std::{sync::Arc, time::Duration};

use super::{reader::StoreReader, watchdog::ThreadSlot, writer::Writer};
use crate::{
    Key,
    kernel::{
        resident::{Resident, turn::guarded},
        state::{
            core::{Job, Released},
            effects::Effects,
            mail::Mail,
            shared::Shared,
        },
    },
};

/// How long a visit may take before other keys have a turn.
const VISIT_MAX: Duration = Duration::from_millis(1);

/// One thread of the kernel, and its slot at the watchdog.
pub(crate) struct TurnThread {
    shared: Arc<Shared>,
    slot: Arc<ThreadSlot>,
}

impl TurnThread {
    /// Starts a thread of this name.
    pub(crate) fn start(shared: &Arc<Shared>, name: &str) {
        let thread = Self { shared: shared.clone(), slot: shared.watch.thread_started() };
        shared.start_loop(name, async move { thread.run().await });
    }

    /// Works until the kernel is closed, or until this thread was replaced.
    async fn run(&self) {
        let mut next = None;
        while let Some(job) = self.job(next).await {
            next = None;
            match job {
                Job::Visit(key, resident, mail) => next = self.visit_guarded(&key, resident, mail),
                Job::Write(batch) => Writer::new(&self.shared, batch).run().await,
                Job::Load(wanted) => StoreReader::new(&self.shared).load(wanted).await,
            }
            if next.is_none() && self.slot.is_replaced() {
                // Wakes threads for the jobs that are left: the replacement may be asleep.
                return self.shared.with(|_, _| ());
            }
        }
    }

    /// Returns the given job, or waits for the next one.
    async fn job(&self, mut job: Option<Job>) -> Option<Job> {
        while job.is_none() && !self.shared.is_closed() {
            job = self.job_now();
            if job.is_none() {
                self.shared.idle_threads.acquire().await.ok()?.forget();
            }
        }
        job
    }

    fn job_now(&self) -> Option<Job> {
        let mut released = Released::default();
        let mut core = self.shared.lock();
        let job = core.take_job(&self.shared, &mut released);
        core.idle_threads += usize::from(job.is_none());
        drop(core);
        self.shared.let_go(released);
        job
    }

    /// Visits a key and returns the next job. A panic here would be a bug of ours: the key leaves memory
    /// and is read again, and other keys are not affected.
    fn visit_guarded(&self, key: &Key, resident: Box<Resident>, mail: Vec<Mail>) -> Option<Job> {
        match guarded(|| self.visit(key, resident, mail)) {
            Ok((next, released)) => {
                // An answer runs the waker of its caller, which is foreign code. The next job must not be
                // lost if the waker panics.
                if let Err(message) = guarded(|| self.shared.let_go(released)) {
                    tracing::error!(message, "a caller's waker panicked");
                }
                next
            }
            Err(message) => {
                tracing::error!(%key, message, "the kernel panicked; please report this as a bug of Drystone");
                self.slot.end();
                self.shared.with(|core, released| core.forget(key, &self.shared, released));
                None
            }
        }
    }

    /// Reads the mail of a key and takes its turns, up to a bound, so that one hot key does not starve the
    /// others.
    fn visit(&self, key: &Key, mut resident: Box<Resident>, mail: Vec<Mail>) -> (Option<Job>, Released) {
        let began = self.shared.driver.monotonic();
        self.slot.begin(began, key);
        let mut out = Effects { thread: Some(self.slot.clone()), ..Effects::default() };
        if self.shared.options.forget_one_in.is_some_and(|n| self.shared.driver.random().is_multiple_of(n.max(1))) {
            resident.forget();
        }
        resident.receive(mail, &self.shared, &mut out);
        // A worker that was asleep must not act under a lease that is over; the timer drops the lease
        // (fD9).
        let more = resident.lease().is_valid(began) && self.tend(&mut resident, began, &mut out);
        resident.answer_askers(&self.shared);
        resident.slim();
        self.slot.end();
        let mut released = Released::default();
        let mut core = self.shared.lock();
        core.put_back(key, resident, out, more, &self.shared, &mut released);
        // The next job is taken under the same lock, because this thread is free for it: waking a second
        // thread would slow a lone call down. But a drop of the author's values may take long, so before
        // such a drop other threads are woken instead.
        let next = if released.drops() || self.slot.is_replaced() || self.shared.is_closed() {
            released.threads += core.threads_wanted(&self.shared.options);
            None
        } else {
            core.take_job(&self.shared, &mut released)
        };
        drop(core);
        (next, released)
    }

    /// Takes turns, then lists and starts the work that follows. Returns whether there is more to do now.
    fn tend(&self, resident: &mut Resident, began: Duration, out: &mut Effects) -> bool {
        let mut more = self.take_turns(resident, began, out);
        resident.list_if_due(&self.shared);
        resident.tend_work(&self.shared, out);
        if resident.has_ends() {
            // Work that ended at its first poll is recorded in this very visit.
            more = self.take_turns(resident, began, out);
            resident.list_if_due(&self.shared);
        }
        resident.ask_for_rows(out);
        more || resident.has_ends()
    }

    fn take_turns(&self, resident: &mut Resident, began: Duration, out: &mut Effects) -> bool {
        for turn in 0..self.shared.options.turns_per_visit {
            if !resident.step(&self.shared, out) {
                return false;
            }
            if turn % 8 == 7 && self.shared.driver.monotonic().saturating_sub(began) > VISIT_MAX {
                return true;
            }
        }
        true
    }
}
