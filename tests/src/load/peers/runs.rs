//! Drystone's part in the comparison of engines.

use std::{error::Error, fs, sync::Arc};

use anyhow::{Result, anyhow};
use drystone::Runtime;
use peer_work::{Ask, Engine, Measured, STEPS, work_of_runs};
use tokio::runtime::Handle;

use crate::load::workflows::App;

/// Drystone's workflows as a competitor.
struct Ours(Runtime<App>);

impl Engine for Ours {
    async fn run(&self, nth: u64) -> Result<(), Box<dyn Error + Send + Sync>> {
        let run = self.0.client().nops(nth.to_be_bytes());
        run.start(STEPS as u32).await?;
        run.result().await?;
        Ok(())
    }
}

/// Does the runs on Drystone.
pub(super) async fn measure(ask: Ask) -> Result<Measured> {
    fs::create_dir_all(&ask.dir)?;
    let runtime = Runtime::sqlite(ask.dir.join("runs.db")).start::<App>().await?;
    let (ours, on) = (Arc::new(Ours(runtime)), Handle::current());
    let run = move || work_of_runs(&ours, &on, &ask).map_err(|error| anyhow!("{error}"));
    tokio::task::spawn_blocking(run).await?
}
