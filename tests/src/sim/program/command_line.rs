//! The command line of `cargo sim`.

use clap::{ArgGroup, Parser};

/// Runs histories of the real kernel on virtual time over a store that fails, and checks every law in each.
///
/// A seed decides everything in its history: what takes part, what goes wrong, and the order of all that
/// happens. One of `--seeds`, `--fresh`, `--seed`, `--history` and `--planted` says what is run. A failure
/// prints the command line that repeats it. The exit code is 1 if a law was broken, and 2 if the command
/// line is wrong.
#[derive(Debug, Parser)]
#[command(
    name = "sim",
    bin_name = crate::sim::PROGRAM,
    group = ArgGroup::new("what").required(true).args(["seeds", "fresh", "seed", "history", "planted"]),
    group = ArgGroup::new("many").args(["seeds", "fresh"]),
    group = ArgGroup::new("one").args(["seed", "history"]),
)]
pub(in crate::sim) struct CommandLine {
    /// Run all named histories and then N seeds.
    #[arg(long, value_name = "N")]
    pub(in crate::sim) seeds: Option<u64>,
    /// The first of these seeds.
    #[arg(long, value_name = "SEED", default_value_t = 0, requires = "seeds")]
    pub(in crate::sim) from: u64,
    /// Run this many seeds, from a random seed on. The first seed is printed.
    #[arg(long, value_name = "N")]
    pub(in crate::sim) fresh: Option<u64>,
    /// Run each history twice and compare them. The default does so for the first 200.
    #[arg(long, requires = "many")]
    pub(in crate::sim) twice: bool,
    /// Run the history of one seed and print what the seed drew.
    #[arg(long, value_name = "SEED")]
    pub(in crate::sim) seed: Option<u64>,
    /// Run one named history in all its courses of events. A wrong name is answered with the right ones.
    #[arg(long, value_name = "NAME")]
    pub(in crate::sim) history: Option<String>,
    /// Print everything that happens in the history; of a named one, in its first course that fails.
    #[arg(long, requires = "one")]
    pub(in crate::sim) trace: bool,
    /// Run the history with this deliberate bug.
    #[arg(long, value_name = "BUG", requires = "one")]
    pub(in crate::sim) plant: Option<String>,
    /// Print what the seed drew as JSON, in the form in which named histories are kept.
    #[arg(long, requires = "seed", conflicts_with = "trace")]
    pub(in crate::sim) json: bool,
    /// Plant each deliberate bug in turn and look for a seed that shows it.
    #[arg(long)]
    pub(in crate::sim) planted: bool,
    /// How many seeds are run for each planted bug at most.
    #[arg(long, value_name = "N", default_value_t = 5_000, requires = "planted")]
    pub(in crate::sim) cap: u64,
    /// Plant this bug alone.
    #[arg(long, value_name = "BUG", requires = "planted")]
    pub(in crate::sim) only: Option<String>,
}
