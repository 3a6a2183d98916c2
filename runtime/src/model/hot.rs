//! The cache that a handler keeps for one entity in memory.

use std::{any::Any, fmt};

/// A handler's cache for one entity: decoded state, a live future. It may be dropped before any call; only
/// the time that the call takes changes (E13).
#[derive(Default)]
pub struct Hot(Option<Memory>);

/// The cached value, and its estimated size in bytes.
struct Memory {
    value: Box<dyn Any + Send>,
    bytes: usize,
}

impl Hot {
    /// Makes a cache that holds `value`.
    pub fn new<T: Any + Send>(value: T) -> Self {
        let mut hot = Self::default();
        hot.set(value);
        hot
    }

    /// Makes a cache that holds a value which is already boxed.
    pub fn boxed<T: Any + Send>(value: Box<T>) -> Self {
        Self(Some(Memory { value, bytes: 4 * size_of::<T>() }))
    }

    /// Returns the cached value, if it is of this type.
    pub fn get<T: Any + Send>(&mut self) -> Option<&mut T> {
        self.0.as_mut()?.value.downcast_mut()
    }

    /// Takes the cached value out, if it is of this type.
    pub fn take<T: Any + Send>(&mut self) -> Option<T> {
        self.take_boxed().map(|value| *value)
    }

    /// Takes the cached value out in its box, if it is of this type.
    pub fn take_boxed<T: Any + Send>(&mut self) -> Option<Box<T>> {
        if !self.0.as_ref()?.value.is::<T>() {
            return None;
        }
        self.0.take()?.value.downcast().ok()
    }

    /// Replaces the cached value. Its size is estimated as four times the size of `T`, to allow for a few
    /// things that it points to.
    pub fn set<T: Any + Send>(&mut self, value: T) {
        self.set_weighing(4 * size_of::<T>(), value);
    }

    /// Replaces the cached value by one of about so many bytes.
    pub fn set_weighing<T: Any + Send>(&mut self, bytes: usize, value: T) {
        self.0 = Some(Memory { value: Box::new(value), bytes });
    }

    /// Drops the cached value.
    pub fn clear(&mut self) {
        self.0 = None;
    }

    /// Returns about how many bytes the cache takes in memory.
    pub(crate) fn weight(&self) -> usize {
        self.0.as_ref().map_or(0, |memory| memory.bytes)
    }

    /// Whether the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

impl Clone for Hot {
    /// Returns an empty cache: a cached value is never shared.
    fn clone(&self) -> Self {
        Self(None)
    }
}

impl fmt::Debug for Hot {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if self.is_empty() { "Hot(empty)" } else { "Hot(..)" })
    }
}
