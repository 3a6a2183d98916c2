//! Errands: workflows whose body walks a plan that was drawn, and the model that says what must come of it.
//!
//! The body ([`Errand`](super::authors::Errand)) and the model ([`Life`]) read the same plan and share nothing else: the model is
//! told the journal, entry by entry, and says what the run waits for, what it has in its state and how it ends.

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

/// Executions of a step that may be tried again.
pub const ATTEMPTS: u32 = 3;

/// Executions of an undo.
pub const UNDO_ATTEMPTS: u32 = 2;

/// Executions of code of the body's own.
pub const CODE_ATTEMPTS: u32 = 2;

/// Executions of a booking.
pub const BOOK_ATTEMPTS: u32 = 2;

/// The shortest pause between two executions.
pub const PAUSE: Duration = Duration::from_millis(20);

/// How many parcels may be queued.
pub const PARCELS: u64 = 3;
