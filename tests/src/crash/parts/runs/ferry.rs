//! A ferry: a run with one generation for each fare. A generation passes on only the fares taken so far.

use std::time::Duration;

use anyhow::Result;
use drystone::{CallError, Event, Flow, workflow, workflow::SendError};
use serde::{Deserialize, Serialize};

use super::{Op, in_round};
use crate::crash::{parts::part::Part, processes::app::AppClient};

/// The number of fares that each ferry takes.
pub(super) const FARES: u32 = 6;

/// The time of a crossing. It is long enough that fares queue up, and that a crossing is in progress at most
/// kills.
const CROSSING: Duration = Duration::from_millis(15);

/// A fare, for one crossing.
#[derive(Debug, Event, Serialize, Deserialize)]
pub(super) struct Fare(pub(super) u32);

#[derive(Debug, Default, Serialize, Deserialize)]
pub(in crate::crash) struct Ferry;

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
        Part::Generations.moved();
        tokio::time::sleep(CROSSING).await;
        number
    }
}

/// The ferry that takes the fare of an operation.
pub(super) fn ferry(op: Op) -> String {
    in_round(&format!("ferry-{}", op.turn() / u64::from(FARES)), op.round())
}

/// Starts a ferry and pays its fares up to `last`. Several callers may do so at once, and repeatedly: a fare
/// never arrives before the fares with lower numbers.
pub(super) async fn pay(client: &AppClient, key: &str, last: u32) -> Result<()> {
    client.ferry(key).start_or_get(Vec::new()).await?;
    for number in 1..=last {
        loop {
            let paid = client.ferry(key).send(Fare(number)).idempotency_key(format!("fare-{number}"));
            match paid.await {
                Ok(_) => break,
                // The ferry has ended with all fares, so this fare is a repeat.
                Err(CallError::Failed(SendError::Terminated { .. })) => return Ok(()),
                Err(error) if error.is_retryable() => tokio::task::yield_now().await,
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(())
}
