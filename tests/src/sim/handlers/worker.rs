//! A worker: runs pieces of work, some at a time, and records the end of each attempt.

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

/// The record of a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Job {
    /// The calls that the worker has taken.
    pub asked: Vec<u64>,
    /// The number of the job, from 1.
    pub job: u64,
    /// The number of pieces that run at once.
    pub width: u64,
    /// Whether the pieces borrow the struct exclusively.
    pub exclusive: bool,
    /// The pieces: the current attempt, and when it may start; `None` once the piece has ended.
    pub pieces: Vec<(u64, Option<Millis>)>,
    /// The attempts that have ended, in order.
    pub ended: Vec<Ended>,
}

/// An attempt that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The number of the job.
    pub job: u64,
    /// The number of the piece.
    pub piece: u64,
    /// The number of the attempt.
    pub attempt: u64,
    /// The end of the attempt.
    pub end: End,
}

/// The end of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum End {
    /// Success.
    Well = 0,
    /// An error.
    Failed = 1,
    /// A panic.
    Panicked = 2,
    /// A timeout.
    TimedOut = 3,
}

const ENDS: [End; 4] = [End::Well, End::Failed, End::Panicked, End::TimedOut];

impl From<&Outcome> for End {
    fn from(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Ok(_) => Self::Well,
            Outcome::Failed(_) | Outcome::Refused(_) => Self::Failed,
            Outcome::Panicked(_) => Self::Panicked,
            Outcome::TimedOut | Outcome::Silent => Self::TimedOut,
        }
    }
}

impl Record for Ended {
    fn write(&self, out: &mut Writer) {
        [self.job, self.piece, self.attempt, self.end as u64].into_iter().for_each(|value| out.number(value));
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        let (job, piece, attempt) = (from.number()?, from.number()?, from.number()?);
        Some(Self { job, piece, attempt, end: *ENDS.get(from.number()? as usize)? })
    }
}

impl Default for Ended {
    fn default() -> Self {
        Self { job: 0, piece: 0, attempt: 0, end: End::Well }
    }
}

impl Record for Job {
    fn write(&self, out: &mut Writer) {
        out.numbers(&self.asked);
        [self.job, self.width, u64::from(self.exclusive)].into_iter().for_each(|value| out.number(value));
        out.list(&self.pieces, |out, (attempt, from)| {
            out.number(*attempt);
            out.number(from.map_or(0, |from| from.0 as u64));
        });
        out.list(&self.ended, |out, ended| ended.write(out));
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            asked: from.numbers()?,
            job: from.number()?,
            width: from.number()?,
            exclusive: from.number()? == 1,
            pieces: from
                .list(|from| Some((from.number()?, Some(from.number()? as i64).filter(|at| *at != 0).map(Millis))))?,
            ended: from.list(Ended::read)?,
        })
    }
}

impl Job {
    /// Whether some piece has not ended.
    pub fn open(&self) -> bool {
        self.pieces.iter().any(|(_, from)| from.is_some())
    }

    /// Whether this attempt of this piece should be running.
    fn expects(&self, ended: &Ended) -> bool {
        let piece = self.pieces.get(ended.piece as usize);
        ended.job == self.job && piece.is_some_and(|(attempt, from)| *attempt == ended.attempt && from.is_some())
    }

    fn begin(&mut self, pieces: u64, width: u64, exclusive: bool, now: Millis) {
        self.job += 1;
        (self.width, self.exclusive) = (width, exclusive);
        self.pieces = vec![(1, Some(now)); pieces as usize];
    }

    fn take(&mut self, ended: Ended, now: Millis) {
        self.ended.push(ended);
        let Some(piece) = self.pieces.get_mut(ended.piece as usize) else { return };
        let final_end = ended.end == End::Well || ended.attempt >= 3;
        *piece = match final_end {
            true => (ended.attempt, None),
            false => (ended.attempt + 1, Some(now.after(Duration::from_millis(30)))),
        };
    }

