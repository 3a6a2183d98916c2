//! What the typed file says in the end, as a user of the app reads it.

use std::{collections::BTreeMap, path::Path, time::Duration};

use anyhow::{Context, Result};
use drystone::{
    Runtime, View,
    dead_letters::{Filter, Opened, Payload, What},
};
use serde::de::DeserializeOwned;

use super::{App, Deps, Fate, beside, clock::Clock, jobs::Jobs, note::Note, pile::Pile};

/// Everything stored by the app that has to do with the promises.
#[derive(Debug, Default)]
pub(in super::super) struct Evidence {
    /// The items of batches that succeeded, by pile.
    pub(super) flushed: BTreeMap<String, Vec<u64>>,
    /// The items of dead letters, a batch or a job each.
    pub(super) dead: Vec<Vec<u64>>,
    /// The jobs that were processed, by queue.
    pub(super) done: BTreeMap<String, Vec<u64>>,
    pub(super) notes: BTreeMap<String, Note>,
    /// The clock, and how often its kind says that it ticked.
    pub(super) clock: Option<(Clock, u64)>,
    /// Entities that are not run, and why.
    pub(super) parked: Vec<String>,
}

impl Evidence {
    pub(in super::super) async fn gather(file: &Path) -> Result<Self> {
        let deps = Deps { fate: Fate::Lives };
        let app = Runtime::sqlite(beside(file)).services(deps).start::<App>().await?;
        let mut evidence = Self { dead: dead(&app).await?, ..Self::default() };
        for view in all(&app, "pile").await? {
            evidence.flushed.insert(view.key.clone(), state::<Pile>(&view)?.flushed);
        }
        for view in all(&app, "jobs").await? {
            evidence.done.insert(view.key.clone(), state::<Jobs>(&view)?.done);
        }
        for view in all(&app, "note").await? {
            evidence.notes.insert(view.key.clone(), state(&view)?);
        }
        for view in all(&app, "clock").await? {
            let runs = view.meta.record["record"]["runs"].as_u64().context("a clock counts its runs")?;
            evidence.clock = Some((state(&view)?, runs));
        }
        for view in app.entities().parked().await?.entities {
            evidence.parked.push(format!("{} is parked: {}", view.key, view.meta.parked.unwrap_or_default()));
        }
        app.shutdown(Duration::from_secs(10)).await?;
        Ok(evidence)
    }
}

/// Every entity of a primitive.
pub(super) async fn all(app: &Runtime<App>, primitive: &str) -> Result<Vec<View>> {
    let mut page = app.entities().primitive(primitive).limit(1_000).await?;
    let mut views = page.entities;
    while let Some(next) = page.next {
        page = app.entities().primitive(primitive).limit(1_000).after(next).await?;
        views.append(&mut page.entities);
    }
    Ok(views)
}

fn state<T: DeserializeOwned>(view: &View) -> Result<T> {
    serde_json::from_value(view.state.clone()).with_context(|| format!("the state of {} cannot be read", view.key))
}

/// The items of every dead letter.
async fn dead(app: &Runtime<App>) -> Result<Vec<Vec<u64>>> {
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
    Ok(dead)
}

/// The job in a letter.
fn job(opened: &Opened) -> Result<u64> {
    match &opened.payload {
        Payload::Item(item) => item.as_u64().context("a job is a number"),
        other => anyhow::bail!("a job's letter has {other:?}"),
    }
}
