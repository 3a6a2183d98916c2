//! The model of a plan under way. It takes one entry at a time and proceeds as far as it can.

use super::{Asked, Entry, Ground, Plan, Told, What};

/// A part of a plan that has begun.
#[derive(Clone, Debug)]
pub enum Node {
    /// Waits for one operation.
    Waits {
        /// The identity of the operation.
        id: String,
        /// Whether the body catches a fault of the operation.
        caught: bool,
    },
    /// A step raced by reference.
    Patient(Patient),
    /// A sequence of parts.
    Seq {
        /// The results of the parts that have ended.
        done: Vec<Told>,
        /// The current part.
        now: Box<Node>,
        /// The parts that are still to come.
        rest: std::vec::IntoIter<Plan>,
        /// The branch of the parts.
        branch: String,
    },
    /// Parts that race; the first to end wins.
    Race(Vec<Node>),
    /// Parts that must all end.
    All(Vec<Node>),
    /// Waits for a permit.
    Permit {
        /// The identity of the operation.
        id: String,
        /// The part that runs with the permit.
        plan: Box<Plan>,
        /// The branch of the part.
        branch: String,
    },
    /// A part that runs with a permit.
    Held(Box<Node>),
    /// A part that has ended.
    Ended(Told),
    /// A part that never ends: the body has panicked, has a fault, or continues as another generation.
    Never,
}

/// A step raced by reference. When the step loses a race, it continues.
#[derive(Clone, Debug)]
pub struct Patient {
    step: String,
    sleep: Option<String>,
    rounds: u32,
    left: u32,
    sleep_ms: u64,
    branch: String,
}

impl Node {
    /// Begins a part, as the first poll of the body does.
    pub fn begin(plan: &Plan, branch: &str, ground: &mut Ground) -> Self {
        match plan {
            Plan::Step { task, once, .. } => {
                let name = if *once { "once" } else { "work" };
                let asked = Asked::Step { task: *task, once: *once };
                Self::Waits { id: ground.ask(branch, name, asked, None), caught: task.caught }
            }
            Plan::Code { task, does } => {
                let asked = Asked::Code { task: *task, does: *does };
                Self::Waits { id: ground.ask(branch, "run:code", asked, None), caught: task.caught }
            }
            Plan::Patient { task, sleep_ms, rounds } => {
                let step = ground.ask(branch, "work", Asked::Step { task: *task, once: false }, None);
                let (sleep_ms, branch) = (*sleep_ms, branch.to_owned());
                let mut patient = Patient { step, sleep: None, rounds: 0, left: *rounds, sleep_ms, branch };
                patient.round(ground);
                Self::Patient(patient)
            }
            Plan::Sleep(millis) => Self::sleep(branch, ground, ground.after(*millis)),
            Plan::Until(millis) => Self::sleep(branch, ground, ground.now + millis),
            Plan::Wait(wanted) => {
                let until = wanted.timeout_ms.map(|millis| ground.after(millis));
                let name = match wanted.kind {
                    super::Kind::Note => "wait:Note",
                    super::Kind::Price => "wait:Price",
                    super::Kind::Bid => "wait:Bid",
                    super::Kind::Parcel => "wait:Parcel",
                };
                Self::Waits { id: ground.ask(branch, name, Asked::Wait(*wanted), until), caught: false }
            }
            Plan::Mark(mark) => {
                ground.marks.push(*mark);
                Self::Ended(Told::Marked(ground.marks.len() as u64))
            }
            Plan::Chance => Self::Ended(Told::Chance(ground.chance(branch))),
            Plan::Panic => {
                ground.panicked = true;
                Self::Never
            }
            // The first `continue_as` decides.
            Plan::Again(trip) => {
                ground.next.get_or_insert_with(|| trip.clone());
                Self::Never
            }
            Plan::Child { trip, way } => {
                let (name, asked) =
                    (format!("child:{:x}", trip.number), Asked::Child { number: trip.number, way: *way });
                Self::Waits { id: ground.ask(branch, &name, asked, None), caught: false }
            }
            Plan::Ring { task, fails } => {
                let asked = Asked::Ring { task: *task, fails: *fails };
                Self::Waits { id: ground.ask(branch, "call:ring", asked, None), caught: task.caught }
            }
            Plan::Permit(held) => {
                let id = ground.ask(branch, "permit:gate-0", Asked::Permit, None);
                Self::Permit { id, plan: held.clone(), branch: branch.to_owned() }
            }
            Plan::Book { task, does, .. } => {
                let asked = Asked::Book { task: *task, does: *does };
                Self::Waits { id: ground.ask(branch, "book", asked, None), caught: task.caught }
            }
            Plan::Seq(parts) => Self::next(Vec::new(), parts.clone().into_iter(), branch, ground),
            Plan::Race(arms) => Self::race(arms, branch, ground),
            Plan::Join(arms) => {
                let branches = forked(arms.len(), branch, ground);
                Self::all(arms, &branches, ground)
            }
            Plan::All(arms) => {
                let at = ground.fork(branch);
                let branches: Vec<_> = (0..arms.len()).map(at).collect();
                Self::all(arms, &branches, ground)
            }
        }
    }

