//! Deliberate bugs. The simulator is trustworthy only if it finds them.

use std::process::ExitCode;

/// Plants each bug in turn, or only the named one, and looks for a seed that shows it.
#[cfg(feature = "planted")]
pub fn run(cap: u64, only: Option<&str>) -> ExitCode {
    let mut all = Planted::all();
    all.retain(|bug| only.is_none_or(|only| bug.to_string() == only));
    let found = all.iter().filter(|bug| look_for(**bug, cap)).count();
    println!("planted: {found} of {} found", all.len());
    if found == all.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Plants the named bug for everything that the current thread runs. Returns `false` if no bug has this
/// name.
#[cfg(feature = "planted")]
pub fn plant(name: &str) -> bool {
    let Some(bug) = Planted::all().into_iter().find(|bug| bug.to_string() == name) else {
        eprintln!("no bug is named `{name}`; `cargo sim -- --planted` names all of them");
        return false;
    };
    bug.plant();
    true
}

/// A bug of the kernel or of a kind.
#[cfg(feature = "planted")]
#[derive(Clone, Copy)]
enum Planted {
    Kernel(drystone_runtime::Bug),
    Kind(drystone::Bug),
}

#[cfg(feature = "planted")]
impl Planted {
    fn all() -> Vec<Self> {
        let kernels = drystone_runtime::Bug::ALL.into_iter().map(Self::Kernel);
        kernels.chain(drystone::Bug::ALL.into_iter().map(Self::Kind)).collect()
    }

    fn plant(self) {
        match self {
            Self::Kernel(bug) => drystone_runtime::plant(Some(bug)),
            Self::Kind(bug) => drystone::plant(Some(bug)),
        }
    }
}

#[cfg(feature = "planted")]
impl std::fmt::Display for Planted {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Kernel(bug) => write!(out, "{bug:?}"),
            Self::Kind(bug) => write!(out, "{bug:?}"),
        }
    }
}

/// Looks for a seed that fails with the bug and passes without it. The second run is on this thread, which
/// has no bug planted.
#[cfg(feature = "planted")]
fn look_for(bug: Planted, cap: u64) -> bool {
    use super::run::{Again, tell_all};
    use crate::sim::running::history::tell;

    let mut from = 0;
    while from < cap {
        let tally = tell_all(from..cap, Again::First(0), 1, || bug.plant());
        let Some(told) = tally.failed else { break };
        if tell(told.seed, false).violations.is_empty() {
            println!("{bug}: found by seed {} ({})", told.seed, told.violations[0]);
            return true;
        }
        println!("{bug}: seed {} fails without it, too", told.seed);
        from = told.seed + 1;
    }
    println!("{bug}: not found by {cap} seeds");
    false
}

/// Prints an error: a build without the feature has no bugs to plant.
#[cfg(not(feature = "planted"))]
pub fn plant(_: &str) -> bool {
    eprintln!("build with `--features planted` to plant bugs");
    false
}

/// Prints an error: a build without the feature has no bugs to plant.
#[cfg(not(feature = "planted"))]
pub fn run(_: u64, _: Option<&str>) -> ExitCode {
    eprintln!("build with `--features planted` to plant bugs");
    ExitCode::FAILURE
}
