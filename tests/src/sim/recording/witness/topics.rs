//! The durable published events, and the waits that must get each.

use std::collections::BTreeMap;

use bytes::Bytes;
use drystone_runtime::{
    Lane, Millis, Name, RowKey, Version,
    store::{After, Outgoing, Write},
};
use serde::Deserialize;

use super::{
    Lanes, Whereabouts,
    cursors::Cursors,
    said::{Exchange, Post, Said, Seen},
    tallies::Tallies,
    whereabouts,
};
use crate::sim::{
    drawing::roster::{Number, Role},
    recording::log::{Chronicle, Class},
};

/// All topics.
#[derive(Default)]
pub struct Topics {
    published: BTreeMap<u64, Publication>,
    last: BTreeMap<Version, u64>,
    post: Post,
    whereabouts: Whereabouts,
    tallies: Tallies,
    cursors: Cursors,
}

/// A published event.
#[derive(Clone, Debug)]
pub struct Publication {
    /// The topic.
    pub topic: Number,
    /// The number of the event in the topic.
    pub number: u64,
    /// The waits that must get the event, because they were listed and had not passed their deadline: key
    /// of the run, and operation.
    pub due: Vec<(Vec<u8>, String)>,
}

/// A stored event.
#[derive(Debug, Deserialize)]
pub struct Kept {
    /// The time of the publish.
    pub at: i64,
    /// The event itself.
    pub event: Numbered,
}

/// The field that every event has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Numbered {
    /// The number of the event, unique in the history.
    pub number: u64,
}

/// A stored watcher.
#[derive(Debug, Deserialize)]
pub struct Watcher {
    /// The wait of the watcher.
    pub wait: Wait,
    /// The last number of the topic when the wait was listed.
    pub after: u64,
}

/// A wait of a run.
#[derive(Debug, Deserialize)]
pub struct Wait {
    /// The run and operation.
    pub by: By,
    /// The beginning of the wait.
    pub since: i64,
    /// The deadline of the wait.
    #[serde(default)]
    pub until: Option<i64>,
}

/// The identity of a wait.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct By {
    /// The key of the run.
    pub key: String,
    /// The operation.
    pub op: String,
}

/// The message that delivers an event to a wait.
#[derive(Debug, Deserialize)]
pub(super) struct Delivered {
    pub topic: Named,
    pub to: By,
    pub seen: Seen,
    pub at: i64,
    pub options: Options,
    pub event: Numbered,
}

/// The name of a topic's event type.
#[derive(Debug, Deserialize)]
pub(super) struct Named {
    pub event: String,
}

/// The options of a topic.
#[derive(Debug, Deserialize)]
pub(super) struct Options {
    pub deliver: String,
}

#[derive(Deserialize)]
struct Dead {
    payload: Numbered,
}

/// Decodes the rows of a lane.
pub fn rows<T: for<'a> Deserialize<'a>>(lanes: &Lanes, id: Version, lane: &'static str) -> BTreeMap<RowKey, T> {
    let rows = lanes.own(&(id, Name::new(lane))).into_iter().flatten();
    rows.filter_map(|(key, body)| Some((key.clone(), serde_json::from_slice(body).ok()?))).collect()
}

impl Topics {
    /// All published events.
    pub fn published(&self) -> &BTreeMap<u64, Publication> {
        &self.published
    }

    /// The place of every event.
    pub fn whereabouts(&self) -> &Whereabouts {
        &self.whereabouts
    }

