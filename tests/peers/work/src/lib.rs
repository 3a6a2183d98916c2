//! The work that queues are compared by: what is enqueued, by how many, and when it counts as done.
//!
//! It is written once, for Drystone's own queue and for the peers', so that nobody does less than the others. A queue
//! is driven through [`Peer`]. A peer is a program of its own, for its SQLite cannot share a lock file with ours; it
//! calls [`child`] and prints one line.

mod ask;
mod child;
mod drive;
mod measured;

pub use ask::{Ask, Work};
pub use child::{About, child, long_enough, work};
pub use drive::{Peer, alone, throughput};
pub use measured::Measured;

/// Those who enqueue at once.
pub const PRODUCERS: usize = 64;
/// Handlers that may run at once.
pub const CONCURRENCY: usize = 100;
/// Of the payload, a JSON string, with its quotes.
pub const PAYLOAD_BYTES: usize = 200;

/// The content of the JSON string that every item carries.
pub fn payload() -> String {
    "x".repeat(PAYLOAD_BYTES - 2)
}