    /// Makes the commit. The alarm is for pieces that wait for their next attempt; the others are listed
    /// right away.
    fn commit(&self, now: Millis) -> Commit {
        let waiting = self.pieces.iter().filter_map(|(_, from)| *from).filter(|from| *from > now).min();
        let status = if self.open() { Status::live("working") } else { Status::resting("done") };
        Commit {
            head: Some(self.encode()),
            alarm: waiting.map_or(Change::Clear, Change::Set),
            status: Some(status),
            ..Commit::default()
        }
    }
}

/// The handler.
pub(super) struct Worker(pub(super) Stage);

impl Handler for Worker {
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
        let Some(mut job) = Job::decode(entity.map_or(&[], |entity| &entity.head)) else {
            return Next::Park("no job".to_owned());
        };
        match input {
            Input::Call { verb, body, ticket, .. } => asked(entity, job, verb, body, *ticket, now),
            Input::Message { .. } if entity.is_none() => not_bound(),
            Input::Message { verb, .. } => unknown_verb("worker", verb),
            Input::Alarm { .. } => Next::Commit(job.commit(now)),
            Input::Done { work, attempt, outcome, .. } => {
                let (number, piece) = parse(work.as_str());
                let ended = Ended { job: number, piece, attempt: u64::from(*attempt), end: outcome.into() };
                self.0.judges(entity, work, *attempt, outcome);
                if !job.expects(&ended) {
                    self.0.late_end(entity, work, *attempt);
                    return Next::nothing();
                }
                job.take(ended, now);
                let state = if let Outcome::Ok(produced) = outcome { produced.state.clone() } else { None };
                Next::Commit(Commit { state, ..job.commit(now) })
            }
            _ => Next::nothing(),
        }
    }

    fn work(&self, _: &mut Hot, entity: &Entity, _: &Rows, now: Millis) -> Needed<Vec<Work>> {
        let job = Job::decode(&entity.head).unwrap_or_default();
        let may_run = |from: &Option<Millis>| from.is_some_and(|from| from <= now);
        let listed = job.pieces.iter().enumerate().filter(|(_, (_, from))| may_run(from));
        let work = listed.take(job.width as usize).map(|(piece, (attempt, _))| Work {
            attempt: *attempt as u32,
            borrow: if job.exclusive { Borrow::Exclusive } else { Borrow::None },
            timeout: Some(Duration::from_millis(250)),
            silence: (piece % 2 == 1).then_some(Duration::from_millis(150)),
            ..Work::new(format!("job{}/{piece}", job.job))
        });
        Needed::Ready(work.collect())
    }

    fn run(
        &self,
        _: &mut Hot,
        entity: Option<&Entity>,
        work: &Work,
        cx: Cx,
    ) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        self.0.begins(entity, work, &cx);
        let state = (work.borrow == Borrow::Exclusive).then(|| Bytes::from_static(b"worked"));
        let end = move || Outcome::Ok(Produced { state, ..Produced::default() });
        Box::pin(self.0.clone().play(cx, work.clone(), end))
    }
}

fn parse(work: &str) -> (u64, u64) {
    let (job, piece) = work.split_once('/').expect("a worker's work is job/piece");
    let job = job.trim_start_matches("job").parse().expect("jobs are numbered");
    (job, piece.parse().expect("pieces are numbered"))
}

fn asked(entity: Option<&Entity>, mut job: Job, verb: &str, body: &Bytes, ticket: Ticket, now: Millis) -> Next {
    match (verb, unpack(body), unpack(body)) {
        ("start", Some([number, pieces, width, exclusive]), _) => {
            job.asked.push(number);
            if !job.open() {
                job.begin(pieces, width, exclusive == 1, now);
            }
        }
        ("stop", _, Some([_])) if entity.is_none() => return not_bound(),
        ("stop", _, Some([number])) => {
            job.asked.push(number);
            job.pieces.iter_mut().for_each(|(_, from)| *from = None);
        }
        ("start" | "stop", _, _) => return malformed(verb),
        _ => return unknown_verb("worker", verb),
    }
    let replies = answer(Some(ticket), Ok(pack(&[job.asked.len() as u64])));
    Next::Commit(Commit { replies, ..job.commit(now) })
}
