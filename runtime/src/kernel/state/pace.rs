//! How quickly the work of a definition has ended lately.
//!
//! Work that ends quickly at its first poll is polled where it is started: handing it to another thread and
//! hearing of its end would take longer than the work itself. Quick work cannot be known beforehand, so the
//! last pieces decide. A piece that is slow and blocks a thread once is the last one polled there for a
//! while; code that hangs has never been quick.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    task::Poll,
    time::Duration,
};

/// A first poll that takes longer than this is better made by another thread.
const QUICK: Duration = Duration::from_micros(100);

/// How many pieces in a row have ended quickly at their first poll.
#[derive(Debug, Default)]
pub(crate) struct Pace(AtomicU32);

impl Pace {
    /// Whether work of this definition usually ends quickly: the last `habit` pieces did.
    pub(crate) fn is_quick(&self, habit: u32) -> bool {
        self.0.load(Ordering::Relaxed) >= habit
    }

    /// Records a first poll.
    pub(crate) fn saw<T>(&self, polled: &Poll<T>, took: Duration) {
        let pieces =
            if polled.is_ready() && took < QUICK { self.0.load(Ordering::Relaxed).saturating_add(1) } else { 0 };
        // Threads that count at the same time may lose one; the habit still forms.
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
