//! What is kept of a queue, and what is shown of it.

use serde::{Deserialize, Serialize};

use super::{
    place::{AGAIN, LINE, Place, Spot, number_key},
    written,
};
use crate::{Timestamp, kinds::PastError, planted::Bug};

/// How many of those that wait the record names, of each priority: the next one is then known without a read, and one read
/// brings so many.
pub(super) const AHEAD: usize = 32;

/// What is kept of a queue beside its state, its alarm and the items, which are rows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Record {
    /// The last number that was given to an item; none is given twice.
    pub(super) last: u64,
    /// How many items have joined the line.
    pub(super) joined: u64,
    /// Those that wait, the highest priority first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) line: Vec<Class>,
    #[serde(default, skip_serializing_if = "Later::is_empty")]
    pub(super) delayed: Later,
    #[serde(default, skip_serializing_if = "Later::is_empty")]
    pub(super) retrying: Later,
    /// Those that run, in the order in which they were begun.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "written::running")]
    pub(super) running: Vec<Running>,
    /// Whether the item that was begun last had failed before: those that had and those that had not take turns.
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
    /// When keys that have faded are let go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) fade_at: Option<Timestamp>,
}

/// Those who wait with one priority.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Class {
    pub(super) priority: u8,
    /// The first of them.
    #[serde(with = "written::places")]
    pub(super) ahead: Vec<Place>,
    /// The one that was begun last; those behind `ahead` lie behind it.
    pub(super) begun: Option<Place>,
    /// How many there are behind `ahead`.
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

    /// The next one, if the record knows it.
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
    /// When the first of them is due.
    pub(super) at: Option<Timestamp>,
    /// The first of those that this turn adds: it cannot read their rows. Forgotten when it ends.
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

    /// The first ones are gone, and the next row is due then.
    pub(super) fn take(&mut self, count: usize, next: Option<Timestamp>) {
        self.count = self.count.saturating_sub(count as u64);
        self.at = earlier(next, self.added);
    }

    /// The turn ends.
    pub(super) fn settled(&mut self) {
        self.added = None;
    }
}

fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    one.into_iter().chain(other).min()
}

/// An item that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Running {
    /// For the first time, where it lies in the line.
    First(Place),
    /// Once more.
    Again {
        number: u64,
        /// Which execution of it.
        attempt: u32,
        /// It failed, and is tried again at this time: until then it holds up those behind it, and is not begun.
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

    /// Which execution it is, from 1.
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

    /// Where its row lies.
    pub(super) fn spot(&self) -> Spot {
        match self {
            Self::First(place) => Spot { lane: LINE, key: place.key() },
            Self::Again { number, .. } => Spot { lane: AGAIN, key: number_key(*number) },
        }
    }
}

/// Where a queue stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    /// Items that wait for their turn.
    pub waiting: u64,
    /// Items that were enqueued with a delay which is not over.
    pub delayed: u64,
    /// Items that have failed and wait to be tried again.
    pub retrying: u64,
    /// Items that run, or are about to.
    pub running: u64,
    /// Items that were processed since the key was bound.
    pub done: u64,
    /// Items that went to the dead letters since the key was bound.
    pub dead: u64,
    /// Whether it is paused.
    pub paused: bool,
    /// When the next item is due that waits for a time.
    pub next_at: Option<Timestamp>,
    /// The last errors, at most five, the newest last.
    pub errors: Vec<PastError>,
}

impl Record {
    pub(super) fn waiting(&self) -> u64 {
        self.line.iter().map(Class::len).sum()
    }

    /// How many items are stored.
    pub(super) fn depth(&self) -> u64 {
        self.waiting() + self.delayed.count + self.retrying.count + self.running.len() as u64
    }

    /// Whether nothing is left.
    pub(super) fn is_drained(&self) -> bool {
        let forgotten = if Bug::DrainedEarly.planted() { self.delayed.count } else { 0 };
        self.depth() == forgotten
    }

    /// How many go before one that joins the line with this priority.
    pub(super) fn ahead_of(&self, priority: u8) -> u64 {
        self.line.iter().filter(|class| class.priority >= priority).map(Class::len).sum()
    }

    /// An item joins the line; its place.
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

    /// The class whose turn it is.
    pub(super) fn next_class(&mut self) -> Option<&mut Class> {
        self.line.iter_mut().find(|class| class.len() > 0)
    }

    /// Those that should run now; more than `concurrency` were begun if it was more when they were.
    pub(super) fn running_now(&self, concurrency: usize) -> impl Iterator<Item = &Running> {
        self.running.iter().take(concurrency).filter(|running| running.not_before().is_none())
    }

    /// Begins those again that held up others and are due, unless it is paused; when the next one is.
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
