//! Parts of the stored records and rows of queues, as far as the checks need them.

use std::time::Duration;

use drystone::Timestamp;
use serde::{Deserialize, Deserializer};

use crate::sim::drawing::roster::Role;

/// The settings of a queue, as its definition has them.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The largest number of items that run at once.
    pub concurrency: usize,
    /// The largest number of executions of an item.
    pub max_attempts: u32,
    /// The shortest pause between two executions of an item.
    pub pause: Duration,
    /// The largest number of stored items.
    pub max_depth: usize,
    /// Whether a failing item delays all later items.
    pub is_strict: bool,
}

impl Rules {
    /// The settings of the queue with this role.
    pub fn of(role: Role) -> Self {
        let (concurrency, max_attempts, pause_ms, max_depth) = match role {
            Role::Mail => (3, 3, 20, 60),
            Role::Steps => (1, 2, 30, 8),
            _ => (2, 2, 10, 20),
        };
        let pause = Duration::from_millis(pause_ms);
        Self { concurrency, max_attempts, pause, max_depth, is_strict: role == Role::Steps }
    }
}

/// The record of a queue.
#[derive(Clone, Debug, Default, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Queueing {
    pub last: u64,
    #[serde(default)]
    pub line: Vec<Class>,
    #[serde(default)]
    pub delayed: Later,
    #[serde(default)]
    pub retrying: Later,
    #[serde(default, deserialize_with = "running")]
    pub running: Vec<Running>,
    pub paused: bool,
    pub done: u64,
    pub dead: u64,
}

impl Queueing {
    /// The number of items that wait in line.
    pub fn waiting(&self) -> u64 {
        self.line.iter().map(|class| class.ahead.len() as u64 + class.beyond).sum()
    }

    /// The number of stored items.
    pub fn depth(&self) -> u64 {
        self.waiting() + self.delayed.count + self.retrying.count + self.running.len() as u64
    }

    /// The executions that have begun. In strict order, an item that waits for its next attempt is not
    /// among them.
    pub fn begun(&self) -> impl Iterator<Item = &Running> {
        self.running.iter().filter(|running| running.not_before.is_none())
    }
}

/// The waiting items of one priority.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Class {
    pub priority: u8,
    #[serde(deserialize_with = "ahead")]
    pub ahead: Vec<Spot>,
    pub beyond: u64,
}

/// A place in the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named here")]
pub struct Spot {
    pub priority: u8,
    pub joined: u64,
    pub number: u64,
}

/// Items that wait for a time.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Later {
    pub count: u64,
    pub at: Option<Timestamp>,
}

/// A running item.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Running {
    pub number: u64,
    pub attempt: u32,
    pub place: Option<Spot>,
    pub not_before: Option<Timestamp>,
}

/// Decodes items. Each is stored as an array; consecutive first attempts share one array, with the first
/// item and their number.
fn running<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Running>, D::Error> {
    let mut all = Vec::new();
    for (number, priority, joined, count, not_before) in
        Vec::<(u64, u8, u64, u32, Option<Timestamp>)>::deserialize(from)?
    {
        if joined == 0 {
            all.push(Running { number, attempt: count, place: None, not_before });
            continue;
        }
        for nth in 0..u64::from(count) {
            let place = Spot { priority, joined: joined + nth, number: number + nth };
            all.push(Running { number: place.number, attempt: 1, place: Some(place), not_before: None });
        }
    }
    Ok(all)
}

fn ahead<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Spot>, D::Error> {
    Ok(running(from)?.into_iter().filter_map(|running| running.place).collect())
}

/// The row of an item.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Kept {
    #[serde(default)]
    pub priority: u8,
    #[serde(default)]
    pub failed: u32,
    pub item: u64,
}

/// The items that were enqueued under a dedup key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Before {
    pub first: u64,
    pub count: u64,
    pub until: Timestamp,
}

/// An item that is about to become a dead letter.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct DeadItem {
    pub number: u64,
    pub attempts: u32,
    pub error: serde_json::Value,
    pub item: u64,
}

/// The number at the end of a row's key, and the time or place in front of that number.
pub fn numbers_in(key: &[u8]) -> Option<(u64, u64)> {
    let (rest, number) = key.split_last_chunk()?;
    let before = rest.last_chunk().map_or(0, |before| u64::from_be_bytes(*before));
    Some((before, u64::from_be_bytes(*number)))
}
