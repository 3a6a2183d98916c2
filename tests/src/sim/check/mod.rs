//! The checkers: one per law or family of laws, small, with the law's id in every message.
//!
//! [`inspect`] sees each write when it becomes durable; [`finish`] sees the whole history when all is quiet.

mod counters;
mod inspect;
mod messages;
mod rest;
mod takes;

pub use counters::{Answer, Asked, Counters};
pub use inspect::inspect;
pub use rest::unfinished;
pub use takes::Takes;

use super::world::World;

/// Checks a history that has come to rest.
pub fn finish(world: &World) {
    counters::finish(world);
    messages::finish(world);
    takes::finish(world);
    rest::finish(world);
}
