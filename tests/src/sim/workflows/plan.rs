//! The plan of an errand: a tree drawn from the seed.

use drystone::{Fault, RunError};
use serde::{Deserialize, Serialize};

/// The input of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trip {
    /// The number of the start, unique in the history.
    pub number: u64,
    /// The plan of the body.
    pub plan: Plan,
    /// The plan of the `#[cancelled]` body.
    pub cleanup: Plan,
    /// Whether the body returns an error at the end.
    pub fails: bool,
}

/// The number of events of a hoard: more than one read returns.
pub const HOARD: u64 = 70;

/// A part of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Plan {
    /// A `#[step]`.
    Step {
        /// The task of the step.
        task: Task,
        /// Whether the step has a single attempt.
        once: bool,
        /// Whether the input is too long for the record of the run.
        heavy: bool,
    },
    /// Code in `flow.run`.
    Code {
        /// The task of the code.
        task: Task,
        /// What the code does.
        does: Does,
    },
    /// A step raced by reference against one sleep after another.
    Patient {
        /// The step.
        task: Task,
        /// The length of each sleep, in milliseconds.
        sleep_ms: u64,
        /// The largest number of sleeps.
        rounds: u32,
    },
    /// Sleeps this many milliseconds.
    Sleep(u64),
    /// Sleeps until this many milliseconds from now; the number may be negative.
    Until(i64),
    /// Waits for events.
    Wait(Wanted),
    /// Changes the state by adding this mark.
    Mark(u64),
    /// Asks for a random number.
    Chance,
    /// Panics.
    Panic,
    /// Runs the parts in sequence.
    Seq(Vec<Plan>),
    /// Runs two or three parts in a `select!`.
    Race(Vec<Plan>),
    /// Runs two or three parts in a `join!`.
    Join(Vec<Plan>),
    /// Runs any number of parts in a `join_all`.
    All(Vec<Plan>),
    /// Continues as a new generation with this trip.
    Again(Box<Trip>),
    /// Starts a child, whose key contains the number of its trip.
    Child {
        /// The input of the child.
        trip: Box<Trip>,
        /// Whether the child is awaited, abandoned or detached.
        way: Way,
    },
    /// Calls a till.
    Ring {
        /// The task to ring.
        task: Task,
        /// Whether the till refuses the call.
        fails: bool,
    },
    /// Holds a permit of a gate while this part runs.
    Permit(Box<Plan>),
    /// Writes a row, in a transactional step.
    Book {
        /// The task to book.
        task: Task,
        /// How the step ends.
        does: Booking,
        /// The messages that the step sends first.
        sends: Vec<Sends>,
    },
}

/// A message of a booking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sends {
    /// An item for the first queue.
    Item,
    /// An event for the first errand.
    Note,
}

/// The relation of a child to its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Way {
    /// Awaited; the child is cancelled when the parent releases it.
    Awaited,
    /// Awaited; the child continues when the parent releases it.
    Abandoned,
    /// Never awaited.
    Detached,
}

/// The end of a booking, after it has written its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Booking {
    /// With success.
    Well,
    /// With an error.
    Fails,
    /// With a panic.
    Panics,
}

/// A task: one piece of code that acts outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The id, unique in the history.
    pub id: u64,
    /// Whether the body catches a fault of the task.
    pub caught: bool,
}

/// The behaviour of code in `flow.run`, the same in each attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Does {
    /// Succeeds after this many milliseconds.
    Well(u64),
    /// Panics.
    Panics,
    /// Never ends.
    Hangs,
}

/// The events that a wait takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wanted {
    /// The type of the events.
    pub kind: Kind,
    /// The key of the events, or `None` for any key.
    pub key: Option<u8>,
    /// The number of events.
    pub times: u32,
    /// The timeout in milliseconds.
    pub timeout_ms: Option<u64>,
}

/// A type of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// A type that queues all events in order.
    Note,
    /// A type that keeps the latest event.
    Price,
    /// A type that keeps the first event and discards it when the run ends.
    Bid,
    /// A type with a key, a lifetime and a short queue.
    Parcel,
}

impl Kind {
    /// All types.
    pub const ALL: [Self; 4] = [Self::Note, Self::Price, Self::Bid, Self::Parcel];

    /// The stored name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "Note",
            Self::Price => "Price",
            Self::Bid => "Bid",
            Self::Parcel => "Parcel",
        }
    }
}

/// The result of a part of a plan.
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
    /// Returns the trip and the trips of all its later generations.
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
