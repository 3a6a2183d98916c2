//! The due undos of a run, as the model sees them (W9).

use super::{Asked, Op};

/// Whether an undo must run or may run. Only the engine knows whether a released step had begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sure {
    /// The undo must run.
    Must,
    /// The undo may run.
    May,
}

/// The steps that are due to be undone, in the order in which they became due, with their return values.
#[derive(Clone, Debug, Default)]
pub struct Dues(Vec<Due>);

#[derive(Clone, Debug)]
struct Due {
    op: String,
    undo: &'static str,
    value: u64,
    sure: Sure,
}

impl Dues {
    /// Notes that a step has ended or was released.
    pub fn push(&mut self, op: &Op, value: Option<u64>, sure: Sure) {
        let Asked::Step { once, .. } = op.asked else { return };
        self.forget(&op.id);
        // An undo that takes the output is not due without an output.
        if !once || value.is_some() {
            let undo = if once { "unonce" } else { "unwork" };
            self.0.push(Due { op: op.id.clone(), undo, value: value.unwrap_or(0), sure });
        }
    }

    /// Notes again a step of a cancelled run that was abandoned after the cancellation. Only the engine
    /// knows whether the step was released earlier, when the run was cancelled.
    pub fn push_again(&mut self, op: &Op) {
        let known = self.0.iter().find(|due| due.op == op.id).cloned();
        self.0.extend(known);
    }

    /// Forgets a step that was assumed to be released but has ended.
    pub fn forget(&mut self, op: &str) {
        self.0.retain(|due| due.op != op);
    }

    /// Whether an undo must still run.
    pub fn must(&self) -> bool {
        self.0.iter().any(|due| due.sure == Sure::Must)
    }

    /// Takes the end of an undo and returns the value that the undo must have been given. The undo must be
    /// the last due one, or an earlier one if all later ones only may run.
    pub fn undone(&mut self, op: &str) -> Option<u64> {
        while let Some(due) = self.0.last() {
            let is_it = op == format!("undo/{}/{}#1", due.op, due.undo);
            let (value, sure) = (due.value, due.sure);
            if !is_it && sure == Sure::Must {
                return None;
            }
            if is_it {
                let op = due.op.clone();
                self.forget(&op);
                return Some(value);
            }
            // Only the engine knows in which order several steps were released, so any of these undos may
            // come next.
            let behind = self.0.iter().rev().take_while(|due| due.sure == Sure::May);
            let place = behind.clone().position(|due| op == format!("undo/{}/{}#1", due.op, due.undo));
            match place {
                Some(place) => {
                    let Due { op, value, .. } = self.0[self.0.len() - 1 - place].clone();
                    self.forget(&op);
                    return Some(value);
                }
                None => drop(self.0.pop()),
            }
        }
        None
    }
}
