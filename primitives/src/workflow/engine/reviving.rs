//! A body that has left memory, brought back: replayed, and held against what the record says it waits for.

use super::super::{
    Workflow,
    journal::Entry,
    live::{Identity, Live},
    record::Record,
    replay::{Halt, check_waits, replay},
};

/// The body as the journal left it. `entries` is the whole journal; what the body was not told of it is not told here either.
pub(super) fn revived<W: Workflow>(who: &Identity, record: &Record, entries: &[Entry]) -> Result<Live, Halt> {
    let told = usize::try_from(record.entries - record.untold).unwrap_or(usize::MAX).min(entries.len());
    let (told, untold) = entries.split_at(told);
    let cleanup = record.cancel.as_ref().and_then(|cancel| cancel.began);
    let mut live = replay::<W>(who, told, cleanup)?;
    live.generation = record.generation;
    let waits: Vec<_> = record.pending().map(|pending| (pending.op.as_str(), pending.hash)).collect();
    check_waits(&live, record.entries, &waits, untold)?;
    Ok(live)
}
