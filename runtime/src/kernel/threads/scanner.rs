//! The scout: scans the store for keys that must be woken. Hints say where to look; only scans are
//! reliable.
//!
//! It recovers partitions that were taken over (R1), extends the near horizon as time passes, and every few
//! seconds scans for work that a lost hint would leave asleep forever.

use std::{sync::Arc, time::Duration};

use crate::{
    Partition,
    kernel::{
        state::{core::Core, shared::Shared},
        util::race::race,
    },
    planted::Bug,
    store::{Cursor, Hints, Ready, StoreError, Woken},
};

/// How many keys one page of a scan wakes.
const PAGE: usize = 512;

impl Shared {
    pub(crate) async fn scout_for_ever(self: Arc<Self>) {
        let mut failures = 0;
        let mut next_rescan = self.driver.monotonic() + self.options.rescan_every;
        // A kernel that is closing takes up nothing new.
        while !self.is_closing() {
            match self.scout_once(&mut next_rescan).await {
                Ok(()) => failures = 0,
                Err(error) => {
                    failures += 1;
                    self.store_trouble(&error);
                    self.pause(failures).await;
                    continue;
                }
            }
            let until = self.next_scout(next_rescan);
            race(self.scout.notified(), self.driver.sleep_until(until)).await;
        }
    }

    async fn scout_once(&self, next_rescan: &mut Duration) -> Result<(), StoreError> {
        self.recover_taken().await?;
        if self.driver.monotonic() >= *next_rescan {
            *next_rescan = self.driver.monotonic() + self.options.rescan_every;
            if !Bug::NoRescan.planted() {
                self.rescan().await?;
            }
        }
        let hinted = self.lock().hinted.clone();
        if !hinted.is_empty() {
            self.lock().hinted.clear();
            self.scan(Ready::Inbox { partitions: hinted.into_iter().collect() }, Core::look_at).await?;
        }
        self.extend_horizon().await
    }

    /// Returns when to scan next, if no hint comes before.
    fn next_scout(&self, next_rescan: Duration) -> Duration {
        let monotonic = self.driver.monotonic();
        let edge = self.lock().near.horizon().before(self.options.horizon / 4).since(self.time.now());
        // At the edge already: memory is full of alarms. The store is asked again when some have rung.
        let pause = if edge.is_zero() { Duration::from_millis(20) } else { edge };
        next_rescan.min(monotonic + pause)
    }

    /// Wakes everything in partitions that were taken over: running work, keys with messages, and parked
    /// entities that may resume.
    async fn recover_taken(&self) -> Result<(), StoreError> {
        let taken = self.lock().to_recover.clone();
        if taken.is_empty() {
            return Ok(());
        }
        let partitions: Vec<Partition> = taken.keys().copied().collect();
        self.scan(Ready::Active { partitions: partitions.clone() }, Core::wake).await?;
        self.scan(Ready::Inbox { partitions: partitions.clone() }, Core::look_at).await?;
        self.scan(Ready::Parked { partitions }, Core::wake).await?;
        // A partition that was lost and taken again meanwhile must be recovered again: the keys woken here
        // have left memory.
        self.lock().to_recover.retain(|partition, epoch| taken.get(partition) != Some(epoch));
        Ok(())
    }

    /// Finds everything that no hint has named: messages from other workers, and alarms and work that
    /// memory lost.
    async fn rescan(&self) -> Result<(), StoreError> {
        let partitions = self.partitions_held();
        self.scan(Ready::Inbox { partitions: partitions.clone() }, Core::look_at).await?;
        self.scan(Ready::Active { partitions: partitions.clone() }, Core::wake).await?;
        let until = self.time.now();
        self.scan(Ready::Due { partitions, until }, Core::ring_again).await
    }

    /// Reads the alarms of the next stretch of time, with their records, as many as memory may keep.
    async fn extend_horizon(&self) -> Result<(), StoreError> {
        let now = self.time.now();
        let (horizon, room, forgotten) = {
            let core = self.lock();
            (core.near.horizon(), self.options.near_max.saturating_sub(core.near.len()), core.near.forgotten())
        };
        if horizon > now.after(self.options.horizon / 4) || room < PAGE.min(self.options.near_max / 2) {
            return Ok(());
        }
        let until = now.after(self.options.horizon);
        let which = Ready::Due { partitions: self.partitions_held(), until };
        let mut cursor = Some(Cursor::Alarm(horizon, crate::Version(u64::MAX >> 1)));
        loop {
            let page = self.page(&which, cursor.as_ref()).await?;
            let is_last = page.len() < PAGE;
            let reached =
                page.last().and_then(|woken| woken.entity.as_ref()?.alarm).filter(|_| !is_last).unwrap_or(until);
            cursor = page.last().map(|woken| woken.cursor.clone());
            let goes_on = self.with(|core, _| core.extend_near(page, reached, PAGE, forgotten));
            if is_last || !goes_on {
                break;
            }
        }
        self.ringer.notify_one();
        Ok(())
    }

    /// Pages through one scan, no faster than the woken keys are handled (A4).
    async fn scan(&self, which: Ready, deal: fn(&mut Core, Woken)) -> Result<(), StoreError> {
        let mut cursor = None;
        loop {
            let page = self.page(&which, cursor.as_ref()).await?;
            let is_last = page.len() < PAGE;
            cursor = page.last().map(|woken| woken.cursor.clone());
            self.with(|core, _| {
                page.into_iter().for_each(|woken| deal(core, woken));
                core.scan_ends();
            });
            if is_last {
                return Ok(());
            }
            self.wait_for_room().await;
        }
    }

    async fn page(&self, which: &Ready, cursor: Option<&Cursor>) -> Result<Vec<Woken>, StoreError> {
        self.lock().scan_begins();
        self.store()?.ready(which, cursor, PAGE).await
    }

    pub(crate) async fn wait_for_room(&self) {
        while !self.is_closed()
            && (self.lock().run_queue() > self.options.pace || self.window.waiting() > self.options.pace)
        {
            // Hints do not end this sleep: they are for the scout itself, when it is back.
            self.driver.sleep_until(self.driver.monotonic() + Duration::from_millis(5)).await;
        }
    }

    fn partitions_held(&self) -> Vec<Partition> {
        self.lock().leases.keys().copied().collect()
    }

    /// Passes the store's hints on. Hints may be lost, doubled or late.
    pub(crate) async fn listen_for_ever(self: Arc<Self>, mut hints: Hints) {
        while !self.is_closed() {
            match race(self.closed(), hints.next()).await {
                crate::kernel::util::race::First::Right(Some(partition)) => {
                    let mut core = self.lock();
                    // A worker that owns every partition delivers each message itself.
                    let others_write = core.leases.len() < core.partitions as usize;
                    if others_write && core.leases.contains_key(&partition) {
                        core.hinted.insert(partition);
                        self.scout.notify_one();
                    }
                }
                _ => return,
            }
        }
    }
}
