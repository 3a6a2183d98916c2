//! A body that has left memory, brought back: replayed, and held against what the record says it waits for.

use std::collections::BTreeSet;

use super::super::{
    Divergence, Workflow,
    journal::Entry,
    live::{Identity, Live},
    record::Record,
    replay::{Halt, replay},
};

/// The body as the journal left it. `entries` is the whole journal; what the body was not told of it is not told here either.
pub(super) fn revived<W: Workflow>(who: &Identity, record: &Record, entries: &[Entry]) -> Result<Live, Halt> {
    let told = usize::try_from(record.entries - record.untold).unwrap_or(usize::MAX).min(entries.len());
    let (told, untold) = entries.split_at(told);
    let cleanup = record.cancel.as_ref().and_then(|cancel| cancel.began);
    let mut live = replay::<W>(who, told, cleanup)?;
    live.generation = record.generation;
    check_pending(record, &live, untold)?;
    Ok(live)
}

/// What the body waits for after a replay is what the record says, and nothing else: an edit after the last entry of the
/// journal is an edit, too.
fn check_pending(record: &Record, live: &Live, untold: &[Entry]) -> Result<(), Divergence> {
    let is_told_next = |op: &str| untold.iter().any(|entry| entry.op == op);
    let asked: BTreeSet<(&str, u64)> = live.open().filter(|(op, _)| !is_told_next(op)).collect();
    let waits: BTreeSet<_> = record.pending.iter().map(|pending| (pending.op.as_str(), pending.hash)).collect();
    let added = asked.iter().find(|ask| !waits.contains(ask)).map(|(op, _)| *op);
    let missing = record.pending.iter().map(|pending| (pending.op.as_str(), pending.hash));
    let missing = missing.into_iter().find(|wait| !asked.contains(wait)).map(|(op, _)| op);
    if added.is_none() && missing.is_none() {
        return Ok(());
    }
    Err(Divergence::waits_otherwise(record.entries, missing, added))
}
