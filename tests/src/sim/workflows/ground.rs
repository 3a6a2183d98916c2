//! The state of the model while it walks a plan: identities, time, the run's state, and open operations.

use std::collections::BTreeMap;

use drystone::Fault;
use drystone_runtime::stable_hash;

use super::{Booking, Does, Task, Trip, Wanted, Way};

/// An operation that has not ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    /// The identity: branch, name and occurrence.
    pub id: String,
    /// What the operation is.
    pub asked: Asked,
    /// The deadline, if the operation has one.
    pub until: Option<i64>,
}

/// The kind of an operation.
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
    /// The task of an operation that acts outside and returns a value unique in the history.
    pub fn task(&self) -> Option<Task> {
        match self {
            Self::Step { task, .. } | Self::Code { task, .. } | Self::Book { task, .. } => Some(*task),
            Self::Sleep | Self::Wait(_) | Self::Child { .. } | Self::Ring { .. } | Self::Permit => None,
        }
    }

    /// Whether the operation runs as work, as steps do.
    pub fn runs(&self) -> bool {
        self.task().is_some() || matches!(self, Self::Ring { .. } | Self::Permit)
    }
}

/// The state of the model.
#[derive(Clone, Debug, Default)]
pub struct Ground {
    seed: u64,
    /// The time of the run.
    pub now: i64,
    used: BTreeMap<(String, String), u32>,
    /// The operations that have not ended, in the order in which the body asked for them.
    pub open: Vec<Op>,
    /// The marks in the run's state.
    pub marks: Vec<u64>,
    /// Whether the body panicked.
    pub panicked: bool,
    /// A fault that the body did not catch.
    pub fault: Option<Fault>,
    /// The operations that the body released.
    pub gone: Vec<Op>,
    /// The trip of the next generation, if the body has continued as one.
    pub next: Option<Box<Trip>>,
    /// The time at which a restart replayed the kept part of an older generation. Deadlines count from this
    /// time.
    pub told_again: Option<i64>,
}

impl Ground {
    /// The state at the beginning of a body, with these marks.
    pub fn new(seed: u64, now: i64, marks: Vec<u64>) -> Self {
        Self { seed, now, marks, ..Self::default() }
    }

    /// Opens an operation and returns its identity.
    pub fn ask(&mut self, branch: &str, name: &str, asked: Asked, until: Option<i64>) -> String {
        let id = self.identity(branch, name);
        self.open.push(Op { id: id.clone(), asked, until });
        id
    }

    /// The deadline of an operation that is asked for now, after this many milliseconds.
    pub fn after(&self, millis: u64) -> i64 {
        self.told_again.unwrap_or(self.now) + millis.cast_signed()
    }

    /// The next identity of a name in a branch.
    pub fn identity(&mut self, branch: &str, name: &str) -> String {
        format!("{branch}{name}#{}", self.count(branch, name))
    }

    /// Numbers a combinator, and returns the names of its branches by index.
    pub fn fork(&mut self, branch: &str) -> impl Fn(usize) -> String + use<> {
        let (branch, count) = (branch.to_owned(), self.count(branch, ""));
        move |arm| format!("{branch}{count}.{arm}/")
    }

    /// A random number, derived from the seed and the identity as the engine does.
    pub fn chance(&mut self, branch: &str) -> u64 {
        let id = self.identity(branch, "random");
        stable_hash(&[&self.seed.to_be_bytes(), id.as_bytes()])
    }

    /// Removes an operation that has ended from the open ones.
    pub fn close(&mut self, id: &str) -> Option<Op> {
        let place = self.open.iter().position(|op| op.id == id)?;
        Some(self.open.remove(place))
    }

    /// Removes an operation that the body released from the open ones, and notes it.
    pub fn let_go(&mut self, id: &str) {
        let gone = self.close(id);
        self.gone.extend(gone);
    }

    /// Whether the body has stopped for good.
    pub fn is_over(&self) -> bool {
        self.panicked || self.fault.is_some()
    }

    fn count(&mut self, branch: &str, name: &str) -> u32 {
        let count = self.used.entry((branch.to_owned(), name.to_owned())).or_default();
        *count += 1;
        *count
    }
}
