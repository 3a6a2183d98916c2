//! The contents of the file about the storm of a round: the events that each run heard, and the deliveries
//! that each topic lists.

use std::collections::BTreeMap;

use anyhow::Result;
use drystone::Runtime;

use super::{Answer, rest, topic::Topic};
use crate::crash::{
    op::{Deed, Op},
    processes::app::App,
};

/// The outcome of each topic.
#[derive(Debug, Default)]
pub(in crate::crash) struct Evidence {
    pub(super) topics: BTreeMap<Topic, Ended>,
}

/// A topic at the end of a round.
#[derive(Clone, Debug, Default)]
pub(super) struct Ended {
    /// The operations that each run heard of, in order. `None` if the run has not ended.
    pub(super) heard: BTreeMap<String, Option<Vec<u64>>>,
    /// The runs that each event was sent to, by its number. A topic forgets its oldest deliveries (T1). So a
    /// missing number, and the first number that is present, may lack deliveries.
    pub(super) told: BTreeMap<u64, Vec<String>>,
    /// The operations whose events are dead letters.
    pub(super) dead: Vec<u64>,
    /// The number of events that still wait for a run.
    pub(super) pending: u64,
}

impl Evidence {
    /// Reads the evidence of a round in which these operations were acknowledged.
    pub(in crate::crash) async fn gather(
        app: &Runtime<App>,
        round: u64,
        acknowledged: &BTreeMap<Op, u64>,
    ) -> Result<Self> {
        let mut evidence = Self::default();
        for topic in Topic::all(round) {
            let published =
                acknowledged.iter().filter(|(op, _)| op.deed() == Deed::Publish && Topic::of(**op) == topic);
            let numbers = published.map(|(_, answer)| Answer::unpacked(*answer).number).collect();
            evidence.topics.insert(topic, Ended::gather(app, topic, numbers).await?);
        }
        Ok(evidence)
    }
}

impl Ended {
    async fn gather(app: &Runtime<App>, topic: Topic, numbers: Vec<u64>) -> Result<Self> {
        let client = app.client();
        let mut ended = Self { heard: rest::results(&client, topic).await?, ..Self::default() };
        ended.dead = rest::dead(app, topic).await?.into_iter().flatten().collect();
        ended.pending = topic.status(&client).await?.map_or(0, |status| status.pending);
        for number in numbers {
            let told = topic.told(&client, number).await?;
            if !told.is_empty() {
                ended.told.insert(number, told);
            }
        }
        Ok(ended)
    }
}
