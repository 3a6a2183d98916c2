//! Topics: events for no run, for one run, for ten thousand, and for a few beside a million other waits,
//! against the bare writer.
//!
//! An event is one commit of its topic, with a row for the event. Further commits notify the waits in
//! slices, and each run that gets the event commits once itself. The bare writer updates one row per call.

mod alone;
mod app;
mod audience;
mod growth;
mod publishing;
mod reach;

use std::{path::Path, time::Duration};

use anyhow::Result;
use drystone::d;

use super::measuring::{plan::Plan, report::Report};

/// The time limit for closing an app.
const CLOSE_MAX: Duration = d!("10s");

/// Measures all parts in sequence.
pub(super) async fn measure(plan: &Plan, directory: &Path, report: &mut Report) -> Result<()> {
    publishing::measure(plan, directory, report).await?;
    alone::measure(plan, directory, report).await?;
    reach::measure(plan, directory, report).await?;
    growth::measure(plan, directory, report).await
}
