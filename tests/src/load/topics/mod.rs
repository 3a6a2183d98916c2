//! Topics: events for nobody, for one run, for ten thousand, and for a few beside a million others, against the bare writer.
//!
//! An event is one commit of its topic, with its row; who waits is told in slices of further commits, and each run that is told takes
//! one of its own. The bare writer beside them updates one row per call.

mod alone;
mod app;
mod audience;
mod growth;
mod publishing;
mod reach;

use std::{path::Path, time::Duration};

use anyhow::Result;
use drystone::d;

use super::{plan::Plan, report::Report};

const CLOSE_MAX: Duration = d!("10s");

/// All of it, one after another.
pub(super) async fn measure(plan: &Plan, directory: &Path, report: &mut Report) -> Result<()> {
    publishing::measure(plan, directory, report).await?;
    alone::measure(plan, directory, report).await?;
    reach::measure(plan, directory, report).await?;
    growth::measure(plan, directory, report).await
}
