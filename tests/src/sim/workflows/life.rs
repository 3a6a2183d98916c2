//! The model of a run, from start to end, fed with journal entries.

use std::collections::BTreeSet;

use super::{Asked, Booking, Does, Dues, End, Entry, Ground, Node, Op, Plan, Sure, Trip, Way, What, outside};
use crate::sim::{apps::Errand, recording::log::Class};

/// A wrong entry: the class, the broken law, and the reason.
#[derive(Debug)]
pub struct Wrong(pub Class, pub &'static str, pub String);

/// The phase of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    /// The body has not been polled yet.
    Deferred,
    /// The body runs.
    Body,
    /// The body has panicked.
    Panicked,
    /// The run was cancelled and its body dropped; running steps end first.
    Winding,
    /// The `#[cancelled]` body runs.
    Cleanup,
    /// The run has ended.
    Over(End),
    /// Due steps are being undone; then the run ends in this way.
    Undoing(End),
}

/// The model of a run.
#[derive(Clone, Debug)]
pub struct Life {
    /// The input of the run.
    pub trip: Trip,
    /// The current phase.
    pub phase: Phase,
    /// The state of the walk through the plan.
    pub ground: Ground,
    /// Tasks and their recorded return values.
    pub values: Vec<(u64, u64)>,
    /// Whether the run was cancelled.
    pub is_cancelled: bool,
    /// The plan of the `#[cancelled]` body in the run's state. `None` if the body panicked before it could
    /// set the plan.
    cleanup: Option<Plan>,
    seed: u64,
    node: Node,
    /// The operations with a recorded outcome.
    recorded: BTreeSet<String>,
    /// The time of the last entry.
    last_at: i64,
    /// The steps to undo if the run fails.
    dues: Dues,
    /// Tasks of calls to tills, and the recorded answers.
    pub rung: Vec<(u64, u64)>,
}

impl Life {
    /// Begins a run or a generation with its first entry. `told_again` is the time at which the kept part
    /// of an older generation was replayed.
    pub fn begin(seed: u64, entry: &Entry, told_again: Option<i64>) -> Result<Self, Wrong> {
        let Some(trip) = entry.trip() else {
            return Err(Wrong(Class::Lost, "W1", format!("begins with {entry:?}")));
        };
        let mut ground = Ground::new(seed, entry.at, Vec::new());
        ground.told_again = told_again;
        let (trip, recorded, last_at) = (trip.clone(), BTreeSet::new(), entry.at);
        let (values, rung, dues) = (Vec::new(), Vec::new(), Dues::default());
        let (phase, node, is_cancelled, cleanup) = (Phase::Deferred, Node::Never, false, None);
        Ok(Self { trip, phase, ground, values, is_cancelled, cleanup, seed, node, recorded, last_at, dues, rung })
    }

    /// Polls the body for the first time.
    pub fn first_poll(&mut self) {
        let before = self.ground.clone();
        self.phase = Phase::Body;
        self.node = Node::begin(&self.trip.plan, "", &mut self.ground);
        if self.ground.panicked {
            return self.panics(before);
        }
        self.cleanup = Some(self.trip.cleanup.clone());
    }

    /// Whether the body has asked to continue as another generation, which should have happened by now.
    pub fn leaves(&self) -> bool {
        let is_over = self.node.told().is_some() || self.ground.is_over();
        self.phase == Phase::Body && self.ground.next.is_some() && !is_over
    }

