//! Access to the world for code of `flow.run`, which has no services and captures only serializable values.

use std::{
    cell::RefCell,
    sync::{Arc, Weak},
};

use crate::sim::running::world::World;

thread_local! {
    static WORLD: RefCell<Weak<World>> = const { RefCell::new(Weak::new()) };
}

/// Makes this the world of the current thread. A history runs on one thread.
pub fn enter(world: &Arc<World>) {
    WORLD.set(Arc::downgrade(world));
}

/// The world of the current thread.
pub fn world() -> Arc<World> {
    WORLD.with_borrow(Weak::upgrade).expect("code runs while its history is told")
}
