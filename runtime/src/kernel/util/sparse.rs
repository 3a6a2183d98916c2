//! Queues that are mostly empty or hold a single item. The items are large, so room is made for one at
//! first, and not for four.

use std::collections::VecDeque;

pub(crate) trait Sparse<T> {
    /// Appends an item.
    fn add(&mut self, item: T);
}

impl<T> Sparse<T> for Vec<T> {
    fn add(&mut self, item: T) {
        if self.is_empty() {
            self.reserve_exact(1);
        }
        self.push(item);
    }
}

impl<T> Sparse<T> for VecDeque<T> {
    fn add(&mut self, item: T) {
        if self.is_empty() {
            self.reserve_exact(1);
        }
        self.push_back(item);
    }
}
