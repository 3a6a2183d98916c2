//! The topics of the storm: for all and for one, with a key and without.

use std::fmt;

use anyhow::Result;
use drystone::{
    Call, Event, PublishError, Published,
    topics::{Deliveries, Place, TopicStatus},
};
use serde::{Deserialize, Serialize};

use crate::crash::{
    op::{Op, in_round},
    processes::app::AppClient,
};

/// For all, from the start of the run, so that each run hears the whole round. The topic exists through all
/// rounds. An event without an operation is the last one.
///
/// A round publishes fewer events than `max_pending`, but has so many deliveries that the topic forgets the
/// oldest ones (T1). The verdict must do without them.
#[derive(Event, Serialize, Deserialize)]
#[event(topic, from = "created", max_pending = 500)]
pub(super) struct News(pub(super) Option<u64>);

/// For all runs that wait at that moment, by key.
#[derive(Event, Serialize, Deserialize)]
#[event(topic, key = key)]
pub(super) struct Paid {
    key: u64,
    pub(super) op: Option<u64>,
}

/// For one run. The topic exists through all rounds.
#[derive(Event, Serialize, Deserialize)]
#[event(topic, deliver = "one")]
pub(super) struct Job(pub(super) Option<u64>);

/// For one run, by key.
#[derive(Event, Serialize, Deserialize)]
#[event(topic, key = key, deliver = "one")]
pub(super) struct Task {
    pub(super) key: u64,
    pub(super) op: Option<u64>,
}

/// The number of keys that a keyed event has in a round.
const KEYS: u64 = 3;

/// The key whose listeners wait for a short time only, again and again.
const BRISK: u64 = 2;

/// A topic as the runs of one round see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Topic {
    pub(super) round: u64,
    pub(super) sort: Sort,
}

/// The sort of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Sort {
    News,
    Paid(u64),
    Job,
    Task(u64),
}

impl Topic {
    pub(super) fn all(round: u64) -> impl Iterator<Item = Self> {
        let keyed = (0..KEYS).flat_map(|key| [Sort::Paid(key), Sort::Task(key)]);
        [Sort::News, Sort::Job].into_iter().chain(keyed).map(move |sort| Self { round, sort })
    }

    /// The topic on which the event of an operation is published.
    pub(super) fn of(op: Op) -> Self {
        let (sort, key) = (op.turn() % 4, op.turn() / 4 % KEYS);
        let sort = match sort {
            0 => Sort::News,
            1 => Sort::Paid(key),
            2 => Sort::Job,
            _ => Sort::Task(key),
        };
        Self { round: op.round(), sort }
    }

    /// The key of its events. Each round has its own keys.
    pub(super) fn key(self) -> u64 {
        match self.sort {
            Sort::News | Sort::Job => 0,
            Sort::Paid(key) | Sort::Task(key) => self.round * KEYS + key,
        }
    }

    /// The number of runs that wait on the topic. Some topics have more runs than the publishing commit
    /// serves itself, some have fewer.
    pub(super) fn listeners(self) -> u64 {
        match self.sort {
            Sort::News => 30,
            Sort::Paid(0) | Sort::Task(0) => 20,
            Sort::Paid(_) | Sort::Job => 5,
            Sort::Task(_) => 3,
        }
    }

    /// The key of the `nth` run that waits on the topic.
    pub(super) fn run(self, nth: u64) -> String {
        in_round(&format!("{self}-{nth}"), self.round)
    }

    /// Whether an event goes to only one run.
    pub(super) fn is_for_one(self) -> bool {
        matches!(self.sort, Sort::Job | Sort::Task(_))
    }

    /// Whether each run on the topic hears every event of its round.
    pub(super) fn is_heard_whole(self) -> bool {
        self.sort == Sort::News
    }

    /// Whether runs wait on the topic for a short time only.
    pub(super) fn is_brisk(self) -> bool {
        matches!(self.sort, Sort::Paid(BRISK))
    }

    /// Publishes the event of an operation, or the last event with `None`.
    pub(super) fn publish(self, client: &AppClient, op: Option<u64>) -> Call<Published, PublishError> {
        let key = self.key();
        match self.sort {
            Sort::News => client.publish(News(op)),
            Sort::Paid(_) => client.publish(Paid { key, op }),
            Sort::Job => client.publish(Job(op)),
            Sort::Task(_) => client.publish(Task { key, op }),
        }
    }

    pub(super) async fn status(self, client: &AppClient) -> Result<Option<TopicStatus>> {
        let status = match self.sort {
            Sort::News => client.topic::<News>().status(),
            Sort::Paid(_) => client.topic_of::<Paid>(self.key()).status(),
            Sort::Job => client.topic::<Job>().status(),
            Sort::Task(_) => client.topic_of::<Task>(self.key()).status(),
        };
        Ok(status.await?)
    }

    /// The runs that an event was sent to, according to the topic.
    pub(super) async fn told(self, client: &AppClient, number: u64) -> Result<Vec<String>> {
        let (mut told, mut after) = (Vec::new(), None);
        loop {
            let page = self.deliveries(client, number, after).await?;
            told.extend(page.deliveries.into_iter().map(|delivery| delivery.run));
            after = page.next;
            if after.is_none() {
                return Ok(told);
            }
        }
    }

    fn deliveries(self, client: &AppClient, number: u64, after: Option<Place>) -> Call<Deliveries> {
        match self.sort {
            Sort::News => client.topic::<News>().deliveries(number, after),
            Sort::Paid(_) => client.topic_of::<Paid>(self.key()).deliveries(number, after),
            Sort::Job => client.topic::<Job>().deliveries(number, after),
            Sort::Task(_) => client.topic_of::<Task>(self.key()).deliveries(number, after),
        }
    }
}

impl fmt::Display for Topic {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sort {
            Sort::News => out.write_str("news"),
            Sort::Paid(key) => write!(out, "paid-{key}"),
            Sort::Job => out.write_str("job"),
            Sort::Task(key) => write!(out, "task-{key}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_reach_every_topic() {
        let reached: Vec<_> = (0..200).map(|number| Topic::of(Op(number))).collect();
        assert!(Topic::all(0).all(|topic| reached.contains(&topic)));
    }
}
