//! Where a scenario comes to something else than it should.

use std::fmt;

use super::trial::Disturbance;

/// Lines of a trace that are shown; all of them are in [`Difference::trace`].
const LINES_MAX: usize = 60;

/// What [`crash_everywhere`](super::crash_everywhere) found. Shown the same by `{}` and `{:?}`, so that `unwrap` says it in full.
#[non_exhaustive]
pub enum CrashError {
    /// The scenario came to something else.
    Differs(Box<Difference>),
    /// The scenario commits nothing: there is nowhere to crash. Did it start a world with the setup it was given?
    NothingCommitted,
}

/// The first run of a scenario that came to something else.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Difference {
    /// How it was disturbed.
    pub disturbance: Disturbance,
    /// How many commits it makes undisturbed.
    pub commits: u64,
    /// What the commit wrote at which it crashed.
    pub wrote: Option<String>,
    /// What it comes to undisturbed.
    pub expected: String,
    /// What it came to.
    pub found: String,
    /// What happened in that run: calls of the scenario, commits, the crash, what entities told.
    pub trace: Vec<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { disturbance, commits, wrote, expected, found, trace } = self;
        writeln!(out, "it comes to something else with {disturbance} ({commits} commits when undisturbed)")?;
        if let Some(wrote) = wrote {
            writeln!(out, "  the commit: {wrote}")?;
        }
        writeln!(out, "    expected: {expected}\n       found: {found}\n  what happened:")?;
        let left_out = trace.len().saturating_sub(LINES_MAX);
        trace.iter().take(LINES_MAX).try_for_each(|line| writeln!(out, "    {line}"))?;
        if left_out > 0 { writeln!(out, "    … and {left_out} lines more") } else { Ok(()) }
    }
}

impl fmt::Display for CrashError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Differs(difference) => difference.fmt(out),
            Self::NothingCommitted => out.write_str(
                "the scenario commits nothing, so there is nowhere to crash: start a world with the setup that it is given",
            ),
        }
    }
}

impl fmt::Debug for CrashError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl std::error::Error for CrashError {}
