//! Opening and closing a kernel, and listening to its events.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::sync::broadcast;

use crate::{
    Error, Partition,
    kernel::{
        state::{core::Core, effects::Event, shared::Shared},
        threads::{
            leases::Leases,
            maintenance::Maintenance,
            scanner::{HintListener, Scanner},
            timer::Timer,
            turns::TurnThread,
            watchdog::Watchdog,
        },
        util::race::{First, race},
    },
    store::{Batch, Config, Ready, StoreError, StoreErrorKind},
};

/// The counts of an opening stop at this number.
const COUNTED_MAX: usize = 1_000;

/// How long a kernel that is dropped waits for the batch in flight.
const DROP_GRACE: Duration = Duration::from_secs(2);

/// The threads of a kernel that has ended are waited for at least this long. Only code that blocks takes
/// longer.
const THREADS_MIN: Duration = Duration::from_secs(1);

/// How long a store call in flight may delay a shutdown: a transaction of the author, a disk that hangs.
const STORE_MAX: Duration = Duration::from_secs(10);

const STILL_IN_USE: &str = "the runtime has ended, and a call to the store is still under way: a transaction's code \
     blocks, or the disk; shut down again to wait for it";

/// What an opening found (R1). Counts stop at 1,000, so that an opening does not wait for its whole past.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Partitions that are owned now.
    pub partitions: usize,
    /// Owned partitions that their previous owner did not end in order.
    pub unclean: usize,
    /// Alarms that are overdue.
    pub overdue: usize,
    /// Entities whose work resumes.
    pub unfinished: usize,
    /// Keys with messages in their inbox.
    pub inboxes: usize,
    /// Entities that are parked.
    pub parked: usize,
}

impl Shared {
    pub(crate) async fn open(self: &Arc<Self>) -> Result<Report, StoreError> {
        let hints = self.store()?.hints();
        let taken = Leases::new(self).take().await?;
        self.keep_configs().await?;
        let partitions: Vec<Partition> = taken.iter().map(|lease| lease.partition).collect();
        let unclean = taken.iter().filter(|lease| !lease.clean).count();
        let report = Report { partitions: taken.len(), unclean, ..self.count(partitions).await? };
        let weak_kernel = self.weak_kernel();
        self.registry.iter().for_each(|definition| definition.handler.opened(&weak_kernel));
        self.start_loops(hints);
        Ok(report)
    }

    async fn keep_configs(&self) -> Result<(), StoreError> {
        let config = |definition: &Arc<crate::Definition>| Config {
            definition: definition.name.clone(),
            fingerprint: definition.fingerprint(),
            body: definition.config.clone(),
        };
        let configs = self.registry.iter().map(config).collect();
        self.store()?.commit(&Batch { now: self.time.now(), configs, ..Batch::default() }).await.map(drop)
    }

    async fn count(&self, partitions: Vec<Partition>) -> Result<Report, StoreError> {
        let until = self.time.now();
        Ok(Report {
            overdue: self.count_one(&Ready::Due { partitions: partitions.clone(), until }).await?,
            unfinished: self.count_one(&Ready::Active { partitions: partitions.clone() }).await?,
            inboxes: self.count_one(&Ready::Inbox { partitions: partitions.clone() }).await?,
            parked: self.count_one(&Ready::Parked { partitions }).await?,
            ..Report::default()
        })
    }

    async fn count_one(&self, which: &Ready) -> Result<usize, StoreError> {
        Ok(self.store()?.ready(which, None, COUNTED_MAX).await?.len())
    }

    fn start_loops(self: &Arc<Self>, hints: crate::store::Hints) {
        for _ in 0..self.options.turn_threads.max(2) {
            TurnThread::start(self, "turns");
        }
        let shared = self.clone();
        self.start_loop("timer", async move { Timer::new(&shared).run().await });
        let shared = self.clone();
        self.start_loop("leases", async move { Leases::new(&shared).run().await });
        let shared = self.clone();
        self.start_loop("scanner", async move { Scanner::new(&shared).run().await });
        let shared = self.clone();
        self.start_loop("hints", async move { HintListener::new(&shared, hints).run().await });
        let shared = self.clone();
        self.start_loop("maintenance", async move { Maintenance::new(&shared).run().await });
        let shared = self.clone();
        self.start_loop("watchdog", async move { Watchdog::new(shared).run().await });
    }

