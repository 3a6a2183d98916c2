//! The stored record of a queue, and its status.

use serde::{Deserialize, Serialize};

use super::{
    place::{AGAIN, LINE, Place, Spot, number_key},
    written,
};
use crate::{Timestamp, kinds::PastError, planted::Bug};

/// How many waiting items of each priority the record names. So the next item is known without a read, and
/// one read brings this many.
pub(super) const AHEAD: usize = 32;

/// The stored record of a queue, beside its state, its alarm and its items, which are rows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Record {
    /// The last number that was given to an item. No number is given twice.
    pub(super) last: u64,
    /// How many items have joined the line.
    pub(super) joined: u64,
    /// The waiting items by priority, the highest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) line: Vec<Class>,
    #[serde(default, skip_serializing_if = "Later::is_empty")]
    pub(super) delayed: Later,
    #[serde(default, skip_serializing_if = "Later::is_empty")]
    pub(super) retrying: Later,
    /// The running items, in the order in which they were started.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "written::running")]
    pub(super) running: Vec<Running>,
    /// Whether the item that was started last was a retry. Retries and first executions take turns.
    #[serde(default)]
    pub(super) retried_last: bool,
    #[serde(default)]
    pub(super) paused: bool,
    #[serde(default)]
    pub(super) done: u64,
    #[serde(default)]
    pub(super) dead: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) errors: Vec<PastError>,
    /// When expired dedup keys are removed next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) fade_at: Option<Timestamp>,
}

/// The waiting items of one priority.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Class {
    pub(super) priority: u8,
    /// The first waiting items.
    #[serde(with = "written::places")]
    pub(super) ahead: Vec<Place>,
    /// The item that was started last. The items behind `ahead` come after it in the line.
    pub(super) begun: Option<Place>,
    /// How many items wait behind `ahead`.
    pub(super) beyond: u64,
}

impl Class {
    pub(super) fn len(&self) -> u64 {
        self.ahead.len() as u64 + self.beyond
    }

    fn join(&mut self, place: Place) {
        if self.beyond == 0 && self.ahead.len() < AHEAD {
            self.ahead.push(place);
        } else {
            self.beyond += 1;
        }
    }

    /// Takes the next item, if the record names it.
    pub(super) fn begin(&mut self) -> Option<Place> {
        let place = (!self.ahead.is_empty()).then(|| self.ahead.remove(0))?;
        self.begun = Some(place);
        Some(place)
    }
}

/// Items that wait for a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Later {
    pub(super) count: u64,
    /// When the first of these items is due.
    pub(super) at: Option<Timestamp>,
    /// The earliest time that the present turn added. The turn cannot read the rows that it adds, so this is
    /// kept apart until the turn ends.
    #[serde(skip)]
    added: Option<Timestamp>,
}

impl Later {
    fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        self.at.is_some_and(|at| at <= now)
    }

    pub(super) fn add(&mut self, at: Timestamp) {
        self.count += 1;
        self.at = earlier(self.at, Some(at));
        self.added = earlier(self.added, Some(at));
    }

    /// Removes the first `count` items; the next row is due at `next`.
    pub(super) fn take(&mut self, count: usize, next: Option<Timestamp>) {
        self.count = self.count.saturating_sub(count as u64);
        self.at = earlier(next, self.added);
    }

    /// Ends the turn.
    pub(super) fn settled(&mut self) {
        self.added = None;
    }
}

fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    one.into_iter().chain(other).min()
}

/// A running item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Running {
    /// The first execution, with the item at its place in the line.
    First(Place),
    /// A later execution.
    Again {
        number: u64,
        /// The number of the execution.
        attempt: u32,
        /// The time of the retry. Until then the item is not started, and holds up the items behind it.
        not_before: Option<Timestamp>,
    },
}

impl Running {
    pub(super) fn number(&self) -> u64 {
        match self {
            Self::First(place) => place.number,
            Self::Again { number, .. } => *number,
        }
    }

    /// Returns the number of the execution, from 1.
    pub(super) fn attempt(&self) -> u32 {
        match self {
            Self::First(_) => 1,
            Self::Again { attempt, .. } => *attempt,
        }
    }

    pub(super) fn not_before(&self) -> Option<Timestamp> {
        match self {
            Self::First(_) => None,
            Self::Again { not_before, .. } => *not_before,
        }
    }

    /// Returns where the item's row is.
    pub(super) fn spot(&self) -> Spot {
        match self {
            Self::First(place) => Spot { lane: LINE, key: place.key() },
            Self::Again { number, .. } => Spot { lane: AGAIN, key: number_key(*number) },
        }
    }
}

/// The status of a queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    /// Items waiting in the line.
    pub waiting: u64,
    /// Items whose delay has not passed.
    pub delayed: u64,
    /// Items that have failed and wait for a retry.
    pub retrying: u64,
    /// Items that run, or are about to run.
    pub running: u64,
    /// Items that were processed since the key was bound.
    pub done: u64,
    /// Items that became dead letters since the key was bound.
    pub dead: u64,
    /// Whether the queue is paused.
    pub paused: bool,
    /// When the next delayed item or retry is due.
    pub next_at: Option<Timestamp>,
    /// The last errors, at most five, the newest last.
    pub errors: Vec<PastError>,
}

impl Record {
    pub(super) fn waiting(&self) -> u64 {
        self.line.iter().map(Class::len).sum()
    }

    /// Returns how many items are stored.
    pub(super) fn depth(&self) -> u64 {
        self.waiting() + self.delayed.count + self.retrying.count + self.running.len() as u64
    }

    /// Whether no item is left.
    pub(super) fn is_drained(&self) -> bool {
        let forgotten = if Bug::DrainedEarly.planted() { self.delayed.count } else { 0 };
        self.depth() == forgotten
    }

    /// Returns how many items go before a new item of this priority.
    pub(super) fn ahead_of(&self, priority: u8) -> u64 {
        self.line.iter().filter(|class| class.priority >= priority).map(Class::len).sum()
    }

    /// Adds an item to the line. Returns its place.
    pub(super) fn join(&mut self, priority: u8, number: u64) -> Place {
        self.joined += 1;
        let place = Place { priority, joined: self.joined, number };
        let index = self.line.partition_point(|class| class.priority > priority);
        if self.line.get(index).is_none_or(|class| class.priority != priority) {
            self.line.insert(index, Class { priority, ahead: Vec::new(), begun: None, beyond: 0 });
        }
        self.line[index].join(place);
        place
    }

    /// Returns the highest priority with waiting items.
    pub(super) fn next_class(&mut self) -> Option<&mut Class> {
        self.line.iter_mut().find(|class| class.len() > 0)
    }

    /// Returns the items that should run now. More items than `concurrency` may have been started, if it was
    /// higher then.
    pub(super) fn running_now(&self, concurrency: usize) -> impl Iterator<Item = &Running> {
        self.running.iter().take(concurrency).filter(|running| running.not_before().is_none())
    }

    /// Starts due retries that held up others, unless the queue is paused. Returns when the next of them is
    /// due.
    pub(super) fn begin_held(&mut self, now: Timestamp) -> Option<Timestamp> {
        if self.paused {
            return None;
        }
        for running in &mut self.running {
            if let Running::Again { not_before, .. } = running {
                *not_before = not_before.filter(|at| *at > now);
            }
        }
        self.running.iter().filter_map(Running::not_before).min()
    }
}
