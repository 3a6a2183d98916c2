//! Checks the counters of topics and runs: the events that a topic or run was given are still there, went
//! on, or are counted as lost (T2, V9).

use std::collections::BTreeMap;

use drystone_runtime::{Version, store::After};
use serde::Deserialize;

use super::{
    said::{Exchange, Post, Said},
    topics::Kept,
    whereabouts::Writing,
};
use crate::sim::{
    drawing::roster::Role,
    recording::log::Class,
    workflows::{QueueOf, Record},
};

/// The last durable counters of all topics and runs.
#[derive(Default)]
pub(super) struct Tallies {
    topics: BTreeMap<Version, Topic>,
    runs: BTreeMap<Version, Run>,
}

/// The record of a topic.
#[derive(Clone, Debug, Default, Deserialize)]
struct Topic {
    options: Options,
    last: u64,
    #[serde(default)]
    logged: u64,
    #[serde(default)]
    pending: u64,
    #[serde(default)]
    watching: u64,
    #[serde(default)]
    given: u64,
    #[serde(default)]
    dead: u64,
    #[serde(default)]
    trimmed: u64,
    #[serde(default)]
    expired: u64,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Options {
    keep_for_ms: i64,
}

/// The counters of a run.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    events: u64,
    queued: u64,
    lost: u64,
}

impl Tallies {
    pub(super) fn applied(&mut self, writing: &Writing<'_>, post: &Post, exchange: &Exchange) {
        let buried = post.sent(exchange).filter(|said| matches!(said, Said::Buried(_))).count() as u64;
        match &writing.write.after {
            After::Entity(entity) if writing.role.is_topic() => {
                if let Ok(topic) = serde_json::from_slice::<Topic>(&entity.head) {
                    self.topic(writing, &topic, buried);
                }
            }
            After::Destroyed if writing.role.is_topic() => self.gone(writing),
            After::Entity(_) => {
                let given = post.sent(exchange).filter(|said| matches!(said, Said::Published(_))).count() as u64;
                if let Some(record) = writing.run() {
                    self.run(writing, &record, buried + given);
                }
            }
            After::Destroyed | After::Unbound => {}
        }
    }

    fn topic(&mut self, writing: &Writing<'_>, topic: &Topic, buried: u64) {
        let lanes =
            [("log", topic.logged), ("pending", topic.pending), ("watchers", topic.watching), ("given", topic.given)];
        for (lane, counted) in lanes {
            let rows = writing.rows_after(lane);
            writing.chronicle.check(rows == counted, Class::Lost, "T1", || {
                format!("{} counts {counted} in {lane}, and there are {rows}", writing.write.key)
            });
        }
        let before = self.topics.insert(writing.id, topic.clone()).unwrap_or_default();
        let died = topic.dead - before.dead;
        writing.chronicle.check(died == buried, Class::Lost, "T3", || {
            format!("{} counts {died} more that are dead, and {buried} are", writing.write.key)
        });
        if writing.role.is_for_one() {
            return;
        }
        let lost = topic.trimmed + topic.expired;
        writing.chronicle.check(topic.logged + lost == topic.last, Class::Lost, "T2", || {
            format!("{} has published {}, keeps {} and has lost {lost}", writing.write.key, topic.last, topic.logged)
        });
        if topic.trimmed > before.trimmed {
            writing.chronicle.sometimes("an event left a log that was full");
        }
    }

    /// Checks that a topic is removed only when it keeps nothing.
    fn gone(&mut self, writing: &Writing<'_>) {
        let keep_for_ms = self.topics.remove(&writing.id).map_or(0, |topic| topic.options.keep_for_ms);
        for (_, body) in writing.gone().into_iter().filter(|(lane, _)| **lane == *"log") {
            let is_over = |kept: &Kept| kept.at + keep_for_ms <= writing.now.0;
            let kept = serde_json::from_slice::<Kept>(body).ok();
            writing.chronicle.check(kept.as_ref().is_none_or(is_over), Class::Lost, "T2", || {
                format!("{} is gone with {kept:?}", writing.write.key)
            });
        }
    }

    /// Checks the counters of a run (V1, V9, D1): all events are queued, taken, lost and counted, or went
    /// on.
    fn run(&mut self, writing: &Writing<'_>, record: &Record, buried: u64) {
        for (event, queue) in &record.queues {
            let rows = writing.rows_after(&format!("event/{event}"));
            writing.chronicle.check(rows == queue.count, Class::Lost, "V1", || {
                format!("{} counts {} of {event}, and there are {rows}", writing.write.key, queue.count)
            });
        }
        let sum = |of: fn(&QueueOf) -> u64| record.queues.values().map(of).sum::<u64>();
        let after = Run {
            events: record.events,
            queued: sum(|queue| queue.count),
            lost: sum(|queue| queue.overwritten + queue.expired + queue.discarded),
        };
        let before = self.runs.insert(writing.id, after).unwrap_or_default();
        let rows = writing.write.rows.iter();
        let taken = rows.filter_map(|((lane, key), body)| Some(writing.taken(lane, key, body.as_ref()?).len() as u64));
        let (came, taken) = (before.queued + after.events - before.events, taken.sum::<u64>());
        let lost = after.lost - before.lost;
        writing.chronicle.check(came == after.queued + taken + lost + buried, Class::Lost, "V1 V9 D1", || {
            format!(
                "{} had and was given {came} events; {} are queued, {taken} taken, {lost} lost, {buried} went on",
                writing.write.key, after.queued
            )
        });
        self.paths(writing, record);
    }

    fn paths(&self, writing: &Writing<'_>, record: &Record) {
        let expired = record.queues.values().any(|queue| queue.expired > 0);
        if expired && writing.role == Role::Listener {
            writing.chronicle.sometimes("an event expired in the queue of a run");
        }
        if record.queues.values().any(|queue| queue.discarded > 0) {
            writing.chronicle.sometimes("an event was discarded with its run");
        }
    }
}
