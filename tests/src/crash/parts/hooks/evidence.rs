//! The contents of the file about the hooks of a round, and about the transactions of orders.

use std::collections::BTreeMap;

use anyhow::{Context, Result, anyhow};
use drystone::{Failure, Runtime};

use super::{Press, Writer, Written, chronicle, presses, tallies};
use crate::crash::{op::Op, processes::app::App};

/// Everything stored that the promises are checked against.
#[derive(Debug, Default)]
pub(in crate::crash) struct Evidence {
    /// The rows that transactions have written.
    pub(in crate::crash) written: Vec<Written>,
    /// The number of rows that each buffer and the clock have counted.
    pub(super) counts: BTreeMap<String, u64>,
    /// The items that each queue has applied.
    pub(super) presses: BTreeMap<String, Press>,
}

impl Evidence {
    /// Reads the evidence of a round.
    pub(in crate::crash) async fn gather(app: &Runtime<App>, round: u64) -> Result<Self> {
        let mut evidence = Self { written: written(app, round).await?, ..Self::default() };
        let client = app.client();
        for key in tallies(round) {
            let tally = client.tally(&key).state().await?;
            evidence.counts.extend(tally.map(|tally| (key, tally.flushed)));
        }
        for key in presses(round) {
            let press = client.press(&key).state().await?;
            evidence.presses.extend(press.map(|press| (key, press)));
        }
        let clock = client.chronicle(chronicle(round)).state().await?;
        evidence.counts.extend(clock.map(|clock| (chronicle(round), clock.ticks)));
        Ok(evidence)
    }
}

async fn written(app: &Runtime<App>, round: u64) -> Result<Vec<Written>> {
    let from = Op::of_round(round).start;
    let rows = app.transaction(move |sql| {
        let all = "SELECT writer, keeper, op, nth FROM written WHERE op >= ?1 ORDER BY rowid";
        let rows = sql.query(all, (from,), |row| {
            Ok((row.get::<String>(0)?, row.get::<String>(1)?, row.get::<u64>(2)?, row.get::<u64>(3)?))
        });
        rows.map_err(Failure::from)
    });
    let rows = rows.await.map_err(|error| anyhow!("the rows cannot be read: {error}"))?;
    let read = rows.into_iter().map(|(writer, keeper, op, nth)| {
        let writer = Writer::of(&writer).context("a row has an unknown writer")?;
        Ok(Written { writer, keeper, op, nth })
    });
    read.collect()
}
