//! The topics of the storm: of both sorts, with a key and without.

use std::fmt;

use anyhow::Result;
use drystone::{
    Call, Event, PublishError, Published,
    topics::{Deliveries, Place, TopicStatus},
};
use serde::{Deserialize, Serialize};

use super::{super::op::Op, AppClient};

/// To all, from when their run began: each of them hears all of it. An event without an operation is the last.
#[derive(Event, Serialize, Deserialize)]
#[event(topic, from = "created")]
pub(super) struct News(pub(super) Option<u64>);

/// To all who wait just then, by key.
#[derive(Event, Serialize, Deserialize)]
#[event(topic, key = key)]
pub(super) struct Paid {
    key: u64,
    pub(super) op: Option<u64>,
}

/// To one.
#[derive(Event, Serialize, Deserialize)]
#[event(topic, deliver = "one")]
pub(super) struct Job(pub(super) Option<u64>);

/// To one, by key.
#[derive(Event, Serialize, Deserialize)]
#[event(topic, key = key, deliver = "one")]
pub(super) struct Task {
    pub(super) key: u64,
    pub(super) op: Option<u64>,
}

/// How many keys each event has that has any.
const KEYS: u64 = 3;

/// Those who wait for events with this key do so for a short time only, again and again.
const BRISK: u64 = 2;

/// A topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Topic {
    News,
    Paid(u64),
    Job,
    Task(u64),
}

impl Topic {
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let keyed = (0..KEYS).flat_map(|key| [Self::Paid(key), Self::Task(key)]);
        [Self::News, Self::Job].into_iter().chain(keyed)
    }

    /// Where the event of an operation is published.
    pub(super) fn of(op: Op) -> Self {
        let (sort, key) = (op.gust() % 4, op.gust() / 4 % KEYS);
        match sort {
            0 => Self::News,
            1 => Self::Paid(key),
            2 => Self::Job,
            _ => Self::Task(key),
        }
    }

    /// How many wait on it: more than the commit that publishes looks at, and fewer.
    pub(super) fn listeners(self) -> u64 {
        match self {
            Self::News | Self::Paid(0) => 40,
            Self::Paid(_) | Self::Job => 5,
            Self::Task(0) => 20,
            Self::Task(_) => 3,
        }
    }

    /// The key of the nth run that waits on it.
    pub(super) fn run(self, nth: u64) -> String {
        format!("{self}-{nth}")
    }

    /// Whether an event goes to one alone.
    pub(super) fn is_for_one(self) -> bool {
        matches!(self, Self::Job | Self::Task(_))
    }

    /// Whether whoever waits on it waits for a short time only.
    pub(super) fn is_brisk(self) -> bool {
        matches!(self, Self::Paid(BRISK))
    }

    /// Publishes the event of an operation, or the last one.
    pub(super) fn publish(self, client: &AppClient, op: Option<u64>) -> Call<Published, PublishError> {
        match self {
            Self::News => client.publish(News(op)),
            Self::Paid(key) => client.publish(Paid { key, op }),
            Self::Job => client.publish(Job(op)),
            Self::Task(key) => client.publish(Task { key, op }),
        }
    }

    pub(super) async fn status(self, client: &AppClient) -> Result<Option<TopicStatus>> {
        let status = match self {
            Self::News => client.topic::<News>().status(),
            Self::Paid(key) => client.topic_of::<Paid>(key).status(),
            Self::Job => client.topic::<Job>().status(),
            Self::Task(key) => client.topic_of::<Task>(key).status(),
        };
        Ok(status.await?)
    }

    /// The runs that it says it has sent an event to.
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
        match self {
            Self::News => client.topic::<News>().deliveries(number, after),
            Self::Paid(key) => client.topic_of::<Paid>(key).deliveries(number, after),
            Self::Job => client.topic::<Job>().deliveries(number, after),
            Self::Task(key) => client.topic_of::<Task>(key).deliveries(number, after),
        }
    }
}

impl fmt::Display for Topic {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::News => out.write_str("news"),
            Self::Paid(key) => write!(out, "paid-{key}"),
            Self::Job => out.write_str("job"),
            Self::Task(key) => write!(out, "task-{key}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_reach_every_topic() {
        let reached: Vec<_> = (0..200).map(|number| Topic::of(Op(number))).collect();
        assert!(Topic::all().all(|topic| reached.contains(&topic)));
    }
}
