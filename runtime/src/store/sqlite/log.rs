//! The length of the write-ahead log, and the turns of those who shorten it.
//!
//! The writer reports every commit, and the length when that can have changed much. The checkpoint thread waits here for
//! work. Two parties can keep
//! the writer from shortening the log: the checkpoint thread, for SQLite refuses a second checkpoint at once instead of
//! waiting for the first, and our own readers, whose snapshots need the log. The writer waits for both, so the bound
//! does not depend on how fast any thread is. A reader in another process takes part in none of this.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError, RwLock},
    time::Duration,
};

/// So much may be written before the writer asks how long the log is: to ask takes time, and a lone caller waits for it.
const LOOK_BYTES: u64 = 1 << 20;

/// No batch of commits writes so many times what it was estimated at: a row changes a page in each of its few B-trees,
/// and a split of a page touches its siblings.
const ESTIMATE_FACTOR: u64 = 16;

/// What the writer, the checkpoint thread and the readers of one file know of its log.
#[derive(Debug)]
pub(super) struct Log {
    bytes_max: u64,
    state: Mutex<State>,
    changed: Condvar,
    checkpoint: Mutex<()>,
    /// Held for reading by every snapshot of ours.
    snapshots: RwLock<()>,
}

#[derive(Debug)]
struct State {
    /// The length when the writer last asked for it.
    bytes: u64,
    /// An estimate of what was written since.
    unseen: u64,
    /// Counts commits: by it the thread sees whether anybody writes.
    commits: u64,
    /// Above this length the thread copies the log.
    copy_above: u64,
    /// Above this length the writer empties the log.
    empty_above: u64,
    /// Whether the thread sleeps until something is written.
    is_asleep: bool,
    is_closed: bool,
}

/// What the checkpoint thread does next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Task {
    Copy,
    Empty,
    End,
}

impl Log {
    pub(super) fn new(bytes_max: u64) -> Self {
        let (copy_above, empty_above) = (bytes_max / 4, bytes_max);
        let state = State {
            bytes: 0,
            unseen: LOOK_BYTES,
            commits: 0,
            copy_above,
            empty_above,
            is_asleep: false,
            is_closed: false,
        };
        Self {
            bytes_max,
            state: Mutex::new(state),
            changed: Condvar::new(),
            checkpoint: Mutex::new(()),
            snapshots: RwLock::new(()),
        }
    }

    /// Notes a commit that wrote about so many bytes. Returns whether the log may have grown so much that the writer must
    /// ask for its length: the nearer the bound, the sooner.
    pub(super) fn wrote(&self, bytes: u64) -> bool {
        let mut state = self.state();
        state.commits += 1;
        if state.is_asleep {
            self.changed.notify_one();
        }
        state.unseen = state.unseen.saturating_add(bytes);
        let margin = self.bytes_max.saturating_sub(state.bytes);
        state.unseen >= LOOK_BYTES.min(margin / ESTIMATE_FACTOR)
    }

    /// Notes the length of the log. Returns whether the writer must empty the log now.
    pub(super) fn measured(&self, bytes: u64) -> bool {
        let mut state = self.state();
        (state.bytes, state.unseen) = (bytes, 0);
        if bytes <= self.bytes_max / 4 {
            state.copy_above = self.bytes_max / 4;
        }
        if bytes <= self.bytes_max {
            state.empty_above = self.bytes_max;
        }
        if bytes > state.copy_above {
            self.changed.notify_one();
        }
        bytes > state.empty_above
    }

    pub(super) fn emptied(&self) {
        self.state().bytes = 0;
    }

    /// Notes that a reader in another process kept the log from being emptied. Each try waits for that reader, so the log
    /// may grow by another quarter of the bound before the next one.
    pub(super) fn held_back(&self) {
        let mut state = self.state();
        state.empty_above = state.bytes + self.bytes_max / 4;
    }

    /// Notes that the log was copied. A reader can keep the next commit from writing the log over, so that it still grows;
    /// then the thread does not copy it at every commit.
    pub(super) fn copied(&self) {
        let mut state = self.state();
        state.copy_above = state.bytes + self.bytes_max / 4;
    }

    /// Waits until nobody else checkpoints, and keeps others from it meanwhile.
    pub(super) fn begin_checkpoint(&self) -> impl Drop + '_ {
        self.checkpoint.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the writer from emptying the log while a snapshot of ours is open.
    pub(super) fn begin_snapshot(&self) -> impl Drop + '_ {
        self.snapshots.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all snapshots of ours have ended, and keeps new ones from beginning meanwhile.
    pub(super) fn end_snapshots(&self) -> impl Drop + '_ {
        self.snapshots.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the checkpoint thread.
    pub(super) fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_one();
    }

    /// Waits for the next task of the thread. `emptied_at` is the number of commits at which it emptied the log last.
    pub(super) fn next_task(&self, emptied_at: u64, idle: Duration) -> Task {
        let mut state = self.state();
        loop {
            if state.is_closed {
                return Task::End;
            }
            if state.bytes > state.copy_above {
                return Task::Copy;
            }
            let before = state.commits;
            state.is_asleep = before == emptied_at;
            if state.is_asleep {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.is_asleep = false;
                continue;
            }
            let (after, waited) = self.changed.wait_timeout(state, idle).unwrap_or_else(PoisonError::into_inner);
            state = after;
            if waited.timed_out() && state.commits == before {
                return Task::Empty;
            }
        }
    }

    pub(super) fn commits(&self) -> u64 {
        self.state().commits
    }

    pub(super) fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: u64 = 64 << 20;

    /// fB10
    #[test]
    fn the_thread_copies_a_long_log_empties_one_that_nobody_writes_to_and_ends() {
        let log = Log::new(MAX);
        log.wrote(1);
        assert!(!log.measured(MAX / 4 + 1));
        assert_eq!(log.next_task(0, Duration::ZERO), Task::Copy);
        log.copied();
        assert_eq!(log.next_task(0, Duration::ZERO), Task::Empty);
        log.close();
        assert_eq!(log.next_task(log.commits(), Duration::ZERO), Task::End);
    }

    /// fB10
    #[test]
    fn the_length_is_asked_for_once_in_a_megabyte_and_at_every_commit_near_the_bound() {
        let log = Log::new(MAX);
        assert!(log.wrote(1), "the first commit: nobody knows how long the log was before");
        log.measured(0);
        assert!(!log.wrote(LOOK_BYTES - 1));
        assert!(log.wrote(1));
        assert!(log.wrote(u64::MAX), "nobody knows how much this one wrote");
        log.measured(MAX - ESTIMATE_FACTOR * 10);
        assert!(!log.wrote(9));
        assert!(log.wrote(1));
        log.measured(MAX);
        assert!(log.wrote(0));
    }

    /// fB10
    #[test]
    fn beyond_the_bound_the_log_is_emptied_and_behind_a_reader_once_per_quarter() {
        let log = Log::new(MAX);
        assert!(!log.measured(MAX));
        assert!(log.measured(MAX + 1));
        log.held_back();
        assert!(!log.measured(MAX + 1 + MAX / 4));
        assert!(log.measured(MAX + 2 + MAX / 4));
        log.emptied();
        assert!(!log.measured(MAX));
        assert!(log.measured(MAX + 1));
    }
}
