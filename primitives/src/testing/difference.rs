//! The first run of a scenario with a different result.

use std::fmt;

use super::trial::Disturbance;

/// How many lines of a trace are shown. All lines are in [`Difference::trace`].
const LINES_MAX: usize = 60;

/// The error of [`crash_everywhere`](super::crash_everywhere). `{}` and `{:?}` show the same text, so that
/// `unwrap` prints the full report.
#[non_exhaustive]
pub enum CrashError {
    /// The scenario had a different result.
    Differs(Box<Difference>),
    /// The scenario commits nothing, so there is nowhere to crash. Did the scenario start a world with its
    /// setup?
    NothingCommitted,
}

/// The first run of a scenario with a different result.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Difference {
    /// How the run was disturbed.
    pub disturbance: Disturbance,
    /// How many commits the undisturbed run makes.
    pub commits: u64,
    /// The writes of the commit at which the process died.
    pub wrote: Option<String>,
    /// The result of the undisturbed run.
    pub expected: String,
    /// The result of this run.
    pub found: String,
    /// The history of this run: calls of the scenario, commits, the crash, lifecycle events.
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
