//! An alarmist: sets alarms, and records when each was due and when it rang.

use std::{pin::Pin, time::Duration};

use bytes::Bytes;
use drystone_runtime::{
    Borrow, Change, Commit, Cx, Entity, Handler, Hot, Input, Key, Millis, Needed, Next, Now, Outcome, Rows, Status,
    Ticket, Work,
};

use super::{
    answer,
    codec::{Reader, Record, Writer, pack, unpack},
    malformed, unknown_verb,
};

/// The record of an alarmist. Alarms are numbered from 1. Each is in exactly one state: pending, rung or
/// replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alarms {
    /// The calls that the alarmist has taken.
    pub asked: Vec<u64>,
    /// The number of alarms so far.
    pub armed: u64,
    /// The due time of the last alarm, until it rings.
    pub due: Option<Millis>,
    /// How many more times it sets the alarm again when the alarm rings.
    pub left: u64,
    /// The delay of these alarms.
    pub period_ms: u64,
    /// The alarms that rang: number, due time, and time of ringing.
    pub rung: Vec<(u64, Millis, Millis)>,
    /// The alarms replaced before they rang.
    pub replaced: Vec<u64>,
}

impl Record for Alarms {
    fn write(&self, out: &mut Writer) {
        out.numbers(&self.asked);
        out.number(self.armed);
        out.number(self.due.map_or(0, |due| due.0 as u64));
        out.number(self.left);
        out.number(self.period_ms);
        out.list(&self.rung, |out, (number, due, at)| {
            [*number, due.0 as u64, at.0 as u64].into_iter().for_each(|value| out.number(value));
        });
        out.numbers(&self.replaced);
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            asked: from.numbers()?,
            armed: from.number()?,
            due: Some(Millis(from.number()? as i64)).filter(|due| due.0 != 0),
            left: from.number()?,
            period_ms: from.number()?,
            rung: from.list(|from| Some((from.number()?, time(from)?, time(from)?)))?,
            replaced: from.numbers()?,
        })
    }
}

fn time(from: &mut Reader<'_>) -> Option<Millis> {
    from.number().map(|value| Millis(value as i64))
}

impl Alarms {
    fn arm(&mut self, due: Millis) {
        if self.due.is_some() {
            self.replaced.push(self.armed);
        }
        self.armed += 1;
        self.due = Some(due);
    }

    fn rings(&mut self, due: Millis, now: Millis) {
        self.rung.push((self.armed, due, now));
        self.due = None;
        if self.left > 0 {
            self.left -= 1;
            self.arm(now.after(Duration::from_millis(self.period_ms)));
        }
    }

    /// Makes the commit, with state and alarm together (E7).
    fn commit(&self) -> Commit {
        let status = if self.due.is_some() { Status::live("armed") } else { Status::resting("silent") };
        Commit {
            state: Some(self.encode()),
            alarm: self.due.map_or(Change::Clear, Change::Set),
            status: Some(status),
            ..Commit::default()
        }
    }
}

/// The handler.
pub(super) struct Alarmist;

impl Handler for Alarmist {
    fn borrow(&self, _: &str) -> Borrow {
        Borrow::Exclusive
    }

    fn turn(
        &self,
        _: &mut Hot,
        _: &Key,
        entity: Option<&Entity>,
        _: &Rows,
        input: &Input,
        Now { at: now, .. }: Now,
    ) -> Next {
        let Some(mut alarms) = Alarms::decode(entity.map_or(&[], |entity| &entity.state)) else {
            return Next::Park("no alarms".to_owned());
        };
        match input {
            Input::Call { verb, body, ticket, .. } => asked(alarms, verb, body, *ticket, now),
            // A stale alarm does nothing (A7).
            Input::Alarm { at } if alarms.due.is_some() => {
                alarms.rings(*at, now);
                Next::Commit(alarms.commit())
            }
            _ => Next::nothing(),
        }
    }

    fn work(&self, _: &mut Hot, _: &Entity, _: &Rows, _: Millis) -> Needed<Vec<Work>> {
        Needed::Ready(Vec::new())
    }

    fn run(&self, _: &mut Hot, _: Option<&Entity>, _: &Work, _: Cx) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        unreachable!("an alarmist lists no work")
    }
}

/// Handles `arm`. The body has the number of the call, the delay, and the number of repetitions.
fn asked(mut alarms: Alarms, verb: &str, body: &Bytes, ticket: Ticket, now: Millis) -> Next {
    let Some([number, after_ms, again]) = unpack(body) else { return malformed(verb) };
    if verb != "arm" {
        return unknown_verb("alarmist", verb);
    }
    alarms.asked.push(number);
    (alarms.left, alarms.period_ms) = (again, after_ms);
    alarms.arm(now.after(Duration::from_millis(after_ms)));
    let replies = answer(Some(ticket), Ok(pack(&[alarms.asked.len() as u64])));
    Next::Commit(Commit { replies, ..alarms.commit() })
}
