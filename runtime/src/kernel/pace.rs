//! How quick the work of a definition has been of late.
//!
//! Work that is over at its first poll, and soon, is polled where it is started: to give it to another thread, and to hear of its end
//! from there, takes longer than the work itself. Nobody knows beforehand which work that is, so the last pieces say it. One that is
//! not, and blocks a hand once, is the last for a while; code that hangs has never been quick.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    task::Poll,
    time::Duration,
};

/// A first poll that takes longer is better done by another thread.
const QUICK: Duration = Duration::from_micros(100);

/// How many pieces in a row were over at once.
#[derive(Debug, Default)]
pub(crate) struct Pace(AtomicU32);

impl Pace {
    /// Whether it is the habit of this work to be over at once: so many in a row make one.
    pub(crate) fn is_quick(&self, habit: u32) -> bool {
        self.0.load(Ordering::Relaxed) >= habit
    }

    /// Takes note of a first poll.
    pub(crate) fn saw<T>(&self, polled: &Poll<T>, took: Duration) {
        let pieces =
            if polled.is_ready() && took < QUICK { self.0.load(Ordering::Relaxed).saturating_add(1) } else { 0 };
        // Threads that count at once may lose one: it is a habit all the same.
        self.0.store(pieces, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_habit_is_made_by_many_and_broken_by_one() {
        let pace = Pace::default();
        for breaks in [(Poll::Pending, Duration::ZERO), (Poll::Ready(()), QUICK)] {
            for _ in 0..3 {
                assert!(!pace.is_quick(3));
                pace.saw(&Poll::Ready(()), Duration::ZERO);
            }
            assert!(pace.is_quick(3));
            pace.saw(&breaks.0, breaks.1);
        }
        assert!(!pace.is_quick(3));
    }
}
