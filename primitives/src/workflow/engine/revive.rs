//! The revival of a body that has left memory: the body is replayed and compared with what the record says
//! is pending.

use crate::workflow::{
    Workflow,
    record::Record,
    replay::{
        Halt, check_waits,
        journal::Entry,
        live::{Identity, Live},
        replay,
    },
};

/// Replays the body to where the journal left it. `entries` is the whole journal; entries that were not
/// delivered to the body before are not delivered here, either.
pub(super) fn revived<W: Workflow>(who: &Identity, record: &Record, entries: &[Entry]) -> Result<Live, Halt> {
    let told = usize::try_from(record.entries - record.untold).unwrap_or(usize::MAX).min(entries.len());
    let (told, untold) = entries.split_at(told);
    let cleanup = record.cancel.as_ref().and_then(|cancel| cancel.began);
    let mut live = replay::<W>(who, told, cleanup)?;
    live.generation = record.generation;
    let waits: Vec<_> = record.pending().map(|pending| (&pending.op, pending.hash)).collect();
    check_waits(&live, record.entries, &waits, untold)?;
    Ok(live)
}
