//! Deliberate bugs: a simulator is believed when it finds them.

use std::process::ExitCode;

/// Plants each bug in turn and looks for a seed that shows it.
#[cfg(feature = "planted")]
pub fn run(cap: u64) -> ExitCode {
    use drystone_runtime::{Bug, plant};

    use super::run::{Again, tell_all};

    let mut found = 0;
    for bug in Bug::ALL {
        let tally = tell_all(0..cap, Again::First(0), 1, || plant(Some(bug)));
        match &tally.failed {
            Some(told) => {
                found += 1;
                println!("{bug:?}: found by seed {} ({})", told.seed, told.violations[0]);
            }
            None => println!("{bug:?}: not found by {cap} seeds"),
        }
    }
    println!("planted: {found} of {} found", Bug::ALL.len());
    if found == Bug::ALL.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Without the feature there is nothing to plant.
#[cfg(not(feature = "planted"))]
pub fn run(_: u64) -> ExitCode {
    eprintln!("build with `--features planted` to plant bugs");
    ExitCode::FAILURE
}
