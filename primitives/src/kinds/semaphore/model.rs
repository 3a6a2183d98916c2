//! A model of a semaphore: a list of holders and a list of waiting callers, without rows, alarm or slices.

use std::collections::VecDeque;

use drystone_runtime::Ticket;

use super::Options;

/// Options to choose from: the number of permits, how long a permit lasts, and whether only time brings
/// permits back.
pub(super) const PLANS: [Plan; 4] = [
    Plan { permits: 1, span: 10, is_rate: false },
    Plan { permits: 4, span: 10, is_rate: false },
    Plan { permits: 3, span: 25, is_rate: false },
    Plan { permits: 3, span: 10, is_rate: true },
];

#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) permits: u64,
    pub(super) span: i64,
    pub(super) is_rate: bool,
}

impl Plan {
    pub(super) fn options(self) -> Options {
        let (options, span) = (Options::NEW.permits(self.permits), std::time::Duration::from_millis(self.span as u64));
        if self.is_rate { options.window_with(span) } else { options.lease_with(span) }.checked()
    }
}

/// A holder: ticket, weight and end.
pub(super) type Holds = (Ticket, u64, i64);

pub(super) struct Model {
    pub(super) plan: Plan,
    pub(super) now: i64,
    pub(super) held: Vec<Holds>,
    pub(super) line: VecDeque<(Ticket, u64)>,
    /// The callers in the line that were served, in order.
    pub(super) served: Vec<Ticket>,
    /// The callers that were refused, because there are fewer permits than before.
    pub(super) refused: Vec<Ticket>,
}

/// The answer to a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Given,
    Waits,
    None,
    TooHeavy,
}

impl Model {
    pub(super) fn new(plan: Plan, now: i64) -> Self {
        Self { plan, now, held: Vec::new(), line: VecDeque::new(), served: Vec::new(), refused: Vec::new() }
    }

    pub(super) fn used(&self) -> u64 {
        self.held.iter().map(|(_, weight, _)| weight).sum()
    }

    pub(super) fn ask(&mut self, ticket: Ticket, weight: u64, waits: bool) -> Asked {
        if weight > self.plan.permits {
            return Asked::TooHeavy;
        }
        self.settle();
        if self.line.is_empty() && self.used() + weight <= self.plan.permits {
            self.give(ticket, weight);
            return Asked::Given;
        }
        if !waits {
            return Asked::None;
        }
        self.line.push_back((ticket, weight));
        Asked::Waits
    }

    pub(super) fn release(&mut self, ticket: Ticket) -> bool {
        let is_released = !self.plan.is_rate && self.take_back(ticket);
        if is_released {
            self.settle();
        }
        is_released
    }

    pub(super) fn renew(&mut self, ticket: Ticket) -> bool {
        let (now, plan) = (self.now, self.plan);
        let held = self.held.iter_mut().find(|(other, _, until)| *other == ticket && *until > now && !plan.is_rate);
        held.map(|(_, _, until)| *until = (now + plan.span).max(*until)).is_some()
    }

    pub(super) fn leave(&mut self, ticket: Ticket) {
        let waiting = self.line.len();
        self.line.retain(|(other, _)| *other != ticket);
        if self.line.len() < waiting || self.take_back(ticket) {
            self.settle();
        }
    }

    /// Lets time pass, from one end of a permit to the next.
    pub(super) fn pass(&mut self, millis: i64) {
        let until = self.now + millis;
        loop {
            self.settle();
            let next = self.held.iter().map(|(_, _, end)| *end).filter(|end| *end <= until).min();
            let Some(next) = next else { break };
            self.now = self.now.max(next);
        }
        self.now = until;
    }

    pub(super) fn crash(&mut self, millis: i64) {
        self.line.clear();
        self.now += millis;
        self.settle();
    }

    fn take_back(&mut self, ticket: Ticket) -> bool {
        let (held, now) = (self.held.len(), self.now);
        self.held.retain(|(other, _, until)| *other != ticket || *until <= now);
        self.held.len() < held
    }

    pub(super) fn settle(&mut self) {
        let now = self.now;
        self.held.retain(|(_, _, until)| *until > now);
        if self.used() >= self.plan.permits {
            return;
        }
        while let Some((ticket, weight)) = self.line.front().copied() {
            if weight > self.plan.permits {
                self.refused.push(ticket);
            } else if self.used() + weight <= self.plan.permits {
                self.give(ticket, weight);
                self.served.push(ticket);
            } else {
                break;
            }
            self.line.pop_front();
        }
    }

    fn give(&mut self, ticket: Ticket, weight: u64) {
        self.held.push((ticket, weight, self.now + self.plan.span));
    }
}
