//! The checkers. Each is small and checks one law or a family of laws; every message names the law's id.
//!
//! [`inspect`] checks each write when it becomes durable; [`finish`] checks the whole history after it has
//! come to rest.

mod buffers;
mod calls;
mod counters;
mod gates;
mod inspect;
mod messages;
mod queues;
mod rest;
pub(crate) mod runs;
mod takes;
mod ticks;
mod topics;
mod turned;

pub use buffers::inspect_buffer;
pub use calls::{Calls, Span};
pub use counters::{Answer, Asked, Counters};
pub use gates::{Left, inspect_gate};
pub use inspect::inspect;
pub use messages::letters::readable;
pub use messages::outbox::transacted;
pub use queues::inspect_queue;
pub use queues::queued::{drained, enqueued};
pub use rest::unfinished;
pub use runs::answers::Answered;
pub use runs::children::{inspect_ends, inspect_family, inspect_orphans};
pub use runs::run_turns::{errand_begins, is_code, is_elsewhere, is_step, was_let_go};
pub use runs::{errand_is_unreadable, inspect_errand};
pub use takes::Takes;
pub use turned::{answered, turned};

use super::running::world::World;

/// Checks a history that has come to rest.
pub fn finish(world: &World) {
    counters::finish(world);
    messages::finish(world);
    messages::outbox::finish(world);
    takes::finish(world);
    queues::items::finish(world);
    queues::queued::finish(world);
    runs::ends::finish(world);
    ticks::finish(world);
    topics::finish(world);
    rest::finish(world);
}
