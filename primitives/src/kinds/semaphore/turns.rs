//! The turns of a semaphore. Each turn first takes back permits that have ended, then serves the line, then
//! does what was asked. So at every commit the permits that are out and have not ended fit (S5), and nobody
//! overtakes the first in line.

use bytes::Bytes;
use drystone_runtime::{Epoch, Error, Range, Row, Status as Phase, Ticket};

use super::{
    Options, Record,
    permit::{Granted, Refused},
    record::{HELD, Held, RUNS, Stats, UNTIL, Waits, at, end_of, found, key_of, ticket_in, until_in},
};
use crate::{
    Params, Timestamp, decode, encode,
    kind::{Answer, Stop, Turn},
    planted::Bug,
};

/// How many ended permits one turn takes back, and how many waiting callers it serves. Together they change
/// less than 1,000 rows (K3). The rest follows at once, in turns of their own.
pub(super) const SLICE: u32 = 128;

/// How long the permit of a run lasts: until the run releases it.
const FOR_EVER: std::time::Duration = std::time::Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// How many callers may wait. Each of them takes memory.
pub(super) const WAITING_MAX: u64 = 1_024;

/// How many holders and waiting callers `stats` shows.
const SHOWN_MAX: u32 = 32;

/// The name under which waiting callers are held. Each is answered by its ticket.
pub(super) const LINE: &str = "line";

impl Options {
    pub(super) fn acquire(&self, turn: &mut Turn<'_, Record>, body: &[u8], waits: bool) -> Result<Answer, Stop> {
        let caller = asked(turn)?;
        let weight: u64 = Params::one(body).map_err(Stop::Malformed)?;
        self.give(turn, caller, (weight, None), waits)
    }

    /// Gives a permit, or a place in the line.
    pub(super) fn give(
        &self,
        turn: &mut Turn<'_, Record>,
        caller: Ticket,
        (weight, holder): (u64, Option<String>),
        waits: bool,
    ) -> Result<Answer, Stop> {
        if weight == 0 {
            return Err(Stop::Malformed("a permit weighs at least 1".to_owned()));
        }
        if weight > self.permits {
            return Err(Stop::failed(&Refused::TooHeavy { weight, permits: self.permits }));
        }
        let more = self.refresh(turn, None)?;
        let overtakes = turn.record.waiting > 0 && (waits || !Bug::Barging.planted());
        let answer = if !overtakes && self.fits(&turn.record, weight) {
            Answer::value(&Some(self.grant(turn, caller, weight, holder)?))?
        } else if waits {
            stand_in_line(turn, caller, weight, holder)?
        } else {
            Answer::value(&None::<Granted>)?
        };
        self.settle(turn, more);
        Ok(answer)
    }

    pub(super) fn release(&self, turn: &mut Turn<'_, Record>, body: &[u8]) -> Result<Answer, Stop> {
        asked(turn)?;
        let ticket = ticket_of(body)?;
        // The permits of a rate limit come back by time alone (S3).
        let is_released = !self.is_rate() && take_back(turn, ticket)?;
        if is_released {
            let more = self.refresh(turn, None)?;
            self.settle(turn, more);
        }
        Answer::value(&is_released)
    }

    /// Renews a permit: it lasts for a lease from now on. The answer is the new end, or `None` if the permit
    /// has ended.
    pub(super) fn renew(&self, turn: &mut Turn<'_, Record>, body: &[u8]) -> Result<Answer, Stop> {
        asked(turn)?;
        let ticket = ticket_of(body)?;
        let held = match live(turn, ticket)? {
            Some(held) if !self.is_rate() => held,
            _ => return Answer::value(&None::<Timestamp>),
        };
        // Never earlier than before, even if the lease is shorter in changed code.
        let until = Timestamp::from(turn.now).after(self.span()).max(held.until);
        turn.remove(UNTIL, end_of(held.until, ticket));
        put_held(turn, ticket, &Held { until, ..held })?;
        turn.record.last = turn.record.last.max(until);
        self.settle(turn, false);
        Answer::value(&Some(until))
    }

    pub(super) fn stats(&self, turn: &Turn<'_, Record>) -> Result<Answer, Stop> {
        let line = turn.record.line();
        let ranges = [Range::first(UNTIL, SLICE), Range::first(HELD, SHOWN_MAX), Range::first(line, SHOWN_MAX)];
        let [ends, held, line] = turn.all_rows(ranges)?;
        let now = turn.now.into();
        let mut ended = 0;
        for row in ends {
            ended += if until_in(&row.key)? <= now { body_of::<u64>(row)? } else { 0 };
        }
        let held = held.iter().map(body_of::<Held>).collect::<Result<Vec<_>, _>>()?;
        let line = line.iter().map(body_of::<Waits>).collect::<Result<Vec<_>, _>>()?;
        // The callers in the line of an earlier owner have left.
        let is_own = turn.caller().is_none_or(|caller| caller.epoch.0 <= turn.record.epoch);
        Answer::value(&Stats {
            permits: self.permits,
            used: turn.record.used - ended,
            waiting: if is_own { turn.record.waiting } else { 0 },
            holders: held.into_iter().filter(|held| held.until > now).map(Into::into).collect(),
            line: line.into_iter().filter(|_| is_own).map(Into::into).collect(),
        })
    }

