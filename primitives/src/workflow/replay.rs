//! The replay of a journal: a new body, to which each entry is delivered in order.

pub(crate) mod ask;
pub(crate) mod core;
pub(crate) mod divergence;
pub(crate) mod foreign_wake;
pub(crate) mod journal;
pub(crate) mod live;
pub(crate) mod op;
pub(crate) mod op_id;
pub(crate) mod update;

use std::collections::BTreeSet;

use bytes::Bytes;
use drystone_runtime::Millis;

use self::{
    core::Stop,
    journal::{End, Entry, What},
    live::{Identity, Live, Rest},
    op_id::OpId,
};
use super::{
    Divergence, Workflow,
    client::fault::{Cause, Fault},
};
use crate::{Failure, decode, planted::Bug, primitive::Thrown};

/// Replays a journal: begins the body anew and delivers each entry in order. `cleanup` is the entry at
/// which the `#[cancelled]` body began, if it did.
pub(super) fn replay<W: Workflow>(who: &Identity, entries: &[Entry], cleanup: Option<u64>) -> Result<Live, Halt> {
    let mut live = match cleanup {
        None => begun::<W>(who, entries)?,
        Some(began) => cleaning::<W>(who, entries, began)?,
    };
    live.is_replayed = true;
    let from = usize::try_from(live.told).unwrap_or(usize::MAX);
    let mut rest: Vec<&Entry> = entries.get(from..).unwrap_or_default().iter().collect();
    if Bug::ReadyAtFirstPoll.planted() {
        live.told = entries.len() as u64;
        rest.drain(..).for_each(|entry| live.tell_early(entry));
    }
    live.core.with_versions(|versions| versions.is_replay = true);
    live.rest_in_replay(entries)?;
    for index in 0..rest.len() {
        live.redecide(&mut rest[index..]);
        if matches!(rest[index].what, What::Ended(_) | What::UndoBegan(_)) {
            break;
        }
        live.tell(rest[index])?;
        live.rest_in_replay(entries)?;
    }
    live.core.with_versions(|versions| versions.is_replay = false);
    live.is_replayed = false;
    Ok(live)
}

/// Two planted bugs.
impl Live {
    fn tell_early(&self, entry: &Entry) {
        if let Some(recorded) = entry.recorded() {
            self.core.tell_early(entry.op_text(), recorded);
        }
    }

    /// Delivers the second of two entries before the first, if the body waits for both.
    fn redecide(&self, rest: &mut [&Entry]) {
        if Bug::WinnerRedecided.planted()
            && let [first, second, ..] = rest
            && self.open().any(|(op, _)| Some(op) == second.op.as_ref())
        {
            std::mem::swap(first, second);
        }
    }
}

/// Why a replay fails.
pub(super) enum Halt {
    Diverged(Divergence),
    Panicked { message: String, entry: u64 },
}

impl From<Divergence> for Halt {
    fn from(divergence: Divergence) -> Self {
        Self::Diverged(divergence)
    }
}

fn begun<W: Workflow>(who: &Identity, entries: &[Entry]) -> Result<Live, Halt> {
    let Some((at, input)) = entries.first().and_then(|entry| Some((entry.at, entry.input()?))) else {
        return Err(Divergence::unreadable(0, "its start", "the journal does not begin with one").into());
    };
    let mut live = Live::begin::<W>(who, input.get().as_bytes(), Millis(at))
        .map_err(|reason| Divergence::unreadable(0, "its input", &reason))?;
    live.told = 1;
    Ok(live)
}

fn cleaning<W: Workflow>(who: &Identity, entries: &[Entry], began: u64) -> Result<Live, Halt> {
    let entry = usize::try_from(began).ok().and_then(|began| entries.get(began));
    let Some(Entry { at, what: What::CancelBegan(state), .. }) = entry else {
        return Err(Divergence::unreadable(began, "the beginning of its end", "the journal has none there").into());
    };
    let state = W::codec()
        .read(state.get().as_bytes())
        .map_err(|reason| Divergence::unreadable(began, "its state", &reason))?;
    let live = Live::cleanup::<W>(who, state, Millis(*at));
    let mut live =
        live.ok_or_else(|| Divergence::unreadable(began, "its end", "there is no `#[cancelled]` body any more"))?;
    live.told = began + 1;
    Ok(live)
}

