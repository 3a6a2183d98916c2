//! The length of the write-ahead log, and the coordination of the threads that shorten it.
//!
//! The writer reports every commit, and the length of the log when it may have changed much. The checkpoint
//! thread waits here for work.
//!
//! Two parties can keep the writer from shortening the log: the checkpoint thread, because SQLite refuses a
//! second checkpoint instead of waiting for the first, and our own readers, whose snapshots need the log. The
//! writer waits for both, so the bound does not depend on the speed of any thread. Readers in other processes
//! are not part of this coordination.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError, RwLock},
    time::Duration,
};

/// The writer asks for the length of the log after this many bytes. It does not ask at every commit, because
/// that takes time for which a lone caller would wait.
const LOOK_BYTES: u64 = 1 << 20;

/// A batch of commits writes less than its estimate times this factor: a row changes a page in each of its
/// few B-trees, and a split of a page also changes neighbouring pages.
const ESTIMATE_FACTOR: u64 = 16;

/// The state of one file's log that the writer, the checkpoint thread and the readers share.
#[derive(Debug)]
pub(in crate::store::sqlite) struct Log {
    bytes_max: u64,
    state: Mutex<State>,
    changed: Condvar,
    /// Held during a checkpoint: SQLite refuses a second one instead of waiting for the first.
    checkpoint: Mutex<()>,
    /// Held for reading during every snapshot of our readers.
    snapshots: RwLock<()>,
}

#[derive(Debug)]
struct State {
    /// The length when the writer last asked for it.
    bytes: u64,
    /// An estimate of the bytes written since then.
    unseen: u64,
    /// The number of commits. The checkpoint thread compares it to see whether there are new writes.
    commits: u64,
    /// The thread copies the log when it is longer than this.
    copy_above: u64,
    /// The writer empties the log when it is longer than this.
    empty_above: u64,
    /// Whether the thread sleeps until the next write.
    is_asleep: bool,
    is_closed: bool,
}

/// The next task of the checkpoint thread.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::store::sqlite) enum Task {
    Copy,
    Empty,
    End,
}

impl Log {
    pub(in crate::store::sqlite) fn new(bytes_max: u64) -> Self {
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

    /// Records a commit that wrote about `bytes` bytes. Returns whether the log may have grown so much that
    /// the writer must ask for its length. The nearer the log is to its bound, the sooner the writer must
    /// ask.
    pub(in crate::store::sqlite) fn wrote(&self, bytes: u64) -> bool {
        let mut state = self.state();
        state.commits += 1;
        if state.is_asleep {
            self.changed.notify_one();
        }
        state.unseen = state.unseen.saturating_add(bytes);
        let margin = self.bytes_max.saturating_sub(state.bytes);
        state.unseen >= LOOK_BYTES.min(margin / ESTIMATE_FACTOR)
    }

    /// Records the length of the log. Returns whether the writer must empty the log at once.
    pub(in crate::store::sqlite) fn measured(&self, bytes: u64) -> bool {
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

    pub(in crate::store::sqlite) fn emptied(&self) {
        self.state().bytes = 0;
    }

    /// Records that a reader in another process kept the log from being emptied. Each attempt waits for that
    /// reader, so the log may grow by another quarter of the bound before the next attempt.
    pub(in crate::store::sqlite) fn held_back(&self) {
        let mut state = self.state();
        state.empty_above = state.bytes + self.bytes_max / 4;
    }

    /// Records that the log was copied. A reader can keep the next commit from overwriting the log, which
    /// then keeps growing. The new limit keeps the thread from copying it again at every commit.
    pub(in crate::store::sqlite) fn copied(&self) {
        let mut state = self.state();
        state.copy_above = state.bytes + self.bytes_max / 4;
    }

    /// Waits until no other checkpoint runs, and prevents others until the guard is dropped.
    pub(in crate::store::sqlite) fn begin_checkpoint(&self) -> impl Drop + '_ {
        self.checkpoint.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the writer from emptying the log while one of our readers has a snapshot open.
    pub(in crate::store::sqlite) fn begin_snapshot(&self) -> impl Drop + '_ {
        self.snapshots.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all snapshots of our readers have ended, and prevents new ones until the guard is dropped.
    pub(in crate::store::sqlite) fn end_snapshots(&self) -> impl Drop + '_ {
        self.snapshots.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the checkpoint thread to end.
    pub(in crate::store::sqlite) fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_one();
    }

    /// Waits for the next task of the thread. `emptied_at` is the number of commits when the thread last
    /// emptied the log.
    pub(in crate::store::sqlite) fn next_task(&self, emptied_at: u64, idle: Duration) -> Task {
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

    pub(in crate::store::sqlite) fn commits(&self) -> u64 {
        self.state().commits
    }

    pub(in crate::store::sqlite) fn bytes_max(&self) -> u64 {
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