    /// Handles a caller that left. Its place in the line, or the permit that it did not take, goes to the
    /// next caller.
    pub(super) fn left(&self, turn: &mut Turn<'_, Record>, ticket: Ticket) -> Result<(), Stop> {
        if Bug::GoneIgnored.planted() {
            return Ok(());
        }
        let stood = leave_line(turn, ticket)?;
        if stood || take_back(turn, ticket)? {
            let more = self.refresh(turn, Some(ticket))?;
            self.settle(turn, more);
        }
        Ok(())
    }

    /// Takes back ended permits, and serves the line without the caller `without`, whose row is still stored
    /// although it has left. Returns whether more of the same is left to do.
    pub(super) fn refresh(&self, turn: &mut Turn<'_, Record>, without: Option<Ticket>) -> Result<bool, Stop> {
        expire(turn, self.is_rate())?;
        self.serve(turn, without)
    }

    /// Serves the waiting callers in order, as long as the first of them fits (S1).
    fn serve(&self, turn: &mut Turn<'_, Record>, without: Option<Ticket>) -> Result<bool, Stop> {
        if turn.record.waiting == 0 || turn.record.used >= self.permits {
            return Ok(false);
        }
        let line = turn.record.line();
        for (index, row) in turn.rows(Range::first(line.clone(), SLICE + 1))?.iter().enumerate() {
            let (ticket, Waits { weight, holder, .. }) = (ticket_in(&row.key)?, body_of(row)?);
            if Some(ticket) == without {
                continue;
            }
            if weight > self.permits {
                // There are fewer permits than when the caller asked.
                turn.refuse(ticket, &Refused::TooHeavy { weight, permits: self.permits });
            } else if self.fits(&turn.record, weight) {
                // A run releases nothing to a rate limit, so its name is not needed any more.
                if let Some(holder) = holder.as_ref().filter(|_| self.is_rate()) {
                    turn.remove(RUNS, holder.clone().into_bytes());
                }
                let granted = self.grant(turn, ticket, weight, holder)?;
                turn.answer(ticket, &Some(granted));
            } else {
                return Ok(false);
            }
            turn.remove(line.clone(), row.key.clone());
            turn.record.waiting -= 1;
            if index as u32 >= SLICE - 1 {
                return Ok(turn.record.waiting > 0);
            }
        }
        Ok(false)
    }

    fn fits(&self, record: &Record, weight: u64) -> bool {
        let weight = if Bug::WeightForgotten.planted() { 1 } else { weight };
        record.used + weight <= self.permits
    }

    fn grant(
        &self,
        turn: &mut Turn<'_, Record>,
        ticket: Ticket,
        weight: u64,
        holder: Option<String>,
    ) -> Result<Granted, Stop> {
        let (since, token) = (turn.now.into(), turn.record.next_token(turn.now));
        let holder = holder.filter(|_| !self.is_rate());
        let until = Timestamp::after(since, if holder.is_some() { FOR_EVER } else { self.span() });
        let held = Held { token, weight, since, until, holder };
        put_held(turn, ticket, &held)?;
        turn.record.is_out(weight, until);
        let lease = (!self.is_rate()).then(|| self.span().as_millis() as u64);
        Ok(Granted { epoch: ticket.epoch.0, number: ticket.number, token, weight, until, lease })
    }

    /// Sets status and alarm. While a caller waits, the alarm is the next end of a permit. Otherwise no
    /// caller wants what comes back, and the alarm is a time at which all permits that are out may have
    /// ended. So a rate limit does not wake for each permit.
    pub(super) fn settle(&self, turn: &mut Turn<'_, Record>, more: bool) {
        let Record { used, waiting, first, last, .. } = turn.record;
        let standing = turn.alarm().filter(|at| *at > turn.now);
        turn.set_alarm(match () {
            () if more => Some(turn.now),
            () if used == 0 => None,
            () if waiting > 0 => Some(first.into()),
            () => standing.or(Some(last.into())),
        });
        turn.set_status(if used > 0 { Phase::live("held") } else { Phase::resting("idle") });
    }
}

