//! The topics of the storm: of both sorts, with a key and without.

use std::fmt;

use anyhow::Result;
use drystone::{
    Call, Event, PublishError, Published,
    topics::{Deliveries, Place, TopicStatus},
};
use serde::{Deserialize, Serialize};

use super::super::{
    app::AppClient,
    op::{Op, in_round},
};

/// To all, from when their run began: each of them hears all of it. It lasts through all rounds. An event without an operation is the last.
///
/// A round publishes fewer than `max_pending`, but it is told so often that the topic forgets whom it told first (T1): the judge has
/// to do without.
#[derive(Event, Serialize, Deserialize)]
#[event(topic, from = "created", max_pending = 500)]
pub(super) struct News(pub(super) Option<u64>);

/// To all who wait just then, by key.
#[derive(Event, Serialize, Deserialize)]
#[event(topic, key = key)]
pub(super) struct Paid {
    key: u64,
    pub(super) op: Option<u64>,
}

/// To one. It lasts through all rounds.
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

/// How many keys each event has in a round that has any.
const KEYS: u64 = 3;

/// Those who wait for events with this key do so for a short time only, again and again.
const BRISK: u64 = 2;

/// A topic, as the runs of one round see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Topic {
    pub(super) round: u64,
    pub(super) sort: Sort,
}

/// Which topic of its round it is.
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

    /// Where the event of an operation is published.
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

    /// The key of its events. Each round has keys of its own.
    pub(super) fn key(self) -> u64 {
        match self.sort {
            Sort::News | Sort::Job => 0,
            Sort::Paid(key) | Sort::Task(key) => self.round * KEYS + key,
        }
    }

    /// How many wait on it: more than the commit that publishes looks at, and fewer.
    pub(super) fn listeners(self) -> u64 {
        match self.sort {
            Sort::News => 30,
            Sort::Paid(0) | Sort::Task(0) => 20,
            Sort::Paid(_) | Sort::Job => 5,
            Sort::Task(_) => 3,
        }
    }

    /// The key of the nth run that waits on it.
    pub(super) fn run(self, nth: u64) -> String {
        in_round(&format!("{self}-{nth}"), self.round)
    }

    /// Whether an event goes to one alone.
    pub(super) fn is_for_one(self) -> bool {
        matches!(self.sort, Sort::Job | Sort::Task(_))
    }

    /// Whether a run on it hears every event of its round.
    pub(super) fn is_heard_whole(self) -> bool {
        self.sort == Sort::News
    }

    /// Whether runs wait on it for a short time only.
    pub(super) fn is_brisk(self) -> bool {
        matches!(self.sort, Sort::Paid(BRISK))
    }

    /// Publishes the event of an operation, or the last one.
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
