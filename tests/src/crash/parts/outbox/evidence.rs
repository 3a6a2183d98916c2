//! The contents of the file about letters and parcels of a round.

use std::collections::BTreeMap;

use anyhow::{Context, Result, anyhow};
use drystone::{Failure, Runtime, sql::SqlRow};

use super::{Letter, ORDERS, Post, Sold, ordered, parcel, parcel::Taken, posts};
use crate::crash::{op::Op, parts::hooks::Writer, processes::app::App};

/// Everything stored that the promises are checked against.
#[derive(Debug, Default)]
pub(in crate::crash) struct Evidence {
    /// The delivered letters, each with the queue that took it.
    pub(super) delivered: Vec<(String, Letter)>,
    /// The letters that each queue has applied.
    pub(super) posts: BTreeMap<String, Post>,
    /// The events that each parcel took. `None` if the parcel has not ended.
    pub(super) parcels: BTreeMap<String, Option<Taken>>,
    /// The number of published events that no run took.
    pub(super) pending: u64,
}

impl Evidence {
    /// Reads the evidence of a round. `next` is its first operation that has not begun.
    pub(in crate::crash) async fn gather(app: &Runtime<App>, next: Op) -> Result<Self> {
        let (client, round) = (app.client(), next.round());
        let mut evidence = Self { delivered: delivered(app, round).await?, ..Self::default() };
        for key in posts(round) {
            let post = client.post(&key).state().await?;
            evidence.posts.extend(post.map(|post| (key, post)));
        }
        for op in ordered(next).step_by(ORDERS as usize) {
            // A run that was never started has no result either.
            let taken = client.parcel(parcel(op)).try_result().await.unwrap_or_default();
            evidence.parcels.insert(parcel(op), taken);
        }
        let status = client.topic_of::<Sold>(round).status().await?;
        evidence.pending = status.map_or(0, |status| status.pending);
        Ok(evidence)
    }
}

/// The letters that were delivered.
pub(super) async fn delivered(app: &Runtime<App>, round: u64) -> Result<Vec<(String, Letter)>> {
    let from = Op::of_round(round).start;
    let rows = app.transaction(move |sql| {
        let all = "SELECT writer, keeper, op FROM delivered WHERE op >= ?1 ORDER BY rowid";
        let read = |row: &SqlRow<'_>| Ok((row.get::<String>(0)?, row.get::<String>(1)?, row.get::<u64>(2)?));
        sql.query(all, (from,), read).map_err(Failure::from)
    });
    let rows = rows.await.map_err(|error| anyhow!("the letters cannot be read: {error}"))?;
    let read = rows.into_iter().map(|(writer, keeper, op)| {
        let writer = Writer::of(&writer).context("a letter has an unknown writer")?;
        Ok((keeper, Letter { writer, op }))
    });
    read.collect()
}

/// The number of rows that were written, each with a letter.
pub(super) async fn written(app: &Runtime<App>, round: u64) -> Result<usize> {
    let from = Op::of_round(round).start;
    let count = app.transaction(move |sql| {
        let count = sql.query_one("SELECT count(*) FROM written WHERE op >= ?1", (from,), |row| row.get::<u64>(0));
        count.map_err(Failure::from)
    });
    Ok(usize::try_from(count.await.map_err(|error| anyhow!("the rows cannot be read: {error}"))?)?)
}
