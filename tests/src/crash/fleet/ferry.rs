//! A ferry: one generation for each fare. What it has taken so far is all that it brings along.

use std::time::Duration;

use anyhow::Result;
use drystone::{CallError, Event, Flow, workflow, workflow::SendError};
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use super::AppClient;

/// How many ferries there are.
pub(super) const FERRIES: u64 = 24;

/// How many fares each takes.
pub(super) const FARES: u32 = 12;

/// A crossing takes so long that fares pile up meanwhile.
const CROSSING: Duration = Duration::from_millis(3);

/// Lets somebody cross.
#[derive(Debug, Event, Serialize, Deserialize)]
pub(super) struct Fare(pub(super) u32);

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Ferry;

#[workflow(events(Fare))]
impl Ferry {
    async fn run(flow: &Flow<Self>, mut taken: Vec<u32>) -> Result<Vec<u32>, String> {
        if taken.len() == FARES as usize {
            return Ok(taken);
        }
        let Fare(number) = flow.wait_for::<Fare>().await;
        taken.push(flow.cross(number).await);
        flow.continue_as(taken).await
    }

    #[step]
    async fn cross(number: u32) -> u32 {
        tokio::time::sleep(CROSSING).await;
        number
    }
}

pub(super) fn ferry(number: u64) -> String {
    format!("ferry-{number}")
}

/// Starts the ferries and pays all fares, each after the one before it was taken in. Several may do so at once, and again: a fare is
/// never there before those that come before it.
pub(super) async fn pay_all(client: AppClient) -> Result<()> {
    let mut payers = JoinSet::new();
    for number in 0..FERRIES {
        payers.spawn(pay(client.clone(), ferry(number), FARES));
    }
    while let Some(paid) = payers.join_next().await {
        paid??;
    }
    Ok(())
}

/// Starts a ferry and pays its fares up to this one.
pub(super) async fn pay(client: AppClient, key: String, last: u32) -> Result<()> {
    client.ferry(&key).start_or_get(Vec::new()).await?;
    for number in 1..=last {
        loop {
            let paid = client.ferry(&key).send(Fare(number)).idempotency_key(format!("fare-{number}"));
            match paid.await {
                Ok(_) => break,
                // It has them all: this is one of them again.
                Err(CallError::Failed(SendError::Terminated { .. })) => return Ok(()),
                Err(error) if error.is_retryable() => tokio::task::yield_now().await,
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(())
}