/// Returns the caller. The line of an earlier owner is dropped, because its callers have left.
pub(super) fn asked(turn: &mut Turn<'_, Record>) -> Result<Ticket, Stop> {
    let caller = turn.caller().ok_or_else(|| {
        Stop::Malformed("a permit is for somebody who waits for it: it cannot be asked for by a message".to_owned())
    })?;
    if caller.epoch.0 < turn.record.epoch {
        // A later owner has written this record, so this turn will not be kept.
        return Err(Stop::Refuse(Error::Unknown { key: turn.key().clone() }));
    }
    if caller.epoch.0 > turn.record.epoch {
        if turn.record.waiting > 0 {
            turn.drop_lane(turn.record.line(), false);
        }
        (turn.record.waiting, turn.record.epoch) = (0, caller.epoch.0);
    }
    Ok(caller)
}

fn stand_in_line(
    turn: &mut Turn<'_, Record>,
    caller: Ticket,
    weight: u64,
    holder: Option<String>,
) -> Result<Answer, Stop> {
    if turn.record.waiting >= WAITING_MAX {
        return Err(Stop::failed(&Refused::Crowded { waiting: turn.record.waiting }));
    }
    if let Some(holder) = &holder {
        turn.put(RUNS, holder.clone().into_bytes(), written(&(caller.epoch.0, caller.number))?);
    }
    let waits = Waits { weight, since: turn.now.into(), holder };
    turn.put(turn.record.line(), key_of(caller), written(&waits)?);
    turn.record.waiting += 1;
    Ok(Answer::Held(LINE.into()))
}

/// Takes a caller that left out of the line. Returns whether it was in the line.
fn leave_line(turn: &mut Turn<'_, Record>, ticket: Ticket) -> Result<bool, Stop> {
    if turn.record.waiting == 0 || ticket.epoch != Epoch(turn.record.epoch) {
        return Ok(false);
    }
    let line = turn.record.line();
    let [row] = turn.all_rows([at(line.clone(), ticket)])?;
    let stood = found::<Waits>(row, ticket)?.is_some();
    if stood {
        turn.remove(line, key_of(ticket));
        turn.record.waiting -= 1;
    }
    Ok(stood)
}

/// Takes a permit back before its end. Returns whether it was out. A permit that has ended is taken back by
/// `expire`.
pub(super) fn take_back(turn: &mut Turn<'_, Record>, ticket: Ticket) -> Result<bool, Stop> {
    let Some(held) = live(turn, ticket)? else {
        if Bug::LateRelease.planted() {
            turn.record.used = turn.record.used.saturating_sub(1);
        }
        return Ok(false);
    };
    turn.remove(HELD, key_of(ticket));
    turn.remove(UNTIL, end_of(held.until, ticket));
    if let Some(holder) = held.holder {
        turn.remove(RUNS, holder.into_bytes());
    }
    turn.record.used -= held.weight;
    Ok(true)
}

/// Returns the permit of a ticket, if it has not ended.
pub(super) fn live(turn: &Turn<'_, Record>, ticket: Ticket) -> Result<Option<Held>, Stop> {
    let now = turn.now.into();
    let held = found::<Held>(turn.rows(at(HELD, ticket))?, ticket)?;
    Ok(held.filter(|held| held.until > now))
}

/// Takes back permits that have ended (S2), the first to end first.
fn expire(turn: &mut Turn<'_, Record>, is_rate: bool) -> Result<(), Stop> {
    let now = turn.now.into();
    if turn.record.used == 0 || turn.record.first > now || Bug::ExpiredKept.planted() {
        return Ok(());
    }
    let (rows, mut back) = (turn.rows(Range::first(UNTIL, SLICE + 1))?, 0);
    for (index, row) in rows.iter().enumerate() {
        turn.record.first = until_in(&row.key)?;
        if turn.record.first > now || index as u32 == SLICE {
            break;
        }
        turn.remove(UNTIL, row.key.clone());
        turn.remove(HELD, key_of(ticket_in(&row.key)?));
        back += body_of::<u64>(row)?;
    }
    turn.record.used -= back;
    if back > 0 && !is_rate {
        turn.emit("semaphore.expired", &serde_json::json!({ "weight": back }));
    }
    Ok(())
}

pub(super) fn put_held(turn: &mut Turn<'_, Record>, ticket: Ticket, held: &Held) -> Result<(), Stop> {
    turn.put(HELD, key_of(ticket), written(held)?);
    turn.put(UNTIL, end_of(held.until, ticket), written(&held.weight)?);
    if let Some(holder) = &held.holder {
        turn.put(RUNS, holder.clone().into_bytes(), written(&(ticket.epoch.0, ticket.number))?);
    }
    Ok(())
}

fn ticket_of(body: &[u8]) -> Result<Ticket, Stop> {
    let (epoch, number) = Params::two(body).map_err(Stop::Malformed)?;
    Ok(Ticket { epoch: Epoch(epoch), number })
}

fn body_of<T: crate::Stored>(row: &Row) -> Result<T, Stop> {
    decode(&row.body).map_err(Stop::Malformed)
}

pub(super) fn written<T: crate::Stored>(value: &T) -> Result<Bytes, Stop> {
    encode(value).map_err(Stop::Malformed)
}
