//! Virtual time and the tasks that sleep in it.

use std::{
    collections::BTreeMap,
    pin::Pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

use super::Executor;

/// The wall clock at the start of a history: a day in 2023.
const START_MS: i64 = 1_700_000_000_000;

#[derive(Default)]
pub(super) struct Clock {
    pub(super) monotonic: Duration,
    sleepers: BTreeMap<(Duration, u64), Waker>,
    numbered: u64,
}

impl Clock {
    pub(super) fn wall_ms(&self) -> i64 {
        START_MS + self.monotonic.as_millis() as i64
    }

    /// The time at which the next sleeper wakes.
    pub(super) fn next(&self) -> Option<Duration> {
        self.sleepers.first_key_value().map(|((at, _), _)| *at)
    }

    /// Moves the time forward and returns the wakers of all sleepers that are due.
    pub(super) fn advance(&mut self, to: Duration) -> Vec<Waker> {
        self.monotonic = self.monotonic.max(to);
        let mut woken = Vec::new();
        while let Some(first) = self.sleepers.first_entry() {
            if first.key().0 > self.monotonic {
                break;
            }
            woken.push(first.remove());
        }
        woken
    }

    pub(super) fn wake_at(&mut self, at: Duration, waker: Waker) -> u64 {
        self.numbered += 1;
        self.sleepers.insert((at, self.numbered), waker);
        self.numbered
    }

    pub(super) fn clear(&mut self) {
        self.sleepers.clear();
    }
}

/// A sleep in virtual time.
pub struct Sleep {
    executor: Executor,
    at: Duration,
    number: Option<u64>,
}

impl Sleep {
    pub(super) fn new(executor: Executor, at: Duration) -> Self {
        Self { executor, at, number: None }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let executor = self.executor.clone();
        let mut state = executor.state();
        if state.clock.monotonic >= self.at {
            return Poll::Ready(());
        }
        let at = self.at;
        match self.number.and_then(|number| state.clock.sleepers.get_mut(&(at, number))) {
            Some(waker) => waker.clone_from(context.waker()),
            None => self.number = Some(state.clock.wake_at(at, context.waker().clone())),
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        // The waker must be dropped after the lock is released: it may be the last owner of its task's
        // bell.
        let waker = self.executor.state().clock.sleepers.remove(&(self.at, number));
        drop(waker);
    }
}
