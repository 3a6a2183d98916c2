//! The right to run the world, which one task has at a time.

use std::{task::Waker, time::Duration};

use super::executor::{Executor, call_up};

/// The right to run the world. Dropping this value lets another task run the world.
pub(in crate::testing) struct Running<'a>(pub(in crate::testing) &'a Executor);

impl Running<'_> {
    /// Runs everything that can run while time stands still, then wakes the tasks outside that have answers.
    /// Returns whether there were any, because they may ask for more at this very time.
    pub(in crate::testing) fn settle(&self) -> bool {
        let mut was_anybody_told = false;
        loop {
            while self.poll_next() {
                let (polls, polls_max) = self.0.state().polls_of_moment();
                assert!(
                    polls < polls_max,
                    "the world spins: {polls} polls at one moment and no end; some code goes on and on without \
                     letting time pass (does it wake itself, or set an alarm for now each time it rings?)"
                );
            }
            let told = std::mem::take(&mut self.0.state().told);
            if told.is_empty() {
                return was_anybody_told;
            }
            was_anybody_told = true;
            told.into_iter().for_each(Waker::wake);
        }
    }

    /// Moves time to the next sleeper and wakes it. If no sleeper is due up to `until`, moves time to
    /// `until` and returns `false`.
    pub(in crate::testing) fn step(&self, until: Duration) -> bool {
        let mut state = self.0.state();
        let Some((at, waker)) = state.sleepers.take_first(until) else {
            state.monotonic = state.monotonic.max(until);
            state.begin_moment();
            return false;
        };
        if at > state.monotonic {
            state.monotonic = at;
            state.begin_moment();
        }
        drop(state);
        waker.wake();
        true
    }

    fn poll_next(&self) -> bool {
        self.0.bury();
        let next = {
            let mut state = self.0.state();
            let place = state.next_ready();
            place.and_then(|place| state.ready.remove(place))
        };
        next.inspect(|id| self.0.poll(*id)).is_some()
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.is_running = false;
        // Another thread may have woken a task after the last look, and a waiting task must run it.
        if std::mem::take(&mut state.is_wanted) || state.next_ready().is_some() {
            call_up(state);
        }
    }
}