    pub(crate) async fn shut_down(&self, limit: Duration) -> Result<(), Error> {
        self.end(limit, limit.min(Duration::from_secs(1))).await
    }

    /// Ends a kernel that was dropped without a shutdown. If the returned task is dropped, it still closes
    /// the kernel.
    pub(crate) fn end_unasked(self: Arc<Self>) -> impl Future<Output = ()> + Send {
        let closing = Closing(self);
        async move {
            if let Err(error) = closing.0.end(Duration::ZERO, DROP_GRACE).await {
                tracing::warn!(%error, "the runtime was dropped and could not end in order");
            }
        }
    }

    /// Gives work `limit` to end, then gives the batch in flight `grace`, and releases the partitions. When
    /// this returns, the store is given up and the threads have ended. A thread that the author's code
    /// blocks is not waited for beyond its time.
    async fn end(&self, limit: Duration, grace: Duration) -> Result<(), Error> {
        // A second call waits for the first, and then finds nothing left to end.
        let _only = self.shutdown.lock().await;
        let released = if self.is_closed() { Ok(()) } else { self.rest_and_release(limit, grace).await };
        self.close();
        let freed = self.wait_for_the_end(limit.max(THREADS_MIN)).await;
        released?;
        freed
    }

    /// Waits until nothing runs, then releases the partitions. Work that ended in time may still be on its
    /// way to the store, hence the grace. The release is tried once: a store that is down is not waited for
    /// again.
    async fn rest_and_release(&self, limit: Duration, grace: Duration) -> Result<(), StoreError> {
        self.refuse_calls();
        let until = self.driver.monotonic() + limit;
        let ended = self.rest_until(until).await;
        self.is_dropping_work.store(true, Ordering::Relaxed);
        if !ended {
            self.rest_until(until.max(self.driver.monotonic() + grace)).await;
        }
        // The end is clean even if code still blocks a thread: an end on request is no crash (R2).
        Leases::new(self).release(true).await
    }

    /// Waits for the threads, then for the store, which closes when the last call to it returns.
    async fn wait_for_the_end(&self, limit: Duration) -> Result<(), Error> {
        let until = self.driver.monotonic() + limit;
        if let First::Right(()) = race(self.loops_ended(), self.driver.sleep_until(until)).await {
            tracing::warn!("the runtime has ended, and code still blocks a thread of it");
        }
        let until = self.driver.monotonic() + STORE_MAX;
        match race(self.store_closed(), self.driver.sleep_until(until)).await {
            First::Left(()) => Ok(()),
            First::Right(()) => Err(StoreError::new(StoreErrorKind::Busy, STILL_IN_USE).into()),
        }
    }

    async fn rest_until(&self, until: Duration) -> bool {
        loop {
            if self.is_dropping_work.load(Ordering::Relaxed) {
                self.with(Core::drop_work);
            }
            if self.lock().is_at_rest() {
                return true;
            }
            let now = self.driver.monotonic();
            if now >= until {
                return false;
            }
            self.driver.sleep_until((now + Duration::from_millis(5)).min(until)).await;
        }
    }
}

/// Closes the kernel when it is dropped.
struct Closing(Arc<Shared>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Receives lifecycle events after their commits. A slow listener loses events, which are counted, and does
/// not slow the kernel down.
#[derive(Debug)]
pub struct Listener {
    receiver: broadcast::Receiver<Option<Event>>,
    missed: u64,
    is_over: bool,
}

impl Listener {
    pub(crate) fn new(receiver: broadcast::Receiver<Option<Event>>, is_over: bool) -> Self {
        Self { receiver, missed: 0, is_over }
    }

    /// Returns the next event; `None` when the kernel has ended.
    pub async fn next(&mut self) -> Option<Event> {
        while !self.is_over {
            match self.receiver.recv().await {
                Ok(Some(event)) => return Some(event),
                Err(broadcast::error::RecvError::Lagged(count)) => self.missed += count,
                Ok(None) | Err(broadcast::error::RecvError::Closed) => self.is_over = true,
            }
        }
        None
    }

    /// Returns how many events were lost because they were not fetched in time.
    pub fn missed(&self) -> u64 {
        self.missed
    }
}
