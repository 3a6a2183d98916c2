//! Draws a trip: its plan, and the plans of its children and of its later generations.

use super::{Booking, Does, HOARD, Kind, Plan, Sends, Task, Trip, Wanted, Way};
use crate::sim::drawing::random::Chance;

/// The parts that the plans of a history may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Whether plans may call other entities. Only a single process owns all entities that a body may call.
    pub calls: bool,
    /// Whether there is a gate.
    pub gates: bool,
    /// Whether transactions send messages.
    pub outbox: bool,
    /// Whether there is mail.
    pub mails: bool,
    /// Whether bodies may panic. They may not where runs are restarted: the model cannot follow a body that
    /// panics while it replays what a restart kept.
    pub panics: bool,
}

impl Trip {
    /// Draws a trip. `number` returns numbers that are unique in the history.
    pub fn draw(chance: &mut Chance, reach: Reach, number: &mut impl FnMut() -> u64) -> Self {
        let left = chance.between(1, 24) as u32;
        Drawing { left, chance, number, reach, is_body: true }.trip(3)
    }

    /// Makes a trip that first lets events pile up, more than a single read returns, and then takes each
    /// event.
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
    /// The number of parts that may still be drawn.
    left: u32,
    reach: Reach,
    /// Whether the plan is for a body, which may panic and continue as another generation; a `#[cancelled]`
    /// body may not.
    is_body: bool,
}

impl<N: FnMut() -> u64> Drawing<'_, N> {
    fn trip(&mut self, depth: u32) -> Trip {
        let was_body = std::mem::replace(&mut self.is_body, true);
        let plan = self.seq(depth);
        let left = std::mem::replace(&mut self.left, 3);
        self.is_body = false;
        let cleanup = self.seq(1);
        (self.left, self.is_body) = (left, was_body);
        let fails = self.chance.permille(100);
        Trip { number: (self.number)(), plan, cleanup, fails }
    }

    fn seq(&mut self, depth: u32) -> Plan {
        let count = self.chance.between(1, 5);
        Plan::Seq((0..count).map_while(|_| self.part(depth)).collect())
    }

    /// Draws a part of a plan, unless the limit of parts is reached.
    fn part(&mut self, depth: u32) -> Option<Plan> {
        self.left = self.left.checked_sub(1)?;
        let drawn = if depth == 0 { self.chance.between(10, 32) } else { self.chance.below(33) };
        Some(match drawn {
            0 | 1 => Plan::Race(self.arms(depth, 3)),
            2 | 3 => Plan::Join(self.arms(depth, 3)),
            4 => Plan::All(self.arms(depth, 4)),
            5 => self.seq(depth - 1),
            6 | 7 => self.child(depth),
            8 if self.is_body => Plan::Again(Box::new(self.trip(depth - 1))),
            9 if self.reach.calls && self.reach.gates => {
                Plan::Permit(Box::new(self.part(depth - 1).unwrap_or(Plan::Chance)))
            }
            8..16 => self.step(),
            16 | 17 => self.code(),
            18 => self.patient(),
            19 | 20 => Plan::Sleep(self.chance.pick(&[0, 1, 20, 60, 400])),
            21 => Plan::Until(self.chance.pick(&[-1_000, 0, 30, 200])),
            22..26 => Plan::Wait(self.wanted()),
            26 => Plan::Mark((self.number)()),
            27 | 28 if self.reach.calls => Plan::Ring { task: self.task(), fails: self.chance.permille(200) },
            27..32 => self.book(),
            _ if self.is_body && self.reach.panics && self.chance.permille(60) => Plan::Panic,
            _ => Plan::Chance,
        })
    }

    fn arms(&mut self, depth: u32, most: u64) -> Vec<Plan> {
        (0..self.chance.between(2, most)).map(|_| self.part(depth - 1).unwrap_or(Plan::Chance)).collect()
    }

    fn child(&mut self, depth: u32) -> Plan {
        let way = self.chance.pick(&[Way::Awaited, Way::Awaited, Way::Awaited, Way::Abandoned, Way::Detached]);
        Plan::Child { trip: Box::new(self.trip(depth - 1)), way }
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

    fn book(&mut self) -> Plan {
        let does = self.chance.pick(&[Booking::Well, Booking::Well, Booking::Well, Booking::Fails, Booking::Panics]);
        let task = self.task();
        let count = if self.reach.outbox { self.chance.below(4) } else { 0 };
        Plan::Book { task, does, sends: (0..count).map(|_| self.sends()).collect() }
    }

    fn sends(&mut self) -> Sends {
        if self.reach.mails && self.chance.permille(700) { Sends::Item } else { Sends::Note }
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
