//! The checkers. Each is small and checks one law or a family of laws; every message names the law's id.
//!
//! [`inspect`] checks each write when it becomes durable; [`finish`] checks the whole history after it has
//! come to rest.

mod buffers;
mod calls;
mod counters;
mod errand_answers;
mod errand_children;
mod errand_ends;
mod errand_events;
mod errand_journal;
mod errand_turns;
mod errands;
mod gates;
mod inspect;
mod items;
mod letters;
mod messages;
mod outbox;
mod queue_turns;
mod queued;
mod queues;
mod rest;
mod takes;
mod ticks;
mod topics;
mod turned;

pub use buffers::inspect_buffer;
pub use calls::{Calls, Span};
pub use counters::{Answer, Asked, Counters};
pub use errand_answers::Answered;
pub use errand_children::{inspect_ends, inspect_family, inspect_orphans};
pub use errand_turns::{errand_begins, is_code, is_elsewhere, is_step, was_let_go};
pub use errands::{errand_is_unreadable, inspect_errand};
pub use gates::{Left, inspect_gate};
pub use inspect::inspect;
pub use letters::readable;
pub use outbox::transacted;
pub use queued::{drained, enqueued};
pub use queues::inspect_queue;
pub use rest::unfinished;
pub use takes::Takes;
pub use turned::{answered, turned};

use super::world::World;

/// Checks a history that has come to rest.
pub fn finish(world: &World) {
    counters::finish(world);
    messages::finish(world);
    outbox::finish(world);
    takes::finish(world);
    items::finish(world);
    queued::finish(world);
    errand_ends::finish(world);
    ticks::finish(world);
    topics::finish(world);
    rest::finish(world);
}