    fn sleep(branch: &str, ground: &mut Ground, until: i64) -> Self {
        Self::Waits { id: ground.ask(branch, "sleep", Asked::Sleep, Some(until)), caught: false }
    }

    fn next(mut done: Vec<Told>, mut rest: std::vec::IntoIter<Plan>, branch: &str, ground: &mut Ground) -> Self {
        while let Some(plan) = rest.next() {
            match Self::begin(&plan, branch, ground) {
                Self::Ended(told) => done.push(told),
                _ if ground.is_over() => return Self::Never,
                now => return Self::Seq { done, now: Box::new(now), rest, branch: branch.to_owned() },
            }
        }
        Self::Ended(Told::Seq(done))
    }

    fn race(arms: &[Plan], branch: &str, ground: &mut Ground) -> Self {
        let branches = forked(arms.len(), branch, ground);
        let mut begun = Vec::new();
        for (place, (arm, branch)) in arms.iter().zip(&branches).enumerate() {
            begun.push(Self::begin(arm, branch, ground));
            if ground.is_over() {
                return Self::Never;
            }
            // `select!` does not poll the arms after the winner.
            if let Some(Self::Ended(told)) = begun.last() {
                let told = Self::Ended(Told::Won(place, Box::new(told.clone())));
                begun.iter().for_each(|loser| loser.let_go(ground));
                return told;
            }
        }
        Self::Race(begun)
    }

    fn all(arms: &[Plan], branches: &[String], ground: &mut Ground) -> Self {
        let mut begun = Vec::new();
        for (arm, branch) in arms.iter().zip(branches) {
            begun.push(Self::begin(arm, branch, ground));
            if ground.is_over() {
                return Self::Never;
            }
        }
        Self::All(begun).joined()
    }

    /// Ends a part that ran with a permit, if it is done.
    fn released(self) -> Self {
        match self {
            Self::Held(held) => match *held {
                Self::Ended(told) => Self::Ended(Told::Held(Box::new(told))),
                held => Self::Held(Box::new(held)),
            },
            other => other,
        }
    }

    fn joined(self) -> Self {
        let Self::All(arms) = &self else { return self };
        let told: Option<Vec<_>> = arms.iter().map(|arm| arm.told().cloned()).collect();
        told.map_or(self, |told| Self::Ended(Told::All(told)))
    }

    /// The result of the part, if it has ended.
    pub fn told(&self) -> Option<&Told> {
        match self {
            Self::Ended(told) => Some(told),
            _ => None,
        }
    }

