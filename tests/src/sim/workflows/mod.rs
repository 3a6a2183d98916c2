//! Errands: workflows whose body walks a plan drawn from the seed, and the model that predicts the result.
//!
//! The body ([`Errand`](super::apps::Errand)) and the model ([`Life`]) read the same plan and share
//! nothing else. The model takes the journal entry by entry, and tells what the run waits for, what its
//! state is, and how it ends.

mod draw;
mod ground;
mod life;
mod outside;
mod plan;
mod stored;
mod undone;
mod walk;

pub use draw::Reach;
pub use ground::{Asked, Ground, Op};
pub use life::{Life, Phase, Wrong};
pub use outside::{enter, world};
pub use plan::{Booking, Does, HOARD, Kind, Plan, Sends, Task, Told, Trip, Wanted, Way};
pub use stored::{
    Awaited, Began, Childing, End, Ended, Entry, Halted, Ledgered, ParentOf, Paused, Pending, QueueOf, Queued, Record,
    Stepping, Undos, Update, Waiting, What, of_work, work_name,
};
pub use undone::{Dues, Sure};
pub use walk::Node;

use std::time::Duration;

/// The limit of attempts of a retried step.
pub const ATTEMPTS: u32 = 3;

/// The limit of attempts of an undo.
pub const UNDO_ATTEMPTS: u32 = 2;

/// The limit of attempts of `flow.run`.
pub const CODE_ATTEMPTS: u32 = 2;

/// The limit of attempts of a booking.
pub const BOOK_ATTEMPTS: u32 = 2;

/// The shortest backoff between two attempts.
pub const PAUSE: Duration = Duration::from_millis(20);

/// The limit of queued parcels.
pub const PARCELS: u64 = 3;
