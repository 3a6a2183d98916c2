//! The end of a round: the last child waits until every hook has ended.

use std::time::Duration;

use anyhow::{Context, Result};
use drystone::Runtime;
use tokio::time::{sleep, timeout};

use super::{candle, chronicle, gone, presses, stamped, stamping, tallies};
use crate::crash::{op::Op, processes::app::App};

/// The time limit. Anything that is not at rest by then is stuck.
const PATIENCE: Duration = Duration::from_secs(30);

/// The pause between two looks at entities that end by themselves.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Waits until no tick is in flight, every batch and every item has ended, and every candle has rung or was
/// put out, and is gone.
pub(in crate::crash) async fn reach(app: &Runtime<App>, next: Op) -> Result<()> {
    timeout(PATIENCE, settled(app, next)).await.context("the transactional hooks did not come to rest")?
}

async fn settled(app: &Runtime<App>, next: Op) -> Result<()> {
    let (client, round) = (app.client(), next.round());
    client.chronicle(chronicle(round)).stop().await?;
    while client.chronicle(chronicle(round)).status().await?.is_some_and(|clock| clock.next_run_at.is_some()) {
        sleep(LOOK_EVERY).await;
    }
    for tally in tallies(round) {
        emptied(app, &tally).await?;
    }
    for press in presses(round) {
        if client.press(&press).status().await?.is_some() {
            client.press(&press).drain().deadline(PATIENCE).await?;
        }
    }
    ended(app, next).await
}

/// Flushes until nothing is left. Each flush answers when a batch has ended.
async fn emptied(app: &Runtime<App>, tally: &str) -> Result<()> {
    let client = app.client();
    while let Some(status) = client.tally(tally).status().await? {
        if status.open == 0 && status.closed.batches == 0 {
            break;
        }
        client.tally(tally).flush().await?;
    }
    Ok(())
}

/// Waits until candles that no operation puts out have rung. Then puts out every candle, also one that
/// should have been put out before it was lit.
async fn ended(app: &Runtime<App>, next: Op) -> Result<()> {
    let client = app.client();
    let burning = |op: Op| stamping(op.round(), op.turn() + super::BURNS) >= next;
    for op in stamped(next).filter(|op| burning(*op)) {
        while client.candle(candle(op)).state().await?.is_some_and(|candle| candle.rung == 0) {
            sleep(LOOK_EVERY).await;
        }
    }
    for op in stamped(next) {
        gone(|| client.candle(candle(op)).destroy()).await?;
        while client.candle(candle(op)).status().await?.is_some() {
            sleep(LOOK_EVERY).await;
        }
    }
    Ok(())
}
