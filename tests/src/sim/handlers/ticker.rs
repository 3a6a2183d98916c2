//! A ticker: runs a piece of work at every alarm, as a continuous primitive does. Each tick is one commit;
//! the alarm stays due until then.

use std::{pin::Pin, time::Duration};

use bytes::Bytes;
use drystone_runtime::{
    Borrow, Change, Commit, Cx, Entity, Handler, Hot, Input, Key, Millis, Needed, Next, Now, Outcome, Produced, Rows,
    Status, Ticket, Work,
};

use super::{
    Stage, answer,
    codec::{Reader, Record, Writer, pack, unpack},
    malformed, not_bound, unknown_verb,
};

/// The record of a ticker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Beat {
    /// The calls that the ticker has taken.
    pub asked: Vec<u64>,
    /// The number of the next tick, from 1.
    pub tick: u64,
    /// The attempt of this tick.
    pub attempt: u64,
    /// The number of failed attempts of this tick.
    pub failures: u64,
    /// The due time of the tick; `None` if the ticker was stopped or is done.
    pub due: Option<Millis>,
    /// The pause between two ticks, in milliseconds.
    pub period_ms: u64,
    /// The number of ticks left.
    pub left: u64,
}

/// The ticks that succeeded: the author's struct.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ticks(pub Vec<u64>);

impl Record for Beat {
    fn write(&self, out: &mut Writer) {
        out.numbers(&self.asked);
        let due = self.due.map_or(0, |due| due.0 as u64);
        [self.tick, self.attempt, self.failures, due, self.period_ms, self.left]
            .into_iter()
            .for_each(|value| out.number(value));
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            asked: from.numbers()?,
            tick: from.number()?,
            attempt: from.number()?,
            failures: from.number()?,
            due: Some(Millis(from.number()? as i64)).filter(|due| due.0 != 0),
            period_ms: from.number()?,
            left: from.number()?,
        })
    }
}

impl Record for Ticks {
    fn write(&self, out: &mut Writer) {
        out.numbers(&self.0);
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        from.numbers().map(Self)
    }
}

impl Beat {
    fn commit(&self) -> Commit {
        let status = if self.due.is_some() { Status::live("running") } else { Status::resting("stopped") };
        Commit {
            head: Some(self.encode()),
            alarm: self.due.map_or(Change::Clear, Change::Set),
            status: Some(status),
            ..Commit::default()
        }
    }

    /// Whether this attempt of this tick should be running.
    fn expects(&self, (tick, attempt): (u64, u64)) -> bool {
        self.due.is_some() && (tick, attempt) == (self.tick, self.attempt)
    }

    /// Ends a tick: the next one, if any, is due after the period.
    fn advance(&mut self, now: Millis) {
        (self.tick, self.attempt, self.failures) = (self.tick + 1, 1, 0);
        self.left = self.left.saturating_sub(1);
        // A ticker that was stopped during the tick stays stopped, and keeps the state (C3).
        self.due = self.due.filter(|_| self.left > 0).map(|_| now.after(Duration::from_millis(self.period_ms)));
    }

    fn again(&mut self, now: Millis) {
        (self.attempt, self.failures) = (self.attempt + 1, self.failures + 1);
        self.due = self.due.map(|_| now.after(Duration::from_millis(40)));
    }
}

/// The handler.
pub(super) struct Ticker(pub(super) Stage);

impl Handler for Ticker {
    fn borrow(&self, _: &str) -> Borrow {
        Borrow::None
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
        let Some(beat) = Beat::decode(entity.map_or(&[], |entity| &entity.head)) else {
            return Next::Park("no beat".to_owned());
        };
        match input {
            Input::Call { verb, body, ticket, .. } => asked(entity, beat, verb, body, *ticket, now),
            Input::Done { work, attempt, outcome, .. } => {
                let tick = work.as_str().trim_start_matches("tick/").parse().expect("ticks are numbered");
                let late = (tick, u64::from(*attempt));
                self.0.judges(entity, work, *attempt, outcome);
                if beat.expects(late) {
                    return Next::Commit(ended(beat, outcome, now));
                }
                self.0.late_end(entity, work, *attempt);
                Next::nothing()
            }
            _ => Next::nothing(),
        }
    }

    fn work(&self, _: &mut Hot, entity: &Entity, _: &Rows, now: Millis) -> Needed<Vec<Work>> {
        let beat = Beat::decode(&entity.head).unwrap_or_default();
        let due = beat.due.is_some_and(|due| due <= now);
        let work = due.then(|| Work {
            attempt: beat.attempt as u32,
            borrow: Borrow::Exclusive,
            timeout: Some(Duration::from_millis(300)),
            ..Work::new(name(beat.tick))
        });
        Needed::Ready(work.into_iter().collect())
    }

    fn run(
        &self,
        _: &mut Hot,
        entity: Option<&Entity>,
        work: &Work,
        cx: Cx,
    ) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        self.0.begins(entity, work, &cx);
        let entity = entity.expect("only existing entities tick");
        self.0.world.witness.ticks(entity, &cx);
        let mut ticks = Ticks::decode(&entity.state).unwrap_or_default();
        let tick = Beat::decode(&entity.head).unwrap_or_default().tick;
        let end = move || {
            ticks.0.push(tick);
            Outcome::Ok(Produced { state: Some(ticks.encode()), ..Produced::default() })
        };
        Box::pin(self.0.clone().play(cx, work.clone(), end))
    }
}

fn name(tick: u64) -> String {
    format!("tick/{tick}")
}

fn asked(entity: Option<&Entity>, mut beat: Beat, verb: &str, body: &Bytes, ticket: Ticket, now: Millis) -> Next {
    match (verb, unpack(body), unpack(body)) {
        ("begin", Some([number, period_ms, count]), _) => {
            beat.asked.push(number);
            if beat.due.is_none() {
                (beat.tick, beat.attempt) = (beat.tick.max(1), beat.attempt + 1);
                (beat.period_ms, beat.left) = (period_ms, count);
                beat.due = Some(now.after(Duration::from_millis(period_ms)));
            }
        }
        ("stop", _, Some([_])) if entity.is_none() => return not_bound(),
        ("stop", _, Some([number])) => {
            beat.asked.push(number);
            beat.due = None;
        }
        ("begin" | "stop", _, _) => return malformed(verb),
        _ => return unknown_verb("ticker", verb),
    }
    let replies = answer(Some(ticket), Ok(pack(&[beat.asked.len() as u64])));
    Next::Commit(Commit { replies, ..beat.commit() })
}

fn ended(mut beat: Beat, outcome: &Outcome, now: Millis) -> Commit {
    match outcome {
        Outcome::Ok(produced) => {
            beat.advance(now);
            Commit { state: produced.state.clone(), ..beat.commit() }
        }
        // A failed tick has three attempts in all, whatever the failure.
        _ if beat.failures < 2 => {
            beat.again(now);
            beat.commit()
        }
        _ => {
            beat.advance(now);
            beat.commit()
        }
    }
}
