//! The contents of the typed app's file at the end, as a user of the app reads them.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use drystone::{
    Runtime, View,
    dead_letters::{Filter, Opened, Payload, What},
};
use serde::de::DeserializeOwned;

use super::{Clock, Jobs, Note, Pile, clock};
use crate::crash::{
    op::{Op, round_of},
    processes::app::App,
};

/// Everything that the app stores and the promises are checked against.
#[derive(Debug, Default)]
pub(in crate::crash) struct Evidence {
    /// The items of batches that succeeded, by pile.
    pub(super) flushed: BTreeMap<String, Vec<u64>>,
    /// The items of dead letters. Each letter is a batch or a job.
    pub(super) dead: Vec<Vec<u64>>,
    /// The jobs that were processed, by queue.
    pub(super) done: BTreeMap<String, Vec<u64>>,
    pub(super) notes: BTreeMap<String, Note>,
    /// The clock, and the number of ticks according to its kind.
    pub(super) clock: Option<(Clock, u64)>,
    /// The number of permits of each semaphore that are still out, and the number of callers that still
    /// wait.
    pub(super) permits: BTreeMap<String, (u64, u64)>,
}

impl Evidence {
    /// Reads the evidence of a round.
    pub(in crate::crash) async fn gather(app: &Runtime<App>, round: u64) -> Result<Self> {
        let mut evidence = Self { dead: dead(app, round).await?, ..Self::default() };
        for view in all(app, "pile", round).await? {
            evidence.flushed.insert(view.key.clone(), state::<Pile>(&view)?.flushed);
        }
        for view in all(app, "jobs", round).await? {
            evidence.done.insert(view.key.clone(), state::<Jobs>(&view)?.done);
        }
        for view in all(app, "note", round).await? {
            evidence.notes.insert(view.key.clone(), state(&view)?);
        }
        for view in all(app, "berth", round).await? {
            let stats = app.client().berth(&view.key).stats().await?;
            evidence.permits.insert(view.key, (stats.used, stats.waiting));
        }
        if let Some(view) = app.view("clock", clock(round)).await? {
            let runs = view.meta.record["record"]["runs"].as_u64().context("a clock counts its runs")?;
            evidence.clock = Some((state(&view)?, runs));
        }
        Ok(evidence)
    }
}

/// Every entity of a primitive that belongs to a round.
pub(super) async fn all(app: &Runtime<App>, primitive: &str, round: u64) -> Result<Vec<View>> {
    let mut page = app.entities().primitive(primitive).limit(1_000).await?;
    let mut views = page.entities;
    while let Some(next) = page.next {
        page = app.entities().primitive(primitive).limit(1_000).after(next).await?;
        views.append(&mut page.entities);
    }
    views.retain(|view| round_of(&view.key) == Some(round));
    Ok(views)
}

fn state<T: DeserializeOwned>(view: &View) -> Result<T> {
    serde_json::from_value(view.state.clone()).with_context(|| format!("the state of {} cannot be read", view.key))
}

/// The items of every dead letter of a round.
pub(super) async fn dead(app: &Runtime<App>, round: u64) -> Result<Vec<Vec<u64>>> {
    let (letters, filter) = (app.dead_letters(), Filter { limit: usize::MAX, ..Filter::default() });
    let mut dead = Vec::new();
    for letter in letters.list(filter).await?.letters {
        if letter.what == What::Item {
            dead.push(vec![job(&letters.get(letter.id).await?)?]);
            continue;
        }
        anyhow::ensure!(letter.what == What::Batch, "only batches and jobs can die here: {letter:?}");
        let (mut items, mut after) = (Vec::new(), None);
        loop {
            let page = letters.items(letter.id, after).await?;
            items.extend(page.items.iter().filter_map(serde_json::Value::as_u64));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        dead.push(items);
    }
    dead.retain(|items| items.first().is_none_or(|item| Op(*item).round() == round));
    Ok(dead)
}

/// Reads the job in a dead letter.
fn job(opened: &Opened) -> Result<u64> {
    match &opened.payload {
        Payload::Item(item) => item.as_u64().context("a job is a number"),
        other => anyhow::bail!("a job's letter has {other:?}"),
    }
}
