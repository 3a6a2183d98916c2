//! The scanner: scans the store for keys that must be woken. Hints say where to look; only scans are
//! reliable.
//!
//! It recovers partitions that were taken over (R1), extends the near horizon as time passes, and every few
//! seconds scans for work that a lost hint would leave asleep forever.

use std::time::Duration;

use crate::{
    Partition,
    kernel::{
        state::{core::Core, shared::Shared},
        util::race::{First, race},
    },
    planted::Bug,
    store::{Cursor, Hints, Ready, StoreError, Woken},
};

/// How many keys one page of a scan wakes.
const PAGE: usize = 512;

/// The loop of the scanner.
pub(crate) struct Scanner<'a> {
    shared: &'a Shared,
    /// When to scan for what no hint has named, by the monotonic clock.
    next_rescan: Duration,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(shared: &'a Shared) -> Self {
        Self { shared, next_rescan: shared.driver.monotonic() + shared.options.rescan_every }
    }

    /// Scans until the kernel is closing.
    pub(crate) async fn run(&mut self) {
        let mut failures = 0;
        // A kernel that is closing takes up nothing new.
        while !self.shared.is_closing() {
            match self.scan_once().await {
                Ok(()) => failures = 0,
                Err(error) => {
                    failures += 1;
                    self.shared.store_trouble(&error);
                    self.shared.pause(failures).await;
                    continue;
                }
            }
            let until = self.next_scan();
            race(self.shared.scanner.notified(), self.shared.driver.sleep_until(until)).await;
        }
    }

    async fn scan_once(&mut self) -> Result<(), StoreError> {
        self.recover_taken().await?;
        if self.shared.driver.monotonic() >= self.next_rescan {
            self.next_rescan = self.shared.driver.monotonic() + self.shared.options.rescan_every;
            if !Bug::NoRescan.planted() {
                self.rescan().await?;
            }
        }
        let hinted = self.shared.lock().hinted.clone();
        if !hinted.is_empty() {
            self.shared.lock().hinted.clear();
            self.scan(Ready::Inbox { partitions: hinted.into_iter().collect() }, Core::look_at).await?;
        }
        self.extend_horizon().await
    }

    /// Returns when to scan next, if no hint comes before.
    fn next_scan(&self) -> Duration {
        let monotonic = self.shared.driver.monotonic();
        let edge =
            self.shared.lock().near.horizon().before(self.shared.options.horizon / 4).since(self.shared.time.now());
        // At the edge already: memory is full of alarms. The store is asked again when some have rung.
        let pause = if edge.is_zero() { Duration::from_millis(20) } else { edge };
        self.next_rescan.min(monotonic + pause)
    }

    /// Wakes everything in partitions that were taken over: running work, keys with messages, and parked
    /// entities that may resume.
    async fn recover_taken(&self) -> Result<(), StoreError> {
        let taken = self.shared.lock().to_recover.clone();
        if taken.is_empty() {
            return Ok(());
        }
        let partitions: Vec<Partition> = taken.keys().copied().collect();
        self.scan(Ready::Active { partitions: partitions.clone() }, Core::wake).await?;
        self.scan(Ready::Inbox { partitions: partitions.clone() }, Core::look_at).await?;
        self.scan(Ready::Parked { partitions }, Core::wake).await?;
        // A partition that was lost and taken again meanwhile must be recovered again: the keys woken here
        // have left memory.
        self.shared.lock().to_recover.retain(|partition, epoch| taken.get(partition) != Some(epoch));
        Ok(())
    }

    /// Finds everything that no hint has named: messages from other workers, and alarms and work that
    /// memory lost.
    async fn rescan(&self) -> Result<(), StoreError> {
        let partitions = self.partitions_held();
        self.scan(Ready::Inbox { partitions: partitions.clone() }, Core::look_at).await?;
        self.scan(Ready::Active { partitions: partitions.clone() }, Core::wake).await?;
        let until = self.shared.time.now();
        self.scan(Ready::Due { partitions, until }, Core::ring_again).await
    }

    /// Reads the alarms of the next stretch of time, with their records, as many as memory may keep.
    async fn extend_horizon(&self) -> Result<(), StoreError> {
        let now = self.shared.time.now();
        let (horizon, room, forgotten) = {
            let core = self.shared.lock();
            (core.near.horizon(), self.shared.options.near_max.saturating_sub(core.near.len()), core.near.forgotten())
        };
        if horizon > now.after(self.shared.options.horizon / 4) || room < PAGE.min(self.shared.options.near_max / 2) {
            return Ok(());
        }
        let until = now.after(self.shared.options.horizon);
        let which = Ready::Due { partitions: self.partitions_held(), until };
        let mut cursor = Some(Cursor::Alarm(horizon, crate::Version(u64::MAX >> 1)));
        loop {
            let page = self.page(&which, cursor.as_ref()).await?;
            let is_last = page.len() < PAGE;
            let reached =
                page.last().and_then(|woken| woken.entity.as_ref()?.alarm).filter(|_| !is_last).unwrap_or(until);
            cursor = page.last().map(|woken| woken.cursor.clone());
            let goes_on = self.shared.with(|core, _| core.extend_near(page, reached, PAGE, forgotten));
            if is_last || !goes_on {
                break;
            }
        }
        self.shared.timer.notify_one();
        Ok(())
    }

    /// Pages through one scan, no faster than the woken keys are handled (A4).
    async fn scan(&self, which: Ready, deal: fn(&mut Core, Woken)) -> Result<(), StoreError> {
        let mut cursor = None;
        loop {
            let page = self.page(&which, cursor.as_ref()).await?;
            let is_last = page.len() < PAGE;
            cursor = page.last().map(|woken| woken.cursor.clone());
            self.shared.with(|core, _| {
                page.into_iter().for_each(|woken| deal(core, woken));
                core.scan_ends();
            });
            if is_last {
                return Ok(());
            }
            self.shared.wait_for_room().await;
        }
    }

    async fn page(&self, which: &Ready, cursor: Option<&Cursor>) -> Result<Vec<Woken>, StoreError> {
        self.shared.lock().scan_begins();
        self.shared.store()?.ready(which, cursor, PAGE).await
    }

    fn partitions_held(&self) -> Vec<Partition> {
        self.shared.lock().leases.keys().copied().collect()
    }
}

/// The loop that passes the store's hints on. Hints may be lost, doubled or late.
pub(crate) struct HintListener<'a> {
    shared: &'a Shared,
    hints: Hints,
}

impl<'a> HintListener<'a> {
    pub(crate) fn new(shared: &'a Shared, hints: Hints) -> Self {
        Self { shared, hints }
    }

    /// Listens until the kernel has ended.
    pub(crate) async fn run(&mut self) {
        while !self.shared.is_closed()
            && let First::Right(Some(partition)) = race(self.shared.closed(), self.hints.next()).await
        {
            let mut core = self.shared.lock();
            // A worker that owns every partition delivers each message itself.
            let others_write = core.leases.len() < core.partitions as usize;
            if others_write && core.leases.contains_key(&partition) {
                core.hinted.insert(partition);
                self.shared.scanner.notify_one();
            }
        }
    }
}
