//! The end of a round: the last child waits until every run has ended.

use std::time::Duration;

use anyhow::{Context, Result};
use drystone::Runtime;
use tokio::{task::JoinSet, time::timeout};

use super::{FARES, GUILTY, SIGNALS, Signal, convoy, diver, ferry, sailed, send, wreck};
use crate::crash::{op::Op, processes::app::App};

/// The time limit. A run that has not ended by then is stuck.
const PATIENCE: Duration = Duration::from_secs(60);

/// The number of concurrent callers.
const LANES: usize = 16;

/// Waits for every run of the round of `next`, which is the first operation that has not begun.
pub(in crate::crash) async fn reach(app: &Runtime<App>, next: Op) -> Result<()> {
    let round = next.round();
    timeout(PATIENCE, ended(app, sailed(next).collect()))
        .await
        .with_context(|| format!("runs of round {round} do not end"))??;
    if round == 0 {
        // The guilty voyage comes last. That voyage kills this process a few times.
        app.client().voyage(GUILTY).start_or_get(u64::MAX).await?;
        app.client().voyage(GUILTY).send(Signal(0)).idempotency_key("signal-0").await.ok();
        let _ = app.client().voyage(GUILTY).result().await;
    }
    Ok(())
}

async fn ended(app: &Runtime<App>, ops: Vec<Op>) -> Result<()> {
    let client = app.client();
    if let Some(last) = ops.last().copied() {
        // The next operation would send the second signal, and later operations the missing fares.
        send(&client, last, SIGNALS[1]).await?;
        super::ferry::pay(&client, &ferry(last), FARES).await?;
    }
    let mut lanes = JoinSet::new();
    for lane in 0..LANES {
        let (client, own) = (client.clone(), ops.iter().copied().skip(lane).step_by(LANES).collect::<Vec<_>>());
        lanes.spawn(async move {
            for op in own {
                let came_to_grief = || format!("a run of {op:?} came to grief");
                client.voyage(op.key()).result().await.with_context(came_to_grief)?;
                client.ferry(ferry(op)).result().await.with_context(came_to_grief)?;
                // A wreck fails. The verdict checks how.
                let _ = client.wreck(wreck(op)).result().await;
                if op.turn().is_multiple_of(2) {
                    client.convoy(convoy(op)).result().await.with_context(came_to_grief)?;
                } else {
                    client.diver(diver(op)).result().await.with_context(came_to_grief)?;
                }
            }
            anyhow::Ok(())
        });
    }
    while let Some(lane) = lanes.join_next().await {
        lane??;
    }
    Ok(())
}