    /// Takes a write of a topic or a listener. `before` has the rows before the write.
    pub(super) fn applied(
        &mut self,
        chronicle: &Chronicle,
        (member, role): (Number, Role),
        write: &Write,
        (before, now): (&Lanes, Millis),
    ) {
        let exchange = self.post.moves(write, now);
        if let Some(id) = write.entity() {
            self.follows(&whereabouts::Writing { chronicle, member, role, write, before, id, now }, &exchange);
        }
        if self.post.sent(&exchange).any(|said| matches!(said, Said::Buried(_))) {
            chronicle.sometimes("an event that nobody took became a dead letter");
        }
        if self.post.sent(&exchange).any(|said| matches!(said, Said::Died(_))) {
            chronicle.sometimes("an event went back to a topic that was full");
        }
        if !role.is_topic() {
            return;
        }
        let id = match &write.after {
            After::Entity(entity) => entity.id,
            _ => match write.entity() {
                Some(id) => id,
                None => return,
            },
        };
        let writing = Writing { chronicle, role, write, watchers: rows(before, id, "watchers") };
        self.publishes(member, id, &writing);
        let pending = rows::<Kept>(before, id, "pending");
        for sent in write.sent.iter().filter(|sent| sent.verb == "topic:event") {
            writing.delivers(sent, &pending);
        }
        for sent in &write.sent {
            if sent.verb == "topic:left" {
                chronicle.sometimes("a wait left its topic at its deadline");
            }
        }
    }

    /// Passes the write on to the checks that follow each event and each wait.
    fn follows(&mut self, writing: &whereabouts::Writing<'_>, exchange: &Exchange) {
        self.whereabouts.applied(writing, &self.post, exchange);
        self.tallies.applied(writing, &self.post, exchange);
        if writing.role.is_topic() {
            self.cursors.applied(writing, &self.post, exchange);
        }
    }

    fn publishes(&mut self, topic: Number, id: Version, writing: &Writing<'_>) {
        let put = writing.put();
        let is_put = |value: u64| put.values().any(|kept| kept.event.number == value);
        let last = self.last.entry(id).or_default();
        // An event that returns to a topic which was removed and bound again gets a new number there.
        let is_new = *last == 0;
        // Events that were delivered or died without ever being stored: the store was away so long that
        // they were over before the write.
        let over = writing.told().filter(|(value, _)| !is_put(*value));
        let over: BTreeMap<u64, u64> =
            over.filter(|(value, _)| is_new || !self.published.contains_key(value)).collect();
        for (value, number) in &over {
            self.published.entry(*value).or_insert(Publication { topic, number: *number, due: Vec::new() });
        }
        // Or there were too many events, and the log dropped the oldest at once.
        let unseen = (over.len() as u64).max(writing.forgotten().saturating_sub(*last));
        // These events have numbers too, before or between the stored events.
        let (mut before, mut most) = (*last, *last + unseen);
        for (number, kept) in put {
            let value = kept.event.number;
            if self.published.contains_key(&value) {
                (before, most) = (before.max(number), most.max(number));
                continue;
            }
            most += 1;
            let follows = number > before && number <= most;
            writing.chronicle.check(follows, Class::Doubled, "T1", || {
                format!("{} numbers {value:x} as {number}, after {before}", writing.write.key)
            });
            before = number;
            let due = writing.due(number, kept.at);
            self.published.insert(value, Publication { topic, number, due });
        }
        *last = most;
    }
}

/// A write of a topic.
struct Writing<'a> {
    chronicle: &'a Chronicle,
    role: Role,
    write: &'a Write,
    watchers: BTreeMap<RowKey, Watcher>,
}

