//! Permits of workflow runs. Each is stored under the run's own name for it, so that a run that asks again
//! after a crash finds its permit.
//!
//! A run asks by a call of its work, and releases by a message of its commit. The two may reach the
//! semaphore in the other order, because the code of the work may still run when the commit is durable. A
//! run that does not know yet whether its permit was given therefore *withdraws*: from then on nothing is
//! given under that name, however late the call arrives. No run asks again under a withdrawn name.

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

/// How long a withdrawn name is remembered: far longer than code outlives its work.
const WITHDRAWN_FOR: Duration = Duration::from_secs(60 * 60);

/// How many names each withdrawal forgets at most. Two are enough to keep the lane from growing forever.
const FORGOTTEN_AT_ONCE: u32 = 2;

/// The state of a run's name for a permit.
#[derive(Debug, PartialEq)]
enum Known {
    Nothing,
    /// The name has the permit of this ticket, or waits for it.
    Asked(Ticket),
    Withdrawn,
}

impl Options {
    /// Gives a permit to a run. A permit that the run holds already moves to the ticket of the present
    /// caller: the earlier caller is gone, and its leaving must not take the permit back.
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

    /// Releases the permit of a run; also by a message, in the commit in which the run releases it.
    pub(super) fn release_as(&self, turn: &mut Turn<'_, Record>, body: &[u8]) -> Result<Answer, Stop> {
        let holder: String = Params::one(body).map_err(Stop::Malformed)?;
        // The permits of a rate limit come back by time alone (S3).
        let Known::Asked(ticket) = known(turn, &holder)? else { return Answer::value(&false) };
        let is_released = !self.is_rate() && take_back(turn, ticket)?;
        if is_released {
            let more = self.refresh(turn, None)?;
            self.settle(turn, more);
        }
        Answer::value(&is_released)
    }

    /// Withdraws the name of a run that does not know whether its permit was given, and releases the permit.
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

/// Returns the key under which a withdrawal is found by its age.
fn withdrawn_key(at: Timestamp, holder: &str) -> Bytes {
    let mut key = BytesMut::with_capacity(8 + holder.len());
    key.put_i64(at.as_millis());
    key.put_slice(holder.as_bytes());
    key.freeze()
}