    /// Whether the run has ended.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over(_))
    }

    /// Whether an operation has a recorded outcome.
    pub fn has_recorded(&self, op: &str) -> bool {
        self.recorded.contains(op)
    }

    /// The number of operations with a recorded outcome.
    pub fn recorded_count(&self) -> usize {
        self.recorded.len()
    }

    /// The state that the run must have stored.
    pub fn state(&self) -> Errand {
        Errand { marks: self.ground.marks.clone(), cleanup: self.cleanup.clone() }
    }

    /// Takes the next entry and returns the operation that it belongs to.
    pub fn entry(&mut self, entry: &Entry) -> Result<Option<Op>, Wrong> {
        if let Phase::Over(end) = &self.phase {
            return Err(Wrong(Class::Doubled, "L1", format!("has ended with {end:?}, and then has {entry:?}")));
        }
        if entry.at < self.last_at {
            return Err(Wrong(Class::Broken, "A5", format!("has {entry:?} after one of {}", self.last_at)));
        }
        self.last_at = entry.at;
        match &entry.what {
            What::Started(_) | What::StartedAs { .. } => {
                Err(Wrong(Class::Doubled, "L2", format!("starts again: {entry:?}")))
            }
            What::CancelAsked => self.cancel().map(|()| None),
            What::CancelBegan(state) => self.clean(state, entry.at).map(|()| None),
            What::Ended(end) => self.end(end, entry.at).map(|()| None),
            What::UndoBegan(end) => self.undo(end).map(|()| None),
            What::Updated(update) => self.update(update.input.0, entry.at).map(|()| None),
            _ if matches!(self.phase, Phase::Undoing(_)) => self.undone(entry).map(|()| None),
            _ => self.told(entry).map(Some),
        }
    }

    fn cancel(&mut self) -> Result<(), Wrong> {
        if self.is_cancelled {
            return Err(Wrong(Class::Doubled, "L3", "is cancelled twice".to_owned()));
        }
        (self.is_cancelled, self.phase, self.node) = (true, Phase::Winding, Node::Never);
        self.ground.open.retain(|op| op.asked.runs());
        // Steps that wait for their next attempt are released; running steps end first. The model cannot
        // tell the two apart.
        let steps = self.ground.open.clone();
        steps.iter().for_each(|op| self.dues.push(op, None, Sure::May));
        (self.ground.panicked, self.ground.fault, self.ground.next) = (false, None, None);
        Ok(())
    }

    fn clean(&mut self, state: &Errand, at: i64) -> Result<(), Wrong> {
        let (expected, phase) = (self.state(), &self.phase);
        let is_undone = matches!(phase, Phase::Winding | Phase::Undoing(End::Cancelled(_))) && !self.dues.must();
        if !is_undone || *state != expected {
            return Err(Wrong(
                Class::Lost,
                "L3",
                format!("cleans up in {phase:?} with {state:?}, and has {expected:?}"),
            ));
        }
        self.ground = Ground::new(self.seed, at, self.ground.marks.clone());
        self.phase = Phase::Cleanup;
        let nothing = Plan::Seq(Vec::new());
        self.node = Node::begin(self.cleanup.as_ref().unwrap_or(&nothing), "!/", &mut self.ground);
        Ok(())
    }

    /// Takes the end of an operation.
    fn told(&mut self, entry: &Entry) -> Result<Op, Wrong> {
        let twice = !self.recorded.insert(entry.op.clone());
        let before = self.ground.clone();
        // A stopped run has no running steps. But a child reports its end only once, so that is kept for
        // the body.
        let may_end = |op: &Op| self.phase != Phase::Panicked || matches!(op.asked, Asked::Child { .. });
        let op = self.ground.close(&entry.op).filter(may_end);
        let Some(op) = op else {
            let class = if twice { Class::Doubled } else { Class::Broken };
            let open: Vec<_> = self.ground.open.iter().map(|op| &op.id).collect();
            return Err(Wrong(class, "W1", format!("records {entry:?}, and waits for {open:?} in {:?}", self.phase)));
        };
        self.fits(&op, entry)?;
        if let (Some(task), Some(value)) = (op.asked.task(), entry.value()) {
            self.values.push((task.id, value));
        }
        if let (Asked::Ring { task, .. }, Some(count)) = (&op.asked, entry.rung()) {
            self.rung.push((task.id, count));
        }
        if self.phase != Phase::Cleanup {
            self.note(&op, entry);
        }
        if matches!(self.phase, Phase::Winding | Phase::Panicked) {
            return Ok(op);
        }
        self.ground.now = entry.at;
        let node = std::mem::replace(&mut self.node, Node::Never);
        self.node = node.tell(entry, &mut self.ground);
        let gone = std::mem::take(&mut self.ground.gone);
        gone.iter().for_each(|op| self.dues.push(op, None, Sure::May));
        if self.ground.panicked {
            let mut left = before;
            left.close(&entry.op);
            self.panics(left);
        }
        Ok(op)
    }

    /// Notes whether a step that has ended in this way is due to be undone.
    fn note(&mut self, op: &Op, entry: &Entry) {
        match &entry.what {
            What::Ok(_) => self.dues.push(op, entry.value(), Sure::Must),
            What::Fault(_) => self.dues.push(op, None, Sure::Must),
            // An earlier attempt may have had an unknown outcome.
            What::Failed(_) => self.dues.push(op, None, Sure::May),
            _ => {}
        }
    }

    /// Begins the undos of a run that has failed or was cancelled (W9).
    fn undo(&mut self, end: &End) -> Result<(), Wrong> {
        let expected = match self.phase {
            Phase::Winding => Some(End::Cancelled(None)),
            Phase::Body => self.failing(),
            _ => None,
        };
        if expected.as_ref() != Some(end) {
            let message = format!("undoes to end with {end:?}, and the model with {expected:?} in {:?}", self.phase);
            return Err(Wrong(Class::Broken, "W9", message));
        }
        let left = std::mem::take(&mut self.ground.open);
        for op in &left {
            if self.is_cancelled { self.dues.push_again(op) } else { self.dues.push(op, None, Sure::May) }
        }
        (self.phase, self.node) = (Phase::Undoing(end.clone()), Node::Never);
        self.ground.fault = None;
        Ok(())
    }

    /// Takes the end of an undo: the last due step is undone first, and each step once (W9).
    fn undone(&mut self, entry: &Entry) -> Result<(), Wrong> {
        let twice = !self.recorded.insert(entry.op.clone());
        let before = self.dues.clone();
        let value = self.dues.undone(&entry.op).filter(|_| !twice);
        let is_well = match &entry.what {
            What::Ok(given) => value.is_some() && value == given.as_u64(),
            _ => value.is_some(),
        };
        let class = if twice { Class::Doubled } else { Class::Broken };
        if is_well { Ok(()) } else { Err(Wrong(class, "W9", format!("records {entry:?}, and has due {before:?}"))) }
    }

    /// Takes an update: the state changes and keeps the change, whatever the body does (L8).
    fn update(&mut self, number: u64, at: i64) -> Result<(), Wrong> {
        if !matches!(self.phase, Phase::Body | Phase::Cleanup) || number.is_multiple_of(5) {
            return Err(Wrong(Class::Broken, "L8", format!("is updated by {number} in {:?}", self.phase)));
        }
        self.ground.now = at;
        self.ground.marks.push(number);
        Ok(())
    }

    /// Drops everything that the body did in the poll in which it panicked.
    fn panics(&mut self, before: Ground) {
        (self.phase, self.ground, self.node) = (Phase::Panicked, before, Node::Never);
    }

    /// Checks that the entry is a possible end of the operation, and not too early.
    fn fits(&self, op: &Op, entry: &Entry) -> Result<(), Wrong> {
        // The operations of a kept part were due in the older generation.
        let is_due = self.ground.told_again.is_some() || op.until.is_some_and(|until| until <= entry.at);
        let fits = match (&op.asked, &entry.what) {
            (Asked::Step { .. }, What::Ok(_)) => entry.value().is_some(),
            (Asked::Step { .. }, What::Failed(_) | What::Fault(_)) => true,
            (Asked::Code { does, .. }, What::Ok(_)) => matches!(does, Does::Well(_)) && entry.value().is_some(),
            (Asked::Code { .. } | Asked::Ring { .. } | Asked::Permit | Asked::Book { .. }, What::Fault(_)) => true,
            (Asked::Child { way: Way::Detached, .. }, What::Ok(_)) => entry.began().is_some(),
            (Asked::Child { .. }, What::Ok(_) | What::Failed(_)) => entry.ended().is_some(),
            (Asked::Ring { fails, .. }, What::Ok(_)) => !fails && entry.rung().is_some(),
            (Asked::Ring { fails, .. }, What::Failed(_)) => *fails,
            (Asked::Permit, What::Ok(_)) => true,
            // A booking that fails by its plan may still have a value, if a caller gave one by
            // `restart_from`.
            (Asked::Book { does, .. }, What::Ok(_)) => {
                let was_given = |value| outside::world().recorder.acted.was_given(value);
                entry.value().is_some_and(|value| *does == Booking::Well || was_given(value))
            }
            (Asked::Book { does, .. }, What::Failed(_)) => *does == Booking::Fails,
            (Asked::Sleep, What::Woke) => is_due,
            (Asked::Wait(wanted), What::TimedOut(after)) => is_due && wanted.timeout_ms == Some(*after),
            (Asked::Wait(wanted), What::Events(events)) => {
                let has_key = |shelf: Option<u8>| wanted.key.is_none() || wanted.key == shelf;
                events.len() == wanted.times as usize && events.iter().all(|event| has_key(event.shelf))
            }
            _ => false,
        };
        if fits { Ok(()) } else { Err(Wrong(Class::Broken, "H1 V6", format!("records {entry:?} of {op:?}"))) }
    }

    fn end(&mut self, end: &End, at: i64) -> Result<(), Wrong> {
        let expected = match &self.phase {
            Phase::Undoing(end) if !self.is_cancelled && !self.dues.must() => Some(end.clone()),
            Phase::Body if self.failing().is_some() && self.dues.must() => None,
            _ => self.expected(),
        };
        if *end != End::Terminated && expected.as_ref() != Some(end) {
            let message = format!("ends with {end:?}, and the model with {expected:?} in {:?}", self.phase);
            return Err(Wrong(Class::Broken, "L1 L7", message));
        }
        self.phase = Phase::Over(end.clone());
        self.ground.open.clear();
        self.ground.now = at;
        Ok(())
    }

    /// The failure with which the run must end now, if there is one.
    fn failing(&self) -> Option<End> {
        self.expected().filter(|end| matches!(end, End::Failed(_) | End::Fault(_)))
    }

    /// The end that the run must have now, if it must end.
    pub fn expected(&self) -> Option<End> {
        let fault = self.ground.fault.clone();
        match self.phase {
            Phase::Body if fault.is_some() => fault.map(End::Fault),
            Phase::Body if self.trip.fails => self.node.told().map(|_| End::Failed("as drawn".to_owned())),
            Phase::Body => self.node.told().cloned().map(End::Succeeded),
            Phase::Cleanup => {
                let is_done = self.node.told().is_some();
                let error = fault.map(|fault| fault.to_string());
                (is_done || error.is_some()).then_some(End::Cancelled(error))
            }
            Phase::Deferred | Phase::Panicked | Phase::Winding | Phase::Over(_) | Phase::Undoing(_) => None,
        }
    }
}
