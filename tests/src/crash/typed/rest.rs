//! How the last child brings the typed app to rest.

use std::time::Duration;

use anyhow::{Context, Result};
use drystone::{Events, Runtime, View};
use tokio::time::timeout;

use super::{App, CLOCK, evidence};

/// What has not come to rest by then is stuck.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until every batch and every job has ended, every letter lies where it belongs and every note has rung, then closes the app.
pub(in super::super) async fn reach(app: Runtime<App>) -> Result<()> {
    // Heard from before anything is looked at: what is not there yet will be told.
    let mut events = app.events();
    timeout(PATIENCE, settled(&app, &mut events)).await.context("the typed app did not come to rest")??;
    app.client().clock(CLOCK).stop().await?;
    Ok(app.shutdown(PATIENCE).await?)
}

async fn settled(app: &Runtime<App>, events: &mut Events) -> Result<()> {
    let mut dead = 0;
    for pile in evidence::all(app, "pile").await? {
        dead += emptied(app, &pile).await?;
    }
    for jobs in evidence::all(app, "jobs").await? {
        let jobs = app.client().jobs(&jobs.key);
        jobs.drain().deadline(PATIENCE).await?;
        dead += jobs.stats().await?.dead;
    }
    while app.dead_letters().count().await? < dead {
        events.next().await.context("the app is gone")?;
    }
    for note in evidence::all(app, "note").await? {
        while app.client().note(&note.key).state().await?.is_none_or(|note| note.rung < note.armed) {
            events.next().await.context("the app is gone")?;
        }
    }
    Ok(())
}

/// Flushes until nothing is left; how many batches died. Each flush answers when a batch has ended.
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
