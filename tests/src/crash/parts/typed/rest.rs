//! The end of a round: the last child brings the typed primitives to rest.

use std::time::Duration;

use anyhow::{Context, Result};
use drystone::{Events, Runtime, View};
use tokio::time::timeout;

use super::{clock, evidence};
use crate::crash::processes::app::App;

/// The time limit. Anything that is not at rest by then is stuck.
const PATIENCE: Duration = Duration::from_secs(30);

/// The pause between two looks at permits that come back by themselves.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Waits until every batch and every job has ended, every dead letter has arrived, every note has rung and
/// every permit is back.
pub(in crate::crash) async fn reach(app: &Runtime<App>, round: u64) -> Result<()> {
    // Subscribe before the first look, so that later changes are not missed.
    let mut events = app.events();
    timeout(PATIENCE, settled(app, round, &mut events))
        .await
        .context("the typed primitives did not come to rest")??;
    app.client().clock(clock(round)).stop().await?;
    Ok(())
}

async fn settled(app: &Runtime<App>, round: u64, events: &mut Events) -> Result<()> {
    let mut dead = 0;
    for pile in evidence::all(app, "pile", round).await? {
        dead += emptied(app, &pile).await?;
    }
    for jobs in evidence::all(app, "jobs", round).await? {
        let jobs = app.client().jobs(&jobs.key);
        jobs.drain().deadline(PATIENCE).await?;
        dead += jobs.stats().await?.dead;
    }
    while (evidence::dead(app, round).await?.len() as u64) < dead {
        events.next().await.context("the app is gone")?;
    }
    for note in evidence::all(app, "note", round).await? {
        while app.client().note(&note.key).state().await?.is_none_or(|note| note.rung < note.armed) {
            events.next().await.context("the app is gone")?;
        }
    }
    for berth in evidence::all(app, "berth", round).await? {
        while app.client().berth(&berth.key).stats().await?.used > 0 {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
    Ok(())
}

/// Flushes until nothing is left. Returns how many batches died. Each flush answers when a batch has ended.
async fn emptied(app: &Runtime<App>, pile: &View) -> Result<u64> {
    let pile = app.client().pile(&pile.key);
    loop {
        let status = pile.status().await?.context("a pile is gone")?;
        if status.open == 0 && status.closed.batches == 0 {
            return Ok(status.dead.batches);
        }
        pile.flush().await?;
    }
}
