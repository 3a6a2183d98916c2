//! Permits that runs of workflows hold: each under the run's own name for it, so that one that is asked for again after a crash is found.

use bytes::Bytes;
use drystone_runtime::{Epoch, Range, Ticket};

use super::{
    Options, Record,
    permit::Granted,
    record::{HELD, Held, RUNS, UNTIL, end_of, key_of},
    turns::{asked, live, put_held, take_back},
};
use crate::{
    Params, decode,
    kind::{Answer, Stop, Turn},
};

impl Options {
    /// A permit for a run. The one that it holds already goes to whoever asks now: the one who asked before is gone, and takes nothing with it.
    pub(super) fn acquire_as(&self, turn: &mut Turn<'_, Record>, body: &[u8]) -> Result<Answer, Stop> {
        let caller = asked(turn)?;
        let (weight, holder): (u64, String) = Params::two(body).map_err(Stop::Malformed)?;
        let Some((ticket, held)) = held_by(turn, &holder)? else {
            return self.give(turn, caller, (weight, Some(holder)), true);
        };
        turn.remove(HELD, key_of(ticket));
        turn.remove(UNTIL, end_of(held.until, ticket));
        put_held(turn, caller, &held)?;
        let Held { token, weight, until, .. } = held;
        let (epoch, number) = (caller.epoch.0, caller.number);
        Answer::value(&Some(Granted { epoch, number, token, weight, until, lease: None }))
    }

    /// A run lets its permit go; also by a message, with the commit in which it does.
    pub(super) fn release_as(&self, turn: &mut Turn<'_, Record>, body: &[u8]) -> Result<Answer, Stop> {
        let holder: String = Params::one(body).map_err(Stop::Malformed)?;
        let is_released = match held_by(turn, &holder)? {
            Some((ticket, _)) => take_back(turn, ticket)?,
            None => false,
        };
        if is_released {
            let more = self.refresh(turn, None)?;
            self.settle(turn, more);
        }
        Answer::value(&is_released)
    }
}

/// The permit that a run holds.
fn held_by(turn: &Turn<'_, Record>, holder: &str) -> Result<Option<(Ticket, Held)>, Stop> {
    let key = Bytes::copy_from_slice(holder.as_bytes());
    let rows = turn.rows(Range::at(RUNS, key.clone()))?;
    let Some(row) = rows.first().filter(|row| row.key == key) else { return Ok(None) };
    let (epoch, number) = decode(&row.body).map_err(Stop::Malformed)?;
    let ticket = Ticket { epoch: Epoch(epoch), number };
    Ok(live(turn, ticket)?.map(|held| (ticket, held)))
}