    /// Passes an entry to the part that it belongs to, and lets this part proceed.
    pub fn tell(self, entry: &Entry, ground: &mut Ground) -> Self {
        match self {
            Self::Waits { id, caught } if id == entry.op => match outcome(entry) {
                Some(Told::Fault(fault)) if !caught => {
                    ground.fault = Some(fault);
                    Self::Never
                }
                told => told.map_or(Self::Never, Self::Ended),
            },
            Self::Patient(patient) => patient.tell(entry, ground),
            Self::Permit { id, plan, branch } if id == entry.op => match &entry.what {
                What::Ok(_) => Self::Held(Box::new(Self::begin(&plan, &branch, ground))).released(),
                What::Fault(fault) => {
                    ground.fault = Some(fault.clone());
                    Self::Never
                }
                _ => Self::Never,
            },
            Self::Held(held) => Self::Held(Box::new(held.tell(entry, ground))).released(),
            Self::Seq { mut done, now, rest, branch } => match now.tell(entry, ground) {
                Self::Ended(told) => {
                    done.push(told);
                    Self::next(done, rest, &branch, ground)
                }
                now => Self::Seq { done, now: Box::new(now), rest, branch },
            },
            Self::Race(arms) => {
                let arms: Vec<_> = arms.into_iter().map(|arm| arm.tell(entry, ground)).collect();
                let Some(place) = arms.iter().position(|arm| arm.told().is_some()) else { return Self::Race(arms) };
                arms.iter().for_each(|loser| loser.let_go(ground));
                arms[place].told().map_or(Self::Never, |told| Self::Ended(Told::Won(place, Box::new(told.clone()))))
            }
            Self::All(arms) => Self::All(arms.into_iter().map(|arm| arm.tell(entry, ground)).collect()).joined(),
            other => other,
        }
    }

    /// Releases all operations of the part.
    fn let_go(&self, ground: &mut Ground) {
        match self {
            Self::Waits { id, .. } | Self::Permit { id, .. } => ground.let_go(id),
            Self::Held(held) => held.let_go(ground),
            Self::Patient(patient) => {
                ground.let_go(&patient.step);
                patient.sleep.iter().for_each(|sleep| drop(ground.close(sleep)));
            }
            Self::Seq { now, .. } => now.let_go(ground),
            Self::Race(arms) | Self::All(arms) => arms.iter().for_each(|arm| arm.let_go(ground)),
            Self::Ended(_) | Self::Never => {}
        }
    }
}

impl Patient {
    /// Asks for the next sleep, if one is left. It gets its identity where the race is made.
    fn round(&mut self, ground: &mut Ground) {
        self.sleep = (self.left > 0).then(|| {
            let until = ground.after(self.sleep_ms);
            let sleep = ground.ask(&self.branch, "sleep", Asked::Sleep, Some(until));
            drop(ground.fork(&self.branch));
            sleep
        });
        self.left = self.left.saturating_sub(1);
    }

    fn tell(mut self, entry: &Entry, ground: &mut Ground) -> Node {
        if self.step == entry.op {
            self.sleep.iter().for_each(|sleep| drop(ground.close(sleep)));
            let told = |told| Node::Ended(Told::Patient { rounds: self.rounds, told: Box::new(told) });
            return outcome(entry).map_or(Node::Never, told);
        }
        if self.sleep.as_deref() == Some(&entry.op) {
            self.rounds += 1;
            self.round(ground);
        }
        Node::Patient(self)
    }
}

/// The branches of a `select!` or a `join!`. The macros nest three arms: the last two form an inner pair.
fn forked(count: usize, branch: &str, ground: &mut Ground) -> Vec<String> {
    let inner = ground.fork(branch);
    if count == 2 {
        return vec![inner(0), inner(1)];
    }
    vec![ground.fork(branch)(0), inner(0), inner(1)]
}

/// The result that an entry means for its operation.
fn outcome(entry: &Entry) -> Option<Told> {
    let at = entry.at;
    let is = |name: &str| entry.op.rsplit('/').next().is_some_and(|op| op.starts_with(name));
    Some(match &entry.what {
        What::Ok(_) if is("call:") => Told::Rung { count: entry.rung()?, at },
        What::Ok(_) if is("child:") => match entry.began() {
            Some(key) => Told::Began { key, at },
            None => Told::Child { ended: entry.ended()?, at },
        },
        What::Failed(_) if is("child:") => Told::Child { ended: entry.ended()?, at },
        What::Ok(_) => Told::Done { value: entry.value()?, at },
        What::Failed(_) => Told::Failed { at },
        What::Fault(fault) => Told::Fault(fault.clone()),
        What::Woke => Told::Woke { at },
        What::Events(events) => Told::Events { numbers: events.iter().map(|event| event.number).collect(), at },
        What::TimedOut(after_ms) => Told::TimedOut { after_ms: *after_ms, at },
        What::Started(_)
        | What::StartedAs { .. }
        | What::CancelAsked
        | What::CancelBegan(_)
        | What::Ended(_)
        | What::UndoBegan(_)
        | What::Updated(_) => {
            return None;
        }
    })
}
