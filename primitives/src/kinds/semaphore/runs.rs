//! Permits that runs of workflows hold: each under the run's own name for it, so that one that is asked for again after a crash is found.
//!
//! A run asks by a call of its work, and lets go by a message of its commit. The two may meet the semaphore in the other order: the
//! code of the work may still run when the commit is durable. A run that has not heard that its permit was given therefore
//! *withdraws*: from then on nothing is given under that name, whenever it is asked for. No name is asked for anew after that.

use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use drystone_runtime::{Epoch, Range, Ticket};

use super::{
    Options, Record,
    permit::Granted,
    record::{HELD, Held, RUNS, UNTIL, WITHDRAWN, end_of, key_of, until_in},
    turns::{asked, live, put_held, take_back, written},
};
use crate::{
    Params, Timestamp, decode,
    kind::{Answer, Stop, Turn},
};

/// How long a name that was withdrawn is remembered: far longer than code outlives its work.
const WITHDRAWN_FOR: Duration = Duration::from_secs(60 * 60);

/// How many names each withdrawal forgets at most; as long as there are two, the lane does not grow for ever.
const FORGOTTEN_AT_ONCE: u32 = 2;

/// What a semaphore knows of a run's name for a permit.
#[derive(Debug, PartialEq)]
enum Known {
    Nothing,
    /// It holds the permit of this ticket, or waits for it.
    Asked(Ticket),
    Withdrawn,
}

impl Options {
    /// A permit for a run. The one that it holds already goes to whoever asks now: the one who asked before is gone, and takes nothing with it.
    pub(super) fn acquire_as(&self, turn: &mut Turn<'_, Record>, body: &[u8]) -> Result<Answer, Stop> {
        let caller = asked(turn)?;
        let (weight, holder): (u64, String) = Params::two(body).map_err(Stop::Malformed)?;
        let ticket = match known(turn, &holder)? {
            Known::Withdrawn => return Err(Stop::Malformed("the run has let this permit go".to_owned())),
            Known::Nothing => return self.give(turn, caller, (weight, Some(holder)), true),
            Known::Asked(ticket) => ticket,
        };
        let Some(held) = live(turn, ticket)? else {
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
        // The permits of a rate limit come back with time alone (S3).
        let Known::Asked(ticket) = known(turn, &holder)? else { return Answer::value(&false) };
        let is_released = !self.is_rate() && take_back(turn, ticket)?;
        if is_released {
            let more = self.refresh(turn, None)?;
            self.settle(turn, more);
        }
        Answer::value(&is_released)
    }

    /// The same for a permit of which the run has not heard whether it was given.
    pub(super) fn withdraw_as(&self, turn: &mut Turn<'_, Record>, body: &[u8]) -> Result<Answer, Stop> {
        let holder: String = Params::one(body).map_err(Stop::Malformed)?;
        if let Known::Asked(ticket) = known(turn, &holder)? {
            self.left(turn, ticket)?;
        }
        forget_withdrawn(turn)?;
        turn.put(WITHDRAWN, withdrawn_key(turn.now.into(), &holder), Bytes::from_static(b"null"));
        turn.put(RUNS, holder.into_bytes(), written(&None::<(u32, u64)>)?);
        Answer::value(&())
    }
}

fn known(turn: &Turn<'_, Record>, holder: &str) -> Result<Known, Stop> {
    let key = Bytes::copy_from_slice(holder.as_bytes());
    let rows = turn.rows(Range::at(RUNS, key.clone()))?;
    let Some(row) = rows.first().filter(|row| row.key == key) else { return Ok(Known::Nothing) };
    let ticket: Option<(u32, u64)> = decode(&row.body).map_err(Stop::Malformed)?;
    Ok(ticket.map_or(Known::Withdrawn, |(epoch, number)| Known::Asked(Ticket { epoch: Epoch(epoch), number })))
}

/// Forgets names that were withdrawn long ago.
fn forget_withdrawn(turn: &mut Turn<'_, Record>) -> Result<(), Stop> {
    let now = turn.now.into();
    for row in turn.rows(Range::first(WITHDRAWN, FORGOTTEN_AT_ONCE))? {
        if until_in(&row.key)?.after(WITHDRAWN_FOR) > now {
            break;
        }
        turn.remove(RUNS, row.key.slice(8..));
        turn.remove(WITHDRAWN, row.key.clone());
    }
    Ok(())
}

/// The key under which a withdrawal is found by its age.
fn withdrawn_key(at: Timestamp, holder: &str) -> Bytes {
    let mut key = BytesMut::with_capacity(8 + holder.len());
    key.put_i64(at.as_millis());
    key.put_slice(holder.as_bytes());
    key.freeze()
}
