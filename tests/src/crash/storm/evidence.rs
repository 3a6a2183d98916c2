//! What the file says of the storm of a round: who heard what, and whom the topics say they told.

use std::collections::BTreeMap;

use anyhow::Result;
use drystone::Runtime;

use super::{
    super::{
        app::App,
        op::{Deed, Op},
    },
    Answer, rest,
    topic::Topic,
};

/// What became of each topic.
#[derive(Debug, Default)]
pub(in super::super) struct Evidence {
    pub(super) topics: BTreeMap<Topic, Ended>,
}

/// A topic in the end.
#[derive(Clone, Debug, Default)]
pub(super) struct Ended {
    /// The operations that each run heard of, in order; `None` if it has not ended.
    pub(super) heard: BTreeMap<String, Option<Vec<u64>>>,
    /// The runs that each event was sent to, by its number. A topic forgets the oldest of them (T1): a number that is missing, and the
    /// first that is there, say nothing of those who were not told.
    pub(super) told: BTreeMap<u64, Vec<String>>,
    /// The operations whose events are dead letters.
    pub(super) dead: Vec<u64>,
    /// How many events still wait for somebody.
    pub(super) pending: u64,
}

impl Evidence {
    /// That of a round, in which this was acknowledged.
    pub(in super::super) async fn gather(
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
