//! The contents of the file about the runs of a round.

use std::collections::BTreeMap;

use anyhow::Result;
use drystone::{
    CallError, Failure, RunError, Runtime,
    workflow::{Cause, History, RunPhase},
};

use super::{
    GUILTY, convoy,
    convoy::{boats, harbours},
    diver, ferry, sailed, wreck,
};
use crate::crash::{op::Op, processes::app::App};

/// The outcome of each run.
#[derive(Debug, Default)]
pub(in crate::crash) struct Evidence {
    pub(super) voyages: Vec<Ended>,
    /// How the guilty run ended, if it did not end as planned.
    pub(super) guilty: String,
    /// The boats that each convoy returned, and the boats that it should have returned.
    pub(super) convoys: Vec<(Option<Vec<u64>>, Vec<u64>)>,
    /// The boats that were entered in harbours.
    pub(super) entered: Vec<u64>,
    /// The fares that each ferry took, and the generation in which it ended.
    pub(super) ferries: Vec<(String, Vec<u32>, u32)>,
    pub(super) wrecks: Vec<Wrecked>,
    /// The divers, and the result of each.
    pub(super) divers: Vec<(Op, Option<u64>)>,
}

/// How a run ended whose steps are undone.
#[derive(Clone, Debug)]
pub(super) struct Wrecked {
    pub(super) key: String,
    pub(super) error: String,
    /// The operations in its journal, in order.
    pub(super) operations: Vec<String>,
}

#[derive(Clone, Debug)]
pub(super) struct Ended {
    pub(super) key: String,
    pub(super) phase: Option<RunPhase>,
    pub(super) legs: Vec<u32>,
    pub(super) signals: Vec<u32>,
    /// The operations in its journal, in order.
    pub(super) operations: Vec<String>,
    /// The legs that it has in the logbook, in order.
    pub(super) booked: Vec<u32>,
}

impl Evidence {
    /// Reads the evidence of a round. `next` is its first operation that has not begun.
    pub(in crate::crash) async fn gather(app: &Runtime<App>, next: Op) -> Result<Self> {
        let (mut evidence, round) = (Self::default(), next.round());
        let mut logbook = logbook(app, round).await?;
        for op in sailed(next) {
            let booked = logbook.remove(&op.0).unwrap_or_default();
            evidence.voyages.push(ended(app, op.key(), booked).await?);
            evidence.look_at_wreck(app, op).await;
            if op.turn().is_multiple_of(2) {
                evidence.look_at_convoy(app, op).await;
            } else {
                let ended = app.client().diver(diver(op)).try_result().await.unwrap_or_default();
                evidence.divers.push((op, ended));
            }
            if op.turn().is_multiple_of(u64::from(super::FARES)) {
                evidence.look_at_ferry(app, ferry(op)).await?;
            }
        }
        for harbour in harbours(round) {
            let harbour = app.client().harbour(harbour).state().await?;
            evidence.entered.extend(harbour.map(|harbour| harbour.entered).unwrap_or_default());
        }
        if round == 0 {
            evidence.guilty = guilty(app).await;
        }
        Ok(evidence)
    }

    async fn look_at_convoy(&mut self, app: &Runtime<App>, op: Op) {
        let ended = app.client().convoy(convoy(op)).try_result().await.unwrap_or_default();
        self.convoys.push((ended, boats(op)));
    }

    async fn look_at_ferry(&mut self, app: &Runtime<App>, key: String) -> Result<()> {
        let run = app.client().ferry(&key);
        let taken = run.try_result().await.ok().flatten().unwrap_or_default();
        let generation = run.status().await?.map_or(0, |status| status.generation);
        self.ferries.push((key, taken, generation));
        Ok(())
    }

    async fn look_at_wreck(&mut self, app: &Runtime<App>, op: Op) {
        let (key, run) = (wreck(op), app.client().wreck(wreck(op)));
        let error = match run.try_result().await {
            Err(CallError::Failed(RunError::Failed(error))) => error,
            other => format!("{other:?}"),
        };
        let operations = operations(run.history().await);
        self.wrecks.push(Wrecked { key, error, operations });
    }
}

/// How the guilty voyage ended. Empty if it ended as planned.
async fn guilty(app: &Runtime<App>) -> String {
    match app.client().voyage(GUILTY).try_result().await {
        Err(CallError::Failed(RunError::Fault(fault))) if matches!(fault.cause, Cause::Panicked { .. }) => {
            String::new()
        }
        other => format!("{other:?}"),
    }
}

/// The legs that each ship of a round has booked.
async fn logbook(app: &Runtime<App>, round: u64) -> Result<BTreeMap<u64, Vec<u32>>> {
    let from = i64::try_from(Op::of_round(round).start)?;
    let rows = app.transaction(move |sql| {
        let sql = sql.query("SELECT ship, leg FROM logbook WHERE ship >= ?1 ORDER BY rowid", (from,), |row| {
            Ok((row.get::<u64>("ship")?, row.get::<u32>("leg")?))
        });
        sql.map_err(Failure::from)
    });
    let mut booked = BTreeMap::<u64, Vec<u32>>::new();
    for (ship, leg) in rows.await.map_err(|error| anyhow::anyhow!("the logbook cannot be read: {error}"))? {
        booked.entry(ship).or_default().push(leg);
    }
    Ok(booked)
}

async fn ended(app: &Runtime<App>, key: String, booked: Vec<u32>) -> Result<Ended> {
    let run = app.client().voyage(&key);
    let phase = run.status().await?.map(|status| status.phase);
    let (legs, signals) = match run.try_result().await {
        Ok(result) => result.unwrap_or_default(),
        Err(_) => Default::default(),
    };
    let operations = operations(run.history().await);
    Ok(Ended { key, phase, legs, signals, operations, booked })
}

/// The operations that a run has recorded. Empty if the campaign was broken off before the run was started.
fn operations<E>(history: Result<History, E>) -> Vec<String> {
    history.map(|history| history.operations().map(str::to_owned).collect()).unwrap_or_default()
}
