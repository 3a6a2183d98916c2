//! What a restart keeps of the generation before (L4): the entries up to its step, which the body is told again. What was undone, and
//! a permit that would be held, cannot be kept.

use std::collections::BTreeSet;

use drystone_runtime::Millis;

use super::{
    super::{
        RestartError, Workflow,
        journal::{Entry, What},
        live::{Identity, Live, Rest},
        pending::is_permit,
        undo::undone_by,
    },
    restarting::not_restarted,
    turning::{Halt, Turning},
};

impl<W: Workflow> Turning<'_, W> {
    /// Whether what came before a step can be kept, of this journal. Mostly it can, and nothing need be told again to know it.
    pub(super) fn can_keep(&self, kept: &[Entry], journal: &[Entry]) -> Result<(), Halt> {
        let is_given = |entry: &&Entry| is_permit(&entry.op) && matches!(entry.what, What::Ok(_));
        let permits: Vec<&str> = kept.iter().filter(is_given).map(|entry| &*entry.op).collect();
        let undone = self.undone_of(journal);
        if permits.is_empty() && undone.is_empty() {
            return Ok(());
        }
        if let Some(entry) = kept.iter().find(|entry| undone.contains(&*entry.op)) {
            return Err(was_undone(&entry.op));
        }
        // What was let go there has no entry of its own. If the code cannot be told, it is taken for one that keeps all of it.
        let left = left_by::<W>(&self.identity(), kept);
        let has_ended = |op: &str| journal.iter().any(|entry| entry.op == op);
        let is_lost = |op: &str| left.as_ref().is_none_or(|left| left.lost.contains(op));
        if let Some(op) = undone.iter().find(|op| !has_ended(op) && is_lost(op)) {
            return Err(was_undone(op));
        }
        let is_held = |op: &&str| left.as_ref().is_none_or(|left| !left.released.contains(*op));
        match permits.into_iter().find(is_held) {
            Some(op) => Err(not_restarted(&RestartError::KeepsPermit { operation: op.to_owned() })),
            None => Ok(()),
        }
    }

    /// What was undone, for good or ill, or is being undone, or was when the run was terminated.
    fn undone_of<'j>(&'j self, journal: &'j [Entry]) -> BTreeSet<&'j str> {
        let undone = journal.iter().filter_map(|entry| undone_by(&entry.op));
        undone.chain(self.record.undos.last.as_deref()).collect()
    }

    /// What the body does up to the last of what was kept it has done before; behind it, it chooses its versions anew (R5).
    pub(super) fn tell_versions(&self, live: &Live) {
        if self.record.kept == 0 {
            return;
        }
        live.core.with_versions(|versions| {
            versions.is_replay = self.told() < self.record.kept;
            match self.record.untold {
                _ if !self.is_told_anew => {}
                0 => versions.choose_anew(),
                _ => versions.keep_what_is_asked(),
            }
        });
    }

    /// Whether the body is told what was kept: it asks for what was begun in the generation before.
    pub(super) fn is_told_kept(&self) -> bool {
        self.record.untold > 0 && self.told() <= self.record.kept
    }
}

/// What a body has done up to the last of what it was told.
#[derive(Default)]
struct Left {
    /// Operations that it let go before they had ended.
    lost: BTreeSet<String>,
    /// Permits that it holds no more.
    released: BTreeSet<String>,
}

/// What a body leaves behind that is told these entries; `None` if they do not fit it.
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
        self.lost.extend(moves.dropped.iter().map(ToString::to_string));
        self.released.extend(moves.released.iter().map(ToString::to_string));
        rest
    }
}

fn was_undone(op: &str) -> Halt {
    not_restarted(&RestartError::Undone { operation: op.to_owned() })
}
