//! The deterministic simulator: whole histories of kernels, stores, callers and faults, each from one seed.
//!
//! A history is a world of tasks on one thread. Processes are groups of tasks that are killed and frozen.
//! Time is virtual. The store is the reference store in memory, below two layers: a witness that checks
//! every write, and one faulty store per process on top. Toys ([`toys`]) and primitives ([`authors`])
//! record what their code is given; callers record the answers they get; the checkers ([`check`]) compare
//! the two.
//!
//! Real threads, blocking code and fsync are not simulated here. `cargo crash` and the store's own tests
//! cover them.

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

/// The command line prefix of the program, for the help text and for messages.
pub(crate) const PROGRAM: &str = if cfg!(feature = "planted") { "cargo sim --" } else { "cargo sim-shipped --" };

pub use history::{Told, tell};
pub use named::{NAMED, Named};
pub use run::{Again, Tally, tell_all};
pub use sometimes::{PATHS, Sometimes};
pub use swarm::Swarm;
