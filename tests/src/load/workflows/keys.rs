//! Keys of runs. Each key is used only once.

use std::sync::atomic::{AtomicU64, Ordering};

/// Gives a new key each time.
#[derive(Debug, Default)]
pub(in crate::load) struct Keys(AtomicU64);

impl Keys {
    pub(in crate::load) fn next(&self) -> [u8; 8] {
        key(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// The key with this number.
pub(in crate::load) fn key(nth: u64) -> [u8; 8] {
    nth.to_be_bytes()
}
