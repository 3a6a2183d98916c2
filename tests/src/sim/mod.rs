//! The deterministic simulator: whole histories of kernels, stores, callers and faults, each from one seed.
//!
//! A history is a world of tasks on one thread. Processes are groups of tasks that are killed and frozen; time is
//! virtual; the store is the reference in memory, with a witness over it that checks every write, and a faulty
//! store per process over that. Toys ([`toys`]) and primitives ([`authors`]) record what they are told; callers record what they are
//! answered; the checkers ([`check`]) compare the two.
//!
//! Not here: real threads, blocking, fsync. `cargo crash` and the store's own tests have those.

pub mod authors;
pub mod cast;
pub mod chance;
pub mod check;
pub mod chronicle;
pub mod client;
mod command_line;
pub mod drawn;
pub mod driver;
pub mod errands;
pub mod executor;
pub mod faulty;
pub mod history;
pub mod ledger;
pub mod named;
pub mod nemesis;
pub mod outbox;
pub mod panics;
pub mod planted;
pub mod process;
pub mod program;
pub mod run;
pub mod sometimes;
pub mod swarm;
pub mod toys;
pub mod weather;
pub mod witness;
pub mod world;

/// How the program is called, as its help and its messages say it.
pub(crate) const PROGRAM: &str = if cfg!(feature = "planted") { "cargo sim --" } else { "cargo sim-shipped --" };

pub use history::{Told, tell};
pub use named::{NAMED, Named};
pub use run::{Again, Tally, tell_all};
pub use sometimes::{PATHS, Sometimes};
pub use swarm::Swarm;