impl Writing<'_> {
    /// The events that the write stores, by number.
    fn put(&self) -> BTreeMap<u64, Kept> {
        let is_event = |lane: &Lane| *lane == *"log" || *lane == *"pending";
        let put = self.write.rows.iter().filter(|((lane, _), _)| is_event(lane));
        let read = |((_, key), body): (&(Lane, RowKey), &Option<Bytes>)| {
            Some((number_in(key), serde_json::from_slice(body.as_ref()?).ok()?))
        };
        put.filter_map(read).collect()
    }

    /// The events that the write sends, with their numbers. A dead letter does not carry the number; then
    /// it is 0.
    fn told(&self) -> impl Iterator<Item = (u64, u64)> {
        let delivered = |Delivered { event, seen, .. }: Delivered| (event.number, seen.number);
        let died = |[Dead { payload }]: [Dead; 1]| (payload.number, 0);
        self.write.sent.iter().filter_map(move |sent| match sent.verb.as_str() {
            "topic:event" => serde_json::from_slice(&sent.body).ok().map(delivered),
            "event" => serde_json::from_slice(&sent.body).ok().map(died),
            _ => None,
        })
    }

    /// The last number that the log has dropped.
    fn forgotten(&self) -> u64 {
        #[derive(Deserialize)]
        struct Log {
            forgotten: u64,
        }
        let After::Entity(entity) = &self.write.after else { return 0 };
        serde_json::from_slice(&entity.head).map_or(0, |Log { forgotten }| forgotten)
    }

    /// The waits to which the write sends events.
    fn served(&self) -> impl Iterator<Item = By> {
        let delivered = self.write.sent.iter().filter(|sent| sent.verb == "topic:event");
        delivered.filter_map(|sent| serde_json::from_slice::<Delivered>(&sent.body).ok()).map(|delivered| delivered.to)
    }

    /// The waits that must get an event of a log.
    fn due(&self, number: u64, at: i64) -> Vec<(Vec<u8>, String)> {
        if self.role.is_for_one() {
            return Vec::new();
        }
        let served: Vec<By> = self.served().collect();
        // A watcher that is gone without an event has left before the publish, in the same write.
        let has_left =
            |key: &RowKey, watcher: &Watcher| !self.stays("watchers", key) && !served.contains(&watcher.wait.by);
        let is_due = |(key, watcher): &(&RowKey, &Watcher)| {
            let in_time = watcher.wait.until.is_none_or(|until| at < until);
            watcher.after + 1 == number && in_time && !has_left(key, watcher)
        };
        let due = self.watchers.iter().filter(is_due);
        due.map(|(_, watcher)| (watcher.wait.by.key.clone().into_bytes(), watcher.wait.by.op.clone())).collect()
    }

    fn stays(&self, lane: &str, key: &RowKey) -> bool {
        !self.write.rows.iter().any(|((of, row), body)| **of == *lane && row == key && body.is_none())
    }

    /// Checks a delivery: the wait must not be over. With `deliver = "one"` the event must be the oldest,
    /// and the wait the longest waiting.
    fn delivers(&self, sent: &Outgoing, pending: &BTreeMap<RowKey, Kept>) {
        let Ok(delivered) = serde_json::from_slice::<Delivered>(&sent.body) else {
            let message = format!("{} delivers {:?}", self.write.key, sent.body);
            return self.chronicle.violation(Class::Broken, "T1", message);
        };
        let (number, at) = (delivered.seen.number, delivered.at);
        let place = self.watchers.iter().find(|(_, watcher)| watcher.wait.by == delivered.to);
        if let Some((_, watcher)) = place {
            let wait = &watcher.wait;
            self.chronicle.check(wait.until.is_none_or(|until| at < until), Class::Broken, "T4", || {
                format!("{} delivers number {number} of {at} to {wait:?}, which was over", self.write.key)
            });
            self.chronicle.check(self.role != Role::News || at >= wait.since, Class::Broken, "T2", || {
                format!("{} delivers number {number} of {at} to {wait:?}, which began later", self.write.key)
            });
        }
        if !self.role.is_for_one() {
            return;
        }
        let older = pending.iter().find(|(key, _)| number_in(key) < number && self.stays("pending", key));
        self.chronicle.check(older.is_none(), Class::Broken, "T3", || {
            format!("{} gives number {number} away, and keeps {older:?}", self.write.key)
        });
        let Some((served, _)) = place else { return };
        let waits = |(key, watcher): &(&RowKey, &Watcher)| {
            *key < served && watcher.wait.until.is_none_or(|until| at < until) && self.stays("watchers", key)
        };
        let longer = self.watchers.iter().find(waits);
        self.chronicle.check(longer.is_none(), Class::Broken, "T3", || {
            format!("{} gives number {number} to {:?}, and {longer:?} waits longer", self.write.key, delivered.to)
        });
    }
}

/// The number at the beginning of a row's key.
pub(super) fn number_in(key: &[u8]) -> u64 {
    key.first_chunk().map_or(0, |number| u64::from_be_bytes(*number))
}
