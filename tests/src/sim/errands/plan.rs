//! What an errand is to do: a tree, drawn.

use drystone::Fault;
use serde::{Deserialize, Serialize};

use crate::sim::chance::Chance;

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
}

impl Trip {
    /// One by chance; `number` gives numbers that are unique in the history.
    pub fn draw(chance: &mut Chance, number: &mut impl FnMut() -> u64) -> Self {
        let mut drawing = Drawing { left: chance.between(1, 24) as u32, chance, number, panics: true };
        let plan = drawing.seq(3);
        (drawing.left, drawing.panics) = (3, false);
        let cleanup = drawing.seq(1);
        let fails = drawing.chance.permille(100);
        Self { number: (drawing.number)(), plan, cleanup, fails }
    }

    /// One that lets events pile up, more than are read at once, and then takes them one by one.
    pub fn hoard(number: &mut impl FnMut() -> u64) -> Self {
        let wait = || Plan::Wait(Wanted { kind: Kind::Note, key: None, times: 1, timeout_ms: None });
        let waits = (0..HOARD).map(|_| wait()).collect();
        let (plan, cleanup) = (Plan::Seq(vec![Plan::Sleep(300), Plan::Seq(waits)]), Plan::Seq(Vec::new()));
        Self { number: number(), plan, cleanup, fails: false }
    }
}

struct Drawing<'a, N> {
    chance: &'a mut Chance,
    number: &'a mut N,
    /// How many parts may still be drawn.
    left: u32,
    panics: bool,
}

impl<N: FnMut() -> u64> Drawing<'_, N> {
    fn seq(&mut self, depth: u32) -> Plan {
        let count = self.chance.between(1, 5);
        Plan::Seq((0..count).map_while(|_| self.part(depth)).collect())
    }

    /// Some part, while there is something left.
    fn part(&mut self, depth: u32) -> Option<Plan> {
        self.left = self.left.checked_sub(1)?;
        let drawn = if depth == 0 { self.chance.between(6, 23) } else { self.chance.below(24) };
        Some(match drawn {
            0 | 1 => Plan::Race(self.arms(depth, 3)),
            2 | 3 => Plan::Join(self.arms(depth, 3)),
            4 => Plan::All(self.arms(depth, 4)),
            5 => self.seq(depth - 1),
            6..12 => self.step(),
            12 | 13 => self.code(),
            14 => self.patient(),
            15 | 16 => Plan::Sleep(self.chance.pick(&[0, 1, 20, 60, 400])),
            17 => Plan::Until(self.chance.pick(&[-1_000, 0, 30, 200])),
            18..22 => Plan::Wait(self.wanted()),
            22 => Plan::Mark((self.number)()),
            _ if self.panics && self.chance.permille(60) => Plan::Panic,
            _ => Plan::Chance,
        })
    }

    fn arms(&mut self, depth: u32, most: u64) -> Vec<Plan> {
        (0..self.chance.between(2, most)).map(|_| self.part(depth - 1).unwrap_or(Plan::Chance)).collect()
    }

    fn step(&mut self) -> Plan {
        let (once, heavy) = (self.chance.permille(200), self.chance.permille(100));
        Plan::Step { task: self.task(), once, heavy }
    }

    fn code(&mut self) -> Plan {
        let does = match self.chance.below(10) {
            0 => Does::Panics,
            1 => Does::Hangs,
            _ => Does::Well(self.chance.pick(&[0, 0, 3, 30, 120])),
        };
        Plan::Code { task: self.task(), does }
    }

    fn patient(&mut self) -> Plan {
        let (sleep_ms, rounds) = (self.chance.pick(&[1, 20, 100]), self.chance.between(1, 3) as u32);
        Plan::Patient { task: self.task(), sleep_ms, rounds }
    }

    fn task(&mut self) -> Task {
        Task { id: (self.number)(), caught: self.chance.permille(700) }
    }

    fn wanted(&mut self) -> Wanted {
        let kind = self.chance.pick(&[Kind::Note, Kind::Note, Kind::Price, Kind::Bid, Kind::Parcel, Kind::Parcel]);
        let key = (kind == Kind::Parcel && self.chance.coin()).then(|| self.chance.below(2) as u8);
        let times = if matches!(kind, Kind::Note | Kind::Parcel) { self.chance.pick(&[1, 1, 1, 2]) } else { 1 };
        let timeout_ms = self.chance.permille(600).then(|| self.chance.pick(&[0, 20, 100, 400]));
        Wanted { kind, key, times, timeout_ms }
    }
}
