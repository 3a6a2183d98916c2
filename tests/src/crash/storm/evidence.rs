//! What the storm's file says in the end: who heard what, and whom the topics say they told.

use std::{collections::BTreeMap, path::Path, time::Duration};

use anyhow::Result;
use drystone::Runtime;

use super::{App, beside, rest, topic::Topic};

/// What became of each topic.
#[derive(Debug, Default)]
pub(in super::super) struct Evidence {
    pub(super) topics: BTreeMap<Topic, Ended>,
    /// Entities that are not run, and why.
    pub(super) parked: Vec<String>,
}

/// A topic in the end.
#[derive(Clone, Debug, Default)]
pub(super) struct Ended {
    /// The operations that each run heard of, in order; `None` if it has not ended.
    pub(super) heard: BTreeMap<String, Option<Vec<u64>>>,
    /// The runs that each event was sent to, by its number.
    pub(super) told: BTreeMap<u64, Vec<String>>,
    /// The operations whose events are dead letters.
    pub(super) dead: Vec<u64>,
    /// How many events still wait for somebody.
    pub(super) pending: u64,
}

impl Evidence {
    pub(in super::super) async fn gather(file: &Path) -> Result<Self> {
        let app = Runtime::sqlite(beside(file)).start::<App>().await?;
        let mut evidence = Self::default();
        for topic in Topic::all() {
            evidence.topics.insert(topic, Ended::gather(&app, topic).await?);
        }
        for view in app.entities().parked().await?.entities {
            evidence.parked.push(format!("{} is parked: {}", view.key, view.meta.parked.unwrap_or_default()));
        }
        app.shutdown(Duration::from_secs(10)).await?;
        Ok(evidence)
    }
}

impl Ended {
    async fn gather(app: &Runtime<App>, topic: Topic) -> Result<Self> {
        let client = app.client();
        let mut ended = Self { heard: rest::results(&client, topic).await?, ..Self::default() };
        ended.dead = rest::dead(app, topic).await?.into_iter().flatten().collect();
        let Some(status) = topic.status(&client).await? else { return Ok(ended) };
        ended.pending = status.pending;
        for number in 1..=status.last {
            ended.told.insert(number, topic.told(&client, number).await?);
        }
        Ok(ended)
    }
}
