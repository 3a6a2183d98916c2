//! L6: a child begins once, in its parent's commit. Its end is sent to the parent once, in the child's own
//! commit. A child that is released is cancelled.

use drystone::RunError;
use drystone_runtime::store::Write;

use crate::sim::{
    recording::{
        log::{Chronicle, Class},
        witness::{Family, Run, Written},
    },
    workflows::{Childing, End, Entry, Phase, Record, Told, Waiting},
};

/// The verb of the message with which a child tells its parent about its end.
const ENDED: &str = "child:ended";

/// Registers the messages of a write to children, and checks that every awaited child has begun.
pub fn inspect_family(chronicle: &Chronicle, family: &mut Family, run: &Run, after: &Record, write: &Write) {
    let check = |holds, class, message: &dyn Fn() -> String| {
        chronicle.check(holds, class, "L6", || format!("{} {}", write.key, message()));
    };
    let again = family.says(write);
    check(again.is_none(), Class::Doubled, &|| format!("begins {again:?} twice"));
    for (op, childing) in children(after).filter(|(_, childing)| childing.input.is_none()) {
        let is_begun = family.has_begun(childing.key.as_bytes());
        check(is_begun, Class::Lost, &|| format!("waits for {op}, and has not begun {}", childing.key));
    }
    let is_born = run.life.is_none();
    let is_child = after.parent.is_some();
    check(!is_born || !is_child || family.has_begun(&write.key.key), Class::Broken, &|| "was not begun".to_owned());
}

fn children(record: &Record) -> impl Iterator<Item = (&str, &Childing)> {
    record.pending.iter().filter_map(|pending| match &pending.what {
        Waiting::Child(childing) => Some((pending.op.as_str(), childing)),
        _ => None,
    })
}

/// Compares the ends of a run and of its children with the messages and journal entries about them.
pub fn inspect_ends(chronicle: &Chronicle, family: &mut Family, run: &Run, change: &Written, write: &Write) {
    let ending = Ending { chronicle, run, write };
    ending.tells(family, change);
    ending.heard(family, change);
    ending.lets_go(change);
}

/// Checks a destroyed run: its parent is told, and its children are cancelled.
pub fn inspect_orphans(chronicle: &Chronicle, family: &mut Family, run: Option<&Run>, write: &Write) {
    family.says(write);
    let Some(run) = run else { return };
    if run.record.end.is_some() {
        return;
    }
    let ending = Ending { chronicle, run, write };
    let is_told = run.record.parent.is_none() || ending.said(ENDED) > 0;
    ending.check(is_told, Class::Lost, || "is destroyed, and its parent is not told".to_owned());
    family.ended(&write.key.key, End::Terminated);
    for (op, childing) in children(&run.record) {
        // The child may have ended in the same write. What the journal recorded of the end is gone with the
        // run.
        let may_have_ended = !write.taken.is_empty() && !family.ends(childing.key.as_bytes()).is_empty();
        if !may_have_ended {
            ending.is_let_go(op, childing);
        }
    }
}

struct Ending<'a> {
    chronicle: &'a Chronicle,
    /// The run before the write.
    run: &'a Run,
    write: &'a Write,
}

impl Ending<'_> {
    fn said(&self, verb: &str) -> usize {
        self.write.sent.iter().filter(|sent| sent.verb == verb).count()
    }

    /// Checks that the end of a child and the message to its parent are one commit.
    fn tells(&self, family: &mut Family, change: &Written) {
        let Some(life) = &self.run.life else { return };
        let same = self.run.record.generation == change.record.generation;
        if !same && self.run.record.generation > 0 {
            family.restarts(&self.write.key.key);
        }
        let ends = change.record.end.is_some() && (self.run.record.end.is_none() || !same);
        if let (Phase::Over(end), true) = (&life.phase, ends) {
            family.ended(&self.write.key.key, end.clone());
        }
        let said = self.said(ENDED);
        let is_child = change.record.parent.is_some();
        self.check(!is_child || !ends || said > 0, Class::Lost, || {
            "has ended, and does not tell its parent".to_owned()
        });
        self.check(ends || !same || said == 0, Class::Doubled, || "tells its parent of an end twice".to_owned());
        if is_child && ends {
            self.chronicle.sometimes("a child ended");
        }
    }

    /// Checks that the parent records the end that the child really had.
    fn heard(&self, family: &Family, change: &Written) {
        if self.run.record.generation != change.record.generation {
            return;
        }
        for (.., body) in &change.journal {
            let Some(entry) = body.as_ref().and_then(|body| Run::entry(body).ok()) else { continue };
            let own = children(&self.run.record).find(|(op, _)| *op == entry.op);
            if let Some((_, childing)) = own {
                self.is_true(family, childing, &entry);
            }
        }
    }

    fn is_true(&self, family: &Family, childing: &Childing, entry: &Entry) {
        let Some(ended) = entry.ended() else { return };
        self.chronicle.sometimes(match &ended {
            Ok(_) => "a parent was told that a child succeeded",
            Err(RunError::Failed(_) | RunError::Fault(_)) => "a parent was told that a child failed",
            Err(_) => "a parent was told that a child was cancelled or terminated",
        });
        let ends = family.ends(childing.key.as_bytes());
        // A child that ended and was restarted in one write shows no end.
        let is_true = ends.iter().any(|end| is_it(end, &ended)) || family.was_restarted(childing.key.as_bytes());
        self.check(is_true, Class::Broken, || {
            format!("records {entry:?}, and {} has ended with {ends:?}", childing.key)
        });
    }

    /// Checks that the parent cancels each child that it awaits no more, unless the child was abandoned.
    fn lets_go(&self, change: &Written) {
        let same = self.run.record.generation == change.record.generation;
        let recorded = |op: &str| {
            let entries = change.journal.iter().filter_map(|(.., body)| Run::entry(body.as_ref()?).ok());
            entries.into_iter().any(|entry| entry.op == op)
        };
        for (op, childing) in children(&self.run.record).filter(|(_, childing)| childing.input.is_none()) {
            let waits = same && children(&change.record).any(|(other, _)| other == op);
            // Entries that the old generation recorded in this write are gone with its journal.
            let may_have_ended = !same && !self.write.taken.is_empty();
            if !waits && !recorded(op) && !may_have_ended {
                self.is_let_go(op, childing);
            }
        }
    }

    fn is_let_go(&self, op: &str, childing: &Childing) {
        let told = self.write.sent.iter().any(|sent| sent.verb == "cancel" && sent.to.key == childing.key.as_bytes());
        self.check(told || childing.is_abandoned || childing.input.is_some(), Class::Lost, || {
            format!("lets {op} go, and does not tell {}", childing.key)
        });
        self.chronicle.sometimes(if childing.is_abandoned {
            "a child went on without its parent"
        } else {
            "a child was let go by its parent"
        });
    }

    fn check(&self, holds: bool, class: Class, message: impl FnOnce() -> String) {
        self.chronicle.check(holds, class, "L6", || format!("{} {}", self.write.key, message()));
    }
}

fn is_it(end: &End, told: &Result<Box<Told>, RunError<String>>) -> bool {
    match (end, told) {
        (End::Succeeded(result), Ok(told)) => *result == **told,
        (End::Failed(error), Err(RunError::Failed(told))) => error == told,
        (End::Fault(fault), Err(RunError::Fault(told))) => fault == told,
        (End::Cancelled(_), Err(RunError::Cancelled)) | (End::Terminated, Err(RunError::Terminated)) => true,
        _ => false,
    }
}
