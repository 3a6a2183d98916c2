//! The deterministic simulator: whole histories of kernels, stores, callers and faults, each from one seed.
//!
//! A history is a world of tasks on one thread. Processes are groups of tasks that are killed and frozen.
//! Time is virtual. The store is the reference store in memory, below two layers: a witness that checks
//! every write, and one faulty store per process on top. Simple kinds ([`handlers`]) and primitives ([`apps`])
//! record what their code is given; callers record the answers they get; the checkers ([`check`]) compare
//! the two.
//!
//! Real threads, blocking code and fsync are not simulated here. `cargo crash` and the store's own tests
//! cover them. The file README.md in this folder is a guide.

pub mod apps;
pub mod check;
pub mod drawing;
pub mod faults;
pub mod handlers;
pub mod program;
pub mod recording;
pub mod running;
pub mod workflows;

/// The command line prefix of the program, for the help text and for messages.
pub(crate) const PROGRAM: &str = if cfg!(feature = "planted") { "cargo sim --" } else { "cargo sim-shipped --" };

pub use drawing::named::{NAMED, Named};
pub use drawing::parameters::Swarm;
pub use program::run::{Again, Tally, tell_all};
pub use recording::sometimes::{PATHS, Sometimes};
pub use running::history::{Told, tell};
