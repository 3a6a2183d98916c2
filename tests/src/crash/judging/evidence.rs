//! The contents of the files at the end of a round, as the parent reads them.

use std::{collections::BTreeMap, path::Path, time::Duration};

use anyhow::{Context, Result};
use drystone_runtime::{
    Entity, Phase, Store,
    store::{Query, Sqlite},
};
use rusqlite::Connection;

use super::{fate::Fate, heard::Heard};
use crate::{
    bell::Past,
    crash::{
        log::{self, Entry},
        op::round_of,
        parts::{hooks, outbox, runs, topics, typed},
        processes::app,
    },
};

/// The number of entities read at once.
const PAGE: usize = 1_000;

/// The time limit for closing the app.
const PATIENCE: Duration = Duration::from_secs(10);

/// Everything stored that the promises are checked against.
#[derive(Debug, Default)]
pub(in crate::crash) struct Evidence {
    /// The logs of counters and workers, by key.
    pub(in crate::crash) logs: BTreeMap<String, Vec<Entry>>,
    /// The bells, by key.
    pub(in crate::crash) bells: BTreeMap<String, Past>,
    /// Faults of entities of any kind: parked, failing, or left over from an earlier round.
    pub(in crate::crash) ill: Vec<String>,
    /// Errors reported by SQLite's integrity check.
    pub(in crate::crash) damage: Vec<String>,
    /// The contents of the typed primitives.
    pub(in crate::crash) typed: typed::Evidence,
    /// The outcomes of the runs.
    pub(in crate::crash) fleet: runs::Evidence,
    /// The rows that transactions have written.
    pub(in crate::crash) hooks: hooks::Evidence,
    /// The messages of transactions that were delivered.
    pub(in crate::crash) outbox: outbox::Evidence,
    /// The events that runs heard in the storm.
    pub(in crate::crash) storm: topics::Evidence,
}

impl Evidence {
    /// Reads the evidence of the round that `heard` belongs to.
    pub(in crate::crash) async fn gather(file: &Path, heard: &Heard) -> Result<Self> {
        let mut evidence = Self::default();
        evidence.read_kernel(file, heard.round).await?;
        evidence.read_app(&app::beside(file), heard).await?;
        for file in [file.to_owned(), app::beside(file)] {
            let found: String =
                Connection::open(&file)?.pragma_query_value(None, "integrity_check", |row| row.get(0))?;
            evidence.damage.extend((found != "ok").then(|| format!("integrity_check of {}: {found}", file.display())));
        }
        Ok(evidence)
    }

    async fn read_kernel(&mut self, file: &Path, round: u64) -> Result<()> {
        let store = app::store(file, round)?;
        for entity in self.look_at_all(&store, round).await? {
            let key = String::from_utf8(entity.key.key.to_vec())?;
            if entity.definition == "bell" {
                let past = Past::decode(&entity.state).context("a bell's state cannot be read")?;
                self.bells.insert(key, past);
            } else {
                self.logs.insert(key, log::read(&*store, entity.id).await?);
            }
        }
        Ok(())
    }

    async fn read_app(&mut self, file: &Path, heard: &Heard) -> Result<()> {
        let store = app::store(file, heard.round)?;
        self.look_at_all(&store, heard.round).await?;
        let app = app::start(store, Fate::Lives).await?;
        self.typed = typed::Evidence::gather(&app, heard.round).await?;
        self.fleet = runs::Evidence::gather(&app, heard.next()).await?;
        self.hooks = hooks::Evidence::gather(&app, heard.round).await?;
        self.outbox = outbox::Evidence::gather(&app, heard.next()).await?;
        self.storm = topics::Evidence::gather(&app, heard.round, &heard.acknowledged).await?;
        Ok(app.shutdown(PATIENCE).await?)
    }

    /// Records the faults of all entities in a store. Returns the entities of the round.
    async fn look_at_all(&mut self, store: &Sqlite, round: u64) -> Result<Vec<Entity>> {
        let stuck = all(store, Query { stuck: true, ..Query::default() }).await?;
        self.ill.extend(stuck.iter().map(|entity| format!("nothing will wake `{}`", entity.key)));
        let entities = all(store, Query::default()).await?;
        self.ill.extend(entities.iter().filter_map(|entity| illness(entity, round)));
        Ok(entities.into_iter().filter(|entity| round_of(&name(entity)) == Some(round)).collect())
    }
}

/// Describes what is wrong with an entity, if anything. All other kills come from outside, so only guilty
/// entities may be held (W2).
fn illness(entity: &Entity, round: u64) -> Option<String> {
    let name = name(entity);
    if is_guilty(&name) {
        return None;
    }
    if let Some(reason) = &entity.parked {
        return Some(format!("{name} is parked: {reason}"));
    }
    if entity.status.phase == Phase::Failing {
        return Some(format!("{name} is failing: {}", entity.status.word));
    }
    is_left(&name, round).then(|| format!("{name} was left by a round before {round}"))
}

/// Whether an entity kills its process. Such entities stay in the files.
fn is_guilty(name: &str) -> bool {
    name.starts_with("guilty")
}

/// Whether an entity is left over from an earlier round.
pub(in crate::crash) fn is_left(name: &str, round: u64) -> bool {
    !is_guilty(name) && round_of(name).is_some_and(|of| of < round)
}

/// The key of an entity, as text.
pub(in crate::crash) fn name(entity: &Entity) -> String {
    String::from_utf8_lossy(&entity.key.key).into_owned()
}

async fn all(store: &dyn Store, query: Query) -> Result<Vec<Entity>> {
    let (mut entities, mut query) = (Vec::new(), Query { limit: PAGE, ..query });
    loop {
        let page = store.list(&query).await?;
        entities.extend(page.entities);
        query.after = page.next;
        if query.after.is_none() {
            return Ok(entities);
        }
    }
}
