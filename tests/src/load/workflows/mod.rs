//! Workflows: steps, starts, events, children, generations, sleeps and replays, against the bare writer.
//!
//! A run of `n` steps is `n + 1` commits: its start, and the end of each step, which also asks for the next
//! step. The bare writer updates one row per call.

mod alone;
mod app;
pub(super) mod crowd;
mod events;
mod families;
mod generations;
pub(super) mod keys;
mod replays;
mod sleeping;
mod steps;
mod transactions;
mod waiting;

use std::{path::Path, time::Duration};

use anyhow::Result;
use drystone::d;

pub(super) use self::{app::App, generations::child as going_on, waiting::child};
use super::measuring::{plan::Plan, report::Report};

const CLOSE_MAX: Duration = d!("10s");

/// Measures all parts in sequence.
pub(super) async fn measure(plan: &Plan, directory: &Path, report: &mut Report) -> Result<()> {
    steps::measure(plan, directory, report).await?;
    transactions::measure(plan, directory, report).await?;
    alone::measure(plan, directory, report).await?;
    events::measure(plan, directory, report).await?;
    families::measure(plan, directory, report).await?;
    generations::measure(plan, directory, report)?;
    sleeping::measure(plan, directory, report).await?;
    replays::measure(plan, directory, report).await?;
    waiting::measure(plan, directory, report)
}
