//! A run, as the model sees it: from its start to its end, one entry of the journal after another.

use std::collections::BTreeSet;

use super::{Asked, Booking, Does, Dues, End, Entry, Ground, Node, Op, Plan, Sure, Trip, Way, What, outside};
use crate::sim::{authors::Errand, chronicle::Class};

/// What is wrong with an entry, and which law says so.
#[derive(Debug)]
pub struct Wrong(pub Class, pub &'static str, pub String);

/// Where a run is.
#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    /// It has not been polled yet.
    Deferred,
    /// Its body goes on.
    Body,
    /// Its body has panicked.
    Panicked,
    /// Its body was dropped, and steps that run end first.
    Winding,
    /// Its `#[cancelled]` body goes on.
    Cleanup,
    /// It has ended.
    Over(End),
    /// Its steps are undone, and then it ends so.
    Undoing(End),
}

/// A run.
#[derive(Clone, Debug)]
pub struct Life {
    /// What it was started with.
    pub trip: Trip,
    /// Where it is.
    pub phase: Phase,
    /// What it stands on.
    pub ground: Ground,
    /// What its tasks were recorded to have returned.
    pub values: Vec<(u64, u64)>,
    /// Whether somebody has cancelled it.
    pub is_cancelled: bool,
    /// What its state says is to be done then: nothing, if its body panicked before it could say so.
    cleanup: Option<Plan>,
    seed: u64,
    node: Node,
    /// Operations that were recorded.
    recorded: BTreeSet<String>,
    /// The time of the last entry.
    last_at: i64,
    /// What is to be undone if it fails.
    dues: Dues,
    /// What its tills have answered to what.
    pub rung: Vec<(u64, u64)>,
}

impl Life {
    /// A run, or a generation of it, begins with this entry; what was kept of an older one was told again at `told_again`.
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

    /// Its body is polled for the first time.
    pub fn first_poll(&mut self) {
        let before = self.ground.clone();
        self.phase = Phase::Body;
        self.node = Node::begin(&self.trip.plan, "", &mut self.ground);
        if self.ground.panicked {
            return self.panics(before);
        }
        self.cleanup = Some(self.trip.cleanup.clone());
    }

    /// Whether it should have gone on as another generation.
    pub fn leaves(&self) -> bool {
        let is_over = self.node.told().is_some() || self.ground.is_over();
        self.phase == Phase::Body && self.ground.next.is_some() && !is_over
    }

    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over(_))
    }

    /// Whether an operation was recorded.
    pub fn has_recorded(&self, op: &str) -> bool {
        self.recorded.contains(op)
    }

    /// How many operations were recorded.
    pub fn recorded_count(&self) -> usize {
        self.recorded.len()
    }

    /// The state that it has, if it is stored.
    pub fn state(&self) -> Errand {
        Errand { marks: self.ground.marks.clone(), cleanup: self.cleanup.clone() }
    }

    /// The next entry; the operation that it is of.
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
        // Those that wait to be tried again are let go; those that run end first.
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

    /// An operation has ended.
    fn told(&mut self, entry: &Entry) -> Result<Op, Wrong> {
        let twice = !self.recorded.insert(entry.op.clone());
        let before = self.ground.clone();
        // Of one that is stopped no step runs; but a child says once how it ended, and that is kept for its body.
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

    /// What is due of a step that has ended so.
    fn note(&mut self, op: &Op, entry: &Entry) {
        match &entry.what {
            What::Ok(_) => self.dues.push(op, entry.value(), Sure::Must),
            What::Fault(_) => self.dues.push(op, None, Sure::Must),
            // An attempt before may have come to nobody knows what.
            What::Failed(_) => self.dues.push(op, None, Sure::May),
            _ => {}
        }
    }

    /// W9: it fails, or was cancelled, and what is due is undone first.
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

    /// W9: the last first, and each once.
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

    /// L8: the state is another, and stays so whatever the body does.
    fn update(&mut self, number: u64, at: i64) -> Result<(), Wrong> {
        if !matches!(self.phase, Phase::Body | Phase::Cleanup) || number.is_multiple_of(5) {
            return Err(Wrong(Class::Broken, "L8", format!("is updated by {number} in {:?}", self.phase)));
        }
        self.ground.now = at;
        self.ground.marks.push(number);
        Ok(())
    }

    /// What a body did in the poll in which it panicked is not there.
    fn panics(&mut self, before: Ground) {
        (self.phase, self.ground, self.node) = (Phase::Panicked, before, Node::Never);
    }

    /// Whether such an operation can end so, and not before its time.
    fn fits(&self, op: &Op, entry: &Entry) -> Result<(), Wrong> {
        // What is kept of an older generation was due in that.
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
            // Unless a caller has said what it is to have returned.
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

    /// How it fails now, if it does.
    fn failing(&self) -> Option<End> {
        self.expected().filter(|end| matches!(end, End::Failed(_) | End::Fault(_)))
    }

    /// How it must end now, if it must.
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
