//! What an errand is to do: a tree, drawn.

use drystone::{Fault, RunError};
use serde::{Deserialize, Serialize};

/// All that a run is started with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trip {
    /// Whose start it is: unique in the history.
    pub number: u64,
    /// What its body does.
    pub plan: Plan,
    /// What its `#[cancelled]` body does.
    pub cleanup: Plan,
    /// Whether its body returns an error in the end.
    pub fails: bool,
}

/// How many events pile up: more than a page of them.
pub const HOARD: u64 = 70;

/// A part of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Plan {
    /// A `#[step]`: one that is tried again, or not.
    Step {
        /// Which.
        task: Task,
        /// Whether it is executed once.
        once: bool,
        /// Whether its input is too long for the record.
        heavy: bool,
    },
    /// Code of the body's own.
    Code {
        /// Which.
        task: Task,
        /// What it does.
        does: Does,
    },
    /// A step that is raced by reference against sleeps of so many milliseconds, so many times.
    Patient {
        /// The step.
        task: Task,
        /// How long each sleep is.
        sleep_ms: u64,
        /// How many there are at most.
        rounds: u32,
    },
    /// Sleeps so many milliseconds.
    Sleep(u64),
    /// Sleeps until so many milliseconds after now, or before.
    Until(i64),
    /// Waits for events.
    Wait(Wanted),
    /// Changes the state.
    Mark(u64),
    /// Asks for a number by chance.
    Chance,
    /// Panics.
    Panic,
    /// One after another.
    Seq(Vec<Plan>),
    /// The first of two or three: `select!`.
    Race(Vec<Plan>),
    /// All of two or three: `join!`.
    Join(Vec<Plan>),
    /// All of any number: `join_all`.
    All(Vec<Plan>),
    /// The run goes on as a new generation.
    Again(Box<Trip>),
    /// A run of its own, under the number of its trip.
    Child {
        /// What it does.
        trip: Box<Trip>,
        /// What becomes of it without its parent.
        way: Way,
    },
    /// Has a till ring, once.
    Ring {
        /// What the till takes.
        task: Task,
        /// Whether it refuses it.
        fails: bool,
    },
    /// Holds a permit of a gate, so long.
    Permit(Box<Plan>),
    /// Books a row in a table, in a transaction.
    Book {
        /// What is booked.
        task: Task,
        /// How that ends.
        does: Booking,
        /// What it sends before that.
        sends: Vec<Sends>,
    },
}

/// What a booking sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sends {
    /// An item, to the first queue.
    Item,
    /// An event, to the first errand.
    Note,
}

/// What becomes of a child without its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Way {
    /// It is waited for, and cancelled if it is not any more.
    Awaited,
    /// It is waited for, and goes on if it is not any more.
    Abandoned,
    /// It is never waited for.
    Detached,
}

/// How a booking ends, after it has written its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Booking {
    /// Well.
    Well,
    /// With an error.
    Fails,
    /// With a panic.
    Panics,
}

/// Something that acts outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Unique in the history.
    pub id: u64,
    /// Whether the body catches its fault.
    pub caught: bool,
}

/// What code of the body's own does, in each execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Does {
    /// It ends well, after so many milliseconds.
    Well(u64),
    /// It panics.
    Panics,
    /// It never ends.
    Hangs,
}

/// Which events are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wanted {
    /// Of which type.
    pub kind: Kind,
    /// With which key.
    pub key: Option<u8>,
    /// How many.
    pub times: u32,
    /// How long, in milliseconds.
    pub timeout_ms: Option<u64>,
}

/// A type of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// All are kept, in order.
    Note,
    /// The last one is kept.
    Price,
    /// The first one is kept, and nobody mourns it.
    Bid,
    /// They have keys, expire, and few may be queued.
    Parcel,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Note, Self::Price, Self::Bid, Self::Parcel];

    /// As it is stored.
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "Note",
            Self::Price => "Price",
            Self::Bid => "Bid",
            Self::Parcel => "Parcel",
        }
    }
}

/// What a part of a plan was told, or came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "as the parts of a plan are named; times are those of the run")]
pub enum Told {
    Done { value: u64, at: i64 },
    Failed { at: i64 },
    Fault(Fault),
    Woke { at: i64 },
    Events { numbers: Vec<u64>, at: i64 },
    TimedOut { after_ms: u64, at: i64 },
    Marked(u64),
    Chance(u64),
    Patient { rounds: u32, told: Box<Told> },
    Seq(Vec<Told>),
    Won(usize, Box<Told>),
    All(Vec<Told>),
    Child { ended: Result<Box<Told>, RunError<String>>, at: i64 },
    Began { key: String, at: i64 },
    Rung { count: u64, at: i64 },
    Held(Box<Told>),
}

impl Trip {
    /// Itself, and all trips that it may go on as.
    pub fn generations(&self) -> Vec<&Trip> {
        let mut all = vec![self];
        self.plan.generations(&mut all);
        all
    }
}

impl Plan {
    fn generations<'a>(&'a self, all: &mut Vec<&'a Trip>) {
        match self {
            Self::Again(trip) => all.extend(trip.generations()),
            Self::Permit(held) => held.generations(all),
            Self::Seq(parts) | Self::Race(parts) | Self::Join(parts) | Self::All(parts) => {
                parts.iter().for_each(|part| part.generations(all));
            }
            _ => {}
        }
    }
}