impl Live {
    /// Polls the body to its rest within a replay. The body must still wait, unless the next entry is the
    /// end of the run.
    fn rest_in_replay(&mut self, entries: &[Entry]) -> Result<(), Halt> {
        let rest = self.poll();
        self.take_moves();
        self.core.take_state_changed();
        let next = usize::try_from(self.told).ok().and_then(|told| entries.get(told));
        match rest {
            Rest::Waits => Ok(()),
            Rest::Panicked(message) => Err(Halt::Panicked { message, entry: self.told }),
            Rest::Stopped(Stop::Unreadable(op, reason)) => {
                Err(Divergence::unreadable(self.told.saturating_sub(1), &format!("`{op}`"), &reason).into())
            }
            Rest::Stopped(Stop::Continue(_)) => Err(Divergence::continues(self.told, next).into()),
            Rest::Stopped(Stop::Unsupported(unsupported)) => Err(unsupported.divergence(self.told).into()),
            Rest::Ended(ended) => self.ended_in_replay(end_of(ended, self.is_cleanup), next),
            Rest::Stopped(Stop::Fault(fault)) => self.ended_in_replay(fault_of(fault, self.is_cleanup), next),
        }
    }

    fn ended_in_replay(&mut self, end: End, next: Option<&Entry>) -> Result<(), Halt> {
        if !matches!(next, Some(Entry { what: What::Ended(_) | What::UndoBegan(_), .. })) {
            return Err(Divergence::ended_early(self.told, next).into());
        }
        self.ended = Some(end);
        Ok(())
    }
}

/// Checks that the body waits for exactly what the record has pending, after a replay of `entries` entries.
/// An edit after the last journal entry is an edit, too.
pub(super) fn check_waits(
    live: &Live,
    entries: u64,
    waits: &[(&OpId, u64)],
    untold: &[Entry],
) -> Result<(), Divergence> {
    let is_told_next = |op: &OpId| untold.iter().any(|entry| entry.op.as_ref() == Some(op));
    let asked: BTreeSet<(&OpId, u64)> = live.open().filter(|(op, _)| !is_told_next(op)).collect();
    let known: BTreeSet<_> = waits.iter().copied().collect();
    let added = asked.iter().find(|ask| !known.contains(ask)).map(|(op, _)| *op);
    let missing = waits.iter().find(|wait| !asked.contains(wait)).map(|(op, _)| *op);
    if added.is_none() && missing.is_none() {
        return Ok(());
    }
    Err(Divergence::waits_otherwise(entries, missing, added))
}

/// The end of a run by its body's return value.
pub(super) fn end_of(ended: Result<Bytes, Thrown>, is_cleanup: bool) -> End {
    match ended {
        Ok(_) if is_cleanup => End::Cancelled(None),
        Err(thrown) if is_cleanup => End::Cancelled(Some(told_of(&thrown))),
        Ok(value) => decode(&value).map_or_else(|reason| unrecordable(&reason), End::Succeeded),
        Err(Thrown::Failed(error)) => decode(&error).map_or_else(|reason| unrecordable(&reason), End::Failed),
        Err(Thrown::Malformed(reason) | Thrown::Unwritable(reason)) => unrecordable(&reason),
        Err(Thrown::Unknown) => unrecordable("there is no such body"),
    }
}

/// The end of a run by an uncaught fault. A cancelled run ends as cancelled, whatever its cleanup does
/// (L3).
pub(super) fn fault_of(fault: Fault, is_cleanup: bool) -> End {
    if is_cleanup { End::Cancelled(Some(fault.to_string())) } else { End::Fault(fault) }
}

fn unrecordable(reason: &str) -> End {
    End::Fault(Fault { step: "run".to_owned(), cause: Cause::Refused { reason: reason.to_owned() } })
}

fn told_of(thrown: &Thrown) -> String {
    match thrown {
        Thrown::Failed(error) => decode::<Failure>(error)
            .map_or_else(|_| String::from_utf8_lossy(error).into_owned(), |failure| failure.to_string()),
        Thrown::Malformed(reason) | Thrown::Unwritable(reason) => reason.clone(),
        Thrown::Unknown => "there is no such body".to_owned(),
    }
}
