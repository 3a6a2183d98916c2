//! The limit on pieces of work that run at once.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// One of the places for running work (R8). Dropping it frees the place.
pub(crate) struct Place(Arc<AtomicUsize>);

impl Place {
    /// Takes a place; `None` if all are taken.
    pub(crate) fn take(places: &Arc<AtomicUsize>, limit: usize) -> Option<Self> {
        let taken =
            places.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| (taken < limit).then_some(taken + 1));
        taken.ok().map(|_| Self(places.clone()))
    }

    /// Takes a place beyond the limit, for code that has begun already and cannot be refused.
    pub(crate) fn beyond_the_limit(places: &Arc<AtomicUsize>) -> Self {
        places.fetch_add(1, Ordering::Relaxed);
        Self(places.clone())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
