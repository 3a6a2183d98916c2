//! What a walk stands on: identities, time, the state, and what is outstanding.

use std::collections::BTreeMap;

use drystone::Fault;
use drystone_runtime::stable_hash;

use super::{Booking, Does, Task, Trip, Wanted, Way};

/// An operation that is outstanding.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    /// Branch, name and occurrence.
    pub id: String,
    /// What it is.
    pub asked: Asked,
    /// When something is due of it, if anything is.
    pub until: Option<i64>,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "as the parts of a plan are named")]
pub enum Asked {
    Step { task: Task, once: bool },
    Code { task: Task, does: Does },
    Sleep,
    Wait(Wanted),
    Child { number: u64, way: Way },
    Ring { task: Task, fails: bool },
    Permit,
    Book { task: Task, does: Booking },
}

impl Asked {
    /// What acts outside, and returns what nobody else returns.
    pub fn task(&self) -> Option<Task> {
        match self {
            Self::Step { task, .. } | Self::Code { task, .. } | Self::Book { task, .. } => Some(*task),
            Self::Sleep | Self::Wait(_) | Self::Child { .. } | Self::Ring { .. } | Self::Permit => None,
        }
    }

    /// Whether it runs, as steps do.
    pub fn runs(&self) -> bool {
        self.task().is_some() || matches!(self, Self::Ring { .. } | Self::Permit)
    }
}

/// The ground.
#[derive(Clone, Debug, Default)]
pub struct Ground {
    seed: u64,
    /// The time of the run.
    pub now: i64,
    used: BTreeMap<(String, String), u32>,
    /// What is outstanding, in the order in which it was asked for.
    pub open: Vec<Op>,
    /// The marks in the state.
    pub marks: Vec<u64>,
    /// The body panicked.
    pub panicked: bool,
    /// A fault that was not caught.
    pub fault: Option<Fault>,
    /// What was let go.
    pub gone: Vec<Op>,
    /// The trip that the run goes on as.
    pub next: Option<Box<Trip>>,
    /// When what was kept of an older generation was told again: deadlines are counted from then.
    pub told_again: Option<i64>,
}

impl Ground {
    /// Where a body begins, with these marks in its state.
    pub fn new(seed: u64, now: i64, marks: Vec<u64>) -> Self {
        Self { seed, now, marks, ..Self::default() }
    }

    /// Asks for something; its identity.
    pub fn ask(&mut self, branch: &str, name: &str, asked: Asked, until: Option<i64>) -> String {
        let id = self.identity(branch, name);
        self.open.push(Op { id: id.clone(), asked, until });
        id
    }

    /// When a deadline of so many milliseconds is over that is asked for now.
    pub fn after(&self, millis: u64) -> i64 {
        self.told_again.unwrap_or(self.now) + millis.cast_signed()
    }

    /// The next identity of a name in a branch.
    pub fn identity(&mut self, branch: &str, name: &str) -> String {
        format!("{branch}{name}#{}", self.count(branch, name))
    }

    /// The branches of a combinator of so many.
    pub fn fork(&mut self, branch: &str) -> impl Fn(usize) -> String + use<> {
        let (branch, count) = (branch.to_owned(), self.count(branch, ""));
        move |arm| format!("{branch}{count}.{arm}/")
    }

    /// A number by chance.
    pub fn chance(&mut self, branch: &str) -> u64 {
        let id = self.identity(branch, "random");
        stable_hash(&[&self.seed.to_be_bytes(), id.as_bytes()])
    }

    /// What was outstanding is not any more.
    pub fn close(&mut self, id: &str) -> Option<Op> {
        let place = self.open.iter().position(|op| op.id == id)?;
        Some(self.open.remove(place))
    }

    /// What was outstanding is let go.
    pub fn let_go(&mut self, id: &str) {
        let gone = self.close(id);
        self.gone.extend(gone);
    }

    /// Whether the body goes no further.
    pub fn is_over(&self) -> bool {
        self.panicked || self.fault.is_some()
    }

    fn count(&mut self, branch: &str, name: &str) -> u32 {
        let count = self.used.entry((branch.to_owned(), name.to_owned())).or_default();
        *count += 1;
        *count
    }
}
