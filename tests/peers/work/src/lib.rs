//! The work that queues and runs are compared by: what is enqueued or started, by how many, and when it counts as done.
//!
//! It is written once, for Drystone's own and for the peers', so that nobody does less than the others. A queue is driven
//! through [`Peer`], and what runs steps through [`Engine`]. A peer is a program of its own, for its SQLite cannot share
//! a lock file with ours; it calls [`child`] or [`child_with_runs`] and prints one line.

mod ask;
mod child;
mod drive;
mod measured;
mod runs;

pub use ask::{Ask, Work};
pub use child::{About, child, child_with_runs, long_enough, work, work_of_runs};
pub use drive::{Peer, alone, throughput};
pub use measured::Measured;
pub use runs::Engine;

/// Those who enqueue at once.
pub const PRODUCERS: usize = 64;
/// Handlers that may run at once.
pub const CONCURRENCY: usize = 100;
/// Of the payload, a JSON string, with its quotes.
pub const PAYLOAD_BYTES: usize = 200;
/// Of a run, one after another.
pub const STEPS: u64 = 10;

/// The content of the JSON string that every item carries.
pub fn payload() -> String {
    "x".repeat(PAYLOAD_BYTES - 2)
}
