//! The end of a round: the last child waits until every letter and every event has arrived.

use std::time::Duration;

use anyhow::{Context, Result};
use drystone::Runtime;
use tokio::time::{sleep, timeout};

use super::{
    Arrived, ORDERS, Sold,
    evidence::{delivered, written},
    ordered, ordering, parcel, posts,
};
use crate::crash::{judging::answered::answered, op::Op, processes::app::App};

/// The time limit. Anything that is not at rest by then is stuck.
const PATIENCE: Duration = Duration::from_secs(30);

/// The pause between two looks at letters that are being delivered.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Waits until every letter is delivered, and every parcel has all its events. All hooks have come to rest
/// before.
pub(in crate::crash) async fn reach(app: &Runtime<App>, next: Op) -> Result<()> {
    // Letters that are still missing after the limit are lost, and the verdict names them.
    timeout(PATIENCE, all_delivered(app, next.round())).await.unwrap_or(Ok(()))?;
    for post in posts(next.round()) {
        if app.client().post(&post).status().await?.is_some() {
            app.client().post(&post).drain().deadline(PATIENCE).await?;
        }
    }
    timeout(PATIENCE, filled(app, next)).await.context("the parcels did not come to rest")?
}

async fn all_delivered(app: &Runtime<App>, round: u64) -> Result<()> {
    while delivered(app, round).await?.len() < written(app, round).await? {
        sleep(LOOK_EVERY).await;
    }
    Ok(())
}

/// Fills the last parcel with events, and waits for all parcels.
async fn filled(app: &Runtime<App>, next: Op) -> Result<()> {
    let (client, round) = (app.client(), next.round());
    let Some(last) = ordered(next).last() else { return Ok(()) };
    for op in (last.turn() + 1..).map(|turn| ordering(round, turn)).take_while(|op| parcel(*op) == parcel(last)) {
        answered(|| client.parcel(parcel(op)).start_or_get(round)).await?;
        answered(|| client.parcel(parcel(op)).send(Arrived(None)).idempotency_key(op.once())).await?;
        answered(|| client.publish(Sold { round, op: None }).idempotency_key(op.once())).await?;
    }
    for op in ordered(next).step_by(ORDERS as usize) {
        client.parcel(parcel(op)).result().await.with_context(|| format!("the parcel of {op:?}"))?;
    }
    Ok(())
}
