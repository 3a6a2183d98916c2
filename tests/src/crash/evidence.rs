//! What the file says in the end, read by the parent without any kernel.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context, Result};
use drystone_runtime::{
    Entity, Store,
    store::{Query, Sqlite, SqliteOptions},
};
use rusqlite::Connection;

use super::{
    fleet,
    log::{self, Entry},
    storm, typed,
};
use crate::bell::Past;

/// Everything stored that has to do with the promises.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// The logs of counters and workers, by key.
    pub(super) logs: BTreeMap<String, Vec<Entry>>,
    /// The bells, by key.
    pub(super) bells: BTreeMap<String, Past>,
    /// Entities that are not run, and why.
    pub(super) parked: Vec<String>,
    /// Entities that nothing will wake.
    pub(super) stuck: Vec<String>,
    /// What SQLite says of its file: `ok`.
    pub(super) integrity: String,
    /// What the typed app has stored.
    pub(super) typed: typed::Evidence,
    /// What became of the fleet.
    pub(super) fleet: fleet::Evidence,
    /// What was heard in the storm.
    pub(super) storm: storm::Evidence,
}

impl Evidence {
    pub(super) async fn gather(file: &Path) -> Result<Self> {
        let store = Sqlite::open(file, SqliteOptions::default())?;
        let mut evidence = Self::default();
        for entity in all(&store, Query::default()).await? {
            evidence.take(&store, &entity).await?;
        }
        let stuck = all(&store, Query { stuck: true, ..Query::default() }).await?;
        evidence.stuck = stuck.iter().map(|entity| entity.key.to_string()).collect();
        drop(store);
        evidence.integrity = integrity(file)?;
        evidence.typed = typed::Evidence::gather(file).await?;
        evidence.fleet = fleet::Evidence::gather(file).await?;
        evidence.storm = storm::Evidence::gather(file).await?;
        Ok(evidence)
    }

    async fn take(&mut self, store: &dyn Store, entity: &Entity) -> Result<()> {
        let key = String::from_utf8(entity.key.key.to_vec())?;
        if let Some(reason) = &entity.parked {
            self.parked.push(format!("{key} is parked: {reason}"));
        }
        if entity.definition == "bell" {
            let past = Past::decode(&entity.state).context("a bell's state cannot be read")?;
            self.bells.insert(key, past);
        } else {
            self.logs.insert(key, log::read(store, entity.id).await?);
        }
        Ok(())
    }
}

async fn all(store: &dyn Store, mut query: Query) -> Result<Vec<Entity>> {
    let mut entities = Vec::new();
    loop {
        let page = store.list(&query).await?;
        entities.extend(page.entities);
        query.after = page.next;
        if query.after.is_none() {
            return Ok(entities);
        }
    }
}

fn integrity(file: &Path) -> Result<String> {
    Ok(Connection::open(file)?.pragma_query_value(None, "integrity_check", |row| row.get(0))?)
}
