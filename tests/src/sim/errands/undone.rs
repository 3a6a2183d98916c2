//! What is due to be undone, as the model sees it (W9).

use super::{Asked, Op};

/// Whether the undo of a step must run, or may: nobody but the engine knows whether a step that was let go had begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sure {
    /// It must.
    Must,
    /// It may.
    May,
}

/// Steps that are due to be undone, in the order in which that was known, and what each returned.
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
    /// A step has ended, or was let go.
    pub fn push(&mut self, op: &Op, value: Option<u64>, sure: Sure) {
        let Asked::Step { once, .. } = op.asked else { return };
        self.forget(&op.id);
        // Of one whose undo takes what it returned, nothing is due without that.
        if !once || value.is_some() {
            let undo = if once { "unonce" } else { "unwork" };
            self.0.push(Due { op: op.id.clone(), undo, value: value.unwrap_or(0), sure });
        }
    }

    /// A step of a cancelled run was abandoned now, if it was not let go when the run was cancelled: only the engine knows which.
    pub fn push_again(&mut self, op: &Op) {
        let known = self.0.iter().find(|due| due.op == op.id).cloned();
        self.0.extend(known);
    }

    /// A step that was thought to be let go has ended.
    pub fn forget(&mut self, op: &str) {
        self.0.retain(|due| due.op != op);
    }

    /// Whether something must be undone yet.
    pub fn must(&self) -> bool {
        self.0.iter().any(|due| due.sure == Sure::Must)
    }

    /// An undo has ended: it was the last that is due, or one behind it that may be; what it must have been given.
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
            // What may be due and may not: in which order several are let go, only the engine knows.
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
