//! Deliberate bugs: a simulator is believed when it finds them.

use std::process::ExitCode;

/// Plants each bug in turn and looks for a seed that shows it.
#[cfg(feature = "planted")]
pub fn run(cap: u64) -> ExitCode {
    use drystone_runtime::Bug;

    let found = Bug::ALL.into_iter().filter(|bug| look_for(*bug, cap)).count();
    println!("planted: {found} of {} found", Bug::ALL.len());
    if found == Bug::ALL.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A seed that fails with the bug counts only if it is well without.
#[cfg(feature = "planted")]
fn look_for(bug: drystone_runtime::Bug, cap: u64) -> bool {
    use drystone_runtime::plant;

    use super::{
        history::tell,
        run::{Again, tell_all},
    };

    let mut from = 0;
    while from < cap {
        let tally = tell_all(from..cap, Again::First(0), 1, || plant(Some(bug)));
        let Some(told) = tally.failed else { break };
        plant(None);
        if tell(told.seed, false).violations.is_empty() {
            println!("{bug:?}: found by seed {} ({})", told.seed, told.violations[0]);
            return true;
        }
        println!("{bug:?}: seed {} fails without it, too", told.seed);
        from = told.seed + 1;
    }
    println!("{bug:?}: not found by {cap} seeds");
    false
}

/// Without the feature there is nothing to plant.
#[cfg(not(feature = "planted"))]
pub fn run(_: u64) -> ExitCode {
    eprintln!("build with `--features planted` to plant bugs");
    ExitCode::FAILURE
}
