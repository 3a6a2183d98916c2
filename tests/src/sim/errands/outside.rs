//! How code of a body's own reaches the world: it has no services, and captures only what is serde.

use std::{
    cell::RefCell,
    sync::{Arc, Weak},
};

use crate::sim::world::World;

thread_local! {
    static WORLD: RefCell<Weak<World>> = const { RefCell::new(Weak::new()) };
}

/// From now on this is the world of this thread: a history is whole on one.
pub fn enter(world: &Arc<World>) {
    WORLD.set(Arc::downgrade(world));
}

/// The world of this thread.
pub fn world() -> Arc<World> {
    WORLD.with_borrow(Weak::upgrade).expect("code runs while its history is told")
}
