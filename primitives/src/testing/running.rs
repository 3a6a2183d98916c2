//! The right to run the world, held by one at a time.

use std::{task::Waker, time::Duration};

use super::executor::{Executor, call_up};

/// Whoever holds this runs the world; dropping it lets another.
pub(super) struct Running<'a>(pub(super) &'a Executor);

impl Running<'_> {
    /// Runs everything that can run; time stands. Then those are told who wait for what came of it. Says whether
    /// there were any: they may want something more at this very time.
    pub(super) fn settle(&self) -> bool {
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

    /// Moves time on to the next sleeper and wakes it; if there is none up to `until`, moves it there and says no.
    pub(super) fn step(&self, until: Duration) -> bool {
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
        // What another thread woke after the last look is somebody's to run.
        if std::mem::take(&mut state.is_wanted) || state.next_ready().is_some() {
            call_up(state);
        }
    }
}
