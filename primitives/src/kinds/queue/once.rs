//! Dedup keys: within its window a key enqueues only once (Q4).
//!
//! A key has two rows: one by the key, to find it, and one by the time at which it expires, to remove it.

use drystone_runtime::{Millis, Range, RowKey};
use serde::{Deserialize, Serialize};

use super::{
    Record,
    place::{FADES, ONCE},
    verbs::Dedup,
};
use crate::{
    Timestamp, d, decode, encode,
    kind::{Stop, Turn},
    planted::Bug,
};

/// The longest dedup key. The row by time has a longer row key, and row keys are limited, too.
const KEY_BYTES_MAX: usize = 512;

/// How long expired keys may stay, so that many are removed together.
const LINGER: std::time::Duration = d!("1m");

/// How many keys one turn removes, two rows each.
const SLICE: u32 = 200;

/// The items that were enqueued under a key.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Before {
    pub(super) first: u64,
    pub(super) count: u64,
    until: Timestamp,
}

/// Returns the items that were enqueued under this key within the key's window.
pub(super) fn before(turn: &Turn<'_, Record>, dedup: &Dedup) -> Result<Option<Before>, Stop> {
    if dedup.key.is_empty() || dedup.key.len() > KEY_BYTES_MAX {
        return Err(Stop::Malformed(format!("a dedup key has 1 to {KEY_BYTES_MAX} bytes")));
    }
    let now = turn.now.into();
    Ok(stored(turn, dedup)?.filter(|before| before.until > now && !Bug::WindowForgotten.planted()))
}

fn stored(turn: &Turn<'_, Record>, dedup: &Dedup) -> Result<Option<Before>, Stop> {
    if turn.id().is_none() {
        return Ok(None);
    }
    let found = turn.rows(Range::at(ONCE, dedup.key.clone()))?.first();
    let row = found.filter(|row| row.key == dedup.key.as_bytes());
    row.map(|row| decode(&row.body)).transpose().map_err(Stop::Malformed)
}

/// Records the items that are enqueued under a key.
pub(super) fn remember(turn: &mut Turn<'_, Record>, dedup: &Dedup, (first, count): (u64, u64)) -> Result<(), Stop> {
    // An expired key that was not removed yet: its row by time would later remove the new key.
    if let Some(old) = stored(turn, dedup)? {
        turn.remove(FADES, fade_key(old.until, &dedup.key));
    }
    let until = turn.now.after(dedup.window()).into();
    let row = encode(&Before { first, count, until }).map_err(Stop::Malformed)?;
    turn.put(ONCE, dedup.key.clone(), row);
    turn.put(FADES, fade_key(until, &dedup.key), bytes::Bytes::new());
    let lets_go = until.after(LINGER);
    let first = turn.record.fade_at.map_or(lets_go, |at| at.min(lets_go));
    turn.record.fade_at = Some(first);
    Ok(())
}

/// Removes expired keys, if it is time for that.
pub(super) fn fade(turn: &mut Turn<'_, Record>) -> Result<(), Stop> {
    let now: Timestamp = turn.now.into();
    if turn.record.fade_at.is_none_or(|at| at > now) {
        return Ok(());
    }
    let rows = turn.rows(Range::first(FADES, SLICE + 1))?;
    let mut faded = 0;
    for row in rows.iter().take(SLICE as usize) {
        let (until, key) = faded_key(&row.key)?;
        if until > now {
            break;
        }
        turn.remove(FADES, row.key.clone());
        turn.remove(ONCE, key);
        faded += 1;
    }
    turn.record.fade_at = match rows.get(faded) {
        Some(next) => Some(faded_key(&next.key)?.0.after(LINGER)),
        None => None,
    };
    Ok(())
}

fn fade_key(until: Timestamp, key: &str) -> RowKey {
    [&until.as_millis().to_be_bytes()[..], key.as_bytes()].concat().into()
}

fn faded_key(key: &RowKey) -> Result<(Timestamp, RowKey), Stop> {
    let until = key.first_chunk().map(|until| Millis(i64::from_be_bytes(*until)).into());
    until.map(|until| (until, key.slice(8..))).ok_or_else(|| Stop::Malformed("a fading key without its time".into()))
}
