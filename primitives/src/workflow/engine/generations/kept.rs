//! The entries that a restart from a step keeps of the generation before (L4): those before the step. They
//! are delivered to the new body. A step that was undone, and a permit that the run would still hold, cannot
//! be kept.

use std::collections::BTreeSet;

use drystone_runtime::Millis;

use super::restart::not_restarted;
use crate::workflow::{
    RestartError, Workflow,
    engine::turn::{Delivery, Halt, Turning},
    replay::{
        journal::{Entry, What},
        live::{Identity, Live, Rest},
        op_id::{OpId, OpKind},
    },
};

impl<W: Workflow> Turning<'_, W> {
    /// Checks whether the entries before a step can be kept. Mostly no replay is needed to find out.
    pub(in crate::workflow::engine) fn can_keep(&self, kept: &[Entry], journal: &[Entry]) -> Result<(), Halt> {
        let given = kept.iter().filter(|entry| matches!(entry.what, What::Ok(_))).filter_map(|entry| entry.op.as_ref());
        let permits: Vec<&OpId> = given.filter(|op| op.kind() == OpKind::Permit).collect();
        let undone = self.undone_of(journal);
        if permits.is_empty() && undone.is_empty() {
            return Ok(());
        }
        if let Some(entry) = kept.iter().find(|entry| undone.contains(entry.op_text())) {
            return Err(was_undone(entry.op_text()));
        }
        // An operation that was released has no entry, so the entries are replayed. If they do not fit the
        // code, assume that all of it would be kept.
        let left = left_by::<W>(&self.identity(), kept);
        let has_ended = |op: &str| journal.iter().any(|entry| entry.op_text() == op);
        let is_lost = |op: &str| left.as_ref().is_none_or(|left| left.lost.contains(op));
        if let Some(op) = undone.iter().find(|op| !has_ended(op) && is_lost(op)) {
            return Err(was_undone(op));
        }
        let is_held = |op: &&OpId| left.as_ref().is_none_or(|left| !left.released.contains(*op));
        match permits.into_iter().find(is_held) {
            Some(op) => Err(not_restarted(&RestartError::KeepsPermit { operation: op.to_string() })),
            None => Ok(()),
        }
    }

    /// Returns the operations that were undone, successfully or not, and the one whose undo runs, or ran
    /// when the run was terminated.
    fn undone_of<'j>(&'j self, journal: &'j [Entry]) -> BTreeSet<&'j str> {
        let undone = journal.iter().filter_map(|entry| entry.op.as_ref()?.undone());
        undone.chain(self.record.undos.last.as_ref().map(OpId::as_str)).collect()
    }

    /// Tells the body how to choose its versions. Up to the last kept entry the body keeps the recorded
    /// versions; behind it the body chooses anew (R5).
    pub(in crate::workflow::engine) fn tell_versions(&self, live: &Live) {
        if self.record.kept == 0 {
            return;
        }
        live.core.with_versions(|versions| {
            versions.is_replay = self.told() < self.record.kept;
            match self.record.untold {
                _ if self.delivery != Delivery::Anew => {}
                0 => versions.choose_anew(),
                _ => versions.keep_what_is_asked(),
            }
        });
    }

    /// Whether the body is being given the kept entries. The operations that it asks for began in the
    /// generation before.
    pub(in crate::workflow::engine) fn is_told_kept(&self) -> bool {
        self.record.untold > 0 && self.told() <= self.record.kept
    }
}

/// The operations that a body released up to the last entry that it was given.
#[derive(Default)]
struct Left {
    /// Operations released before their end.
    lost: BTreeSet<OpId>,
    /// Released permits.
    released: BTreeSet<OpId>,
}

/// Replays entries and returns what the body released; `None` if the entries do not fit it.
fn left_by<W: Workflow>(who: &Identity, entries: &[Entry]) -> Option<Left> {
    let (start, entries) = entries.split_first()?;
    let mut live = Live::begin::<W>(who, start.input()?.get().as_bytes(), Millis(start.at)).ok()?;
    (live.told, live.is_replayed) = (1, true);
    live.core.with_versions(|versions| versions.is_replay = true);
    let mut left = Left::default();
    let mut rest = left.polled(&mut live);
    for entry in entries {
        if !matches!(rest, Rest::Waits) {
            return None;
        }
        live.tell(entry).ok()?;
        rest = left.polled(&mut live);
    }
    Some(left)
}

impl Left {
    fn polled(&mut self, live: &mut Live) -> Rest {
        let rest = live.poll();
        let moves = live.take_moves();
        self.lost.extend(moves.dropped);
        self.released.extend(moves.released);
        rest
    }
}

fn was_undone(op: &str) -> Halt {
    not_restarted(&RestartError::Undone { operation: op.to_owned() })
}
