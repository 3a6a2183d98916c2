//! Turns: an input, the answer of the kind or of this handler, and one commit.

use bytes::Bytes;
use drystone_runtime::{
    Borrow, Cause, Change, Commit, Entity, Input, Key, Mark, Millis, Next, Now, Outcome, Produced, Refusal, Rows,
    Ticket, To, Work,
};

use super::{
    Author, Record,
    asked::Asked,
    asking,
    head::{Applying, Ending, Head},
    memory::{Kept, Memory, Works},
    running::{self, Asker, Piecework},
    transacting,
};
use crate::{
    Acts, Error, Failure, OfKind, decode, encode,
    kind::{Answer, Done, Ended, Kind, Piece, Shown, Started, Stop, Turn},
    planted::Bug,
};

/// The input of a turn, with the stored entity, the rows that were read, and the time.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) key: &'a Key,
    pub(super) entity: Option<&'a Entity>,
    pub(super) rows: &'a Rows,
    pub(super) now: Now,
    pub(super) input: &'a Input,
}

/// Why a turn ends without a commit.
pub(super) enum Halt {
    Stop(Stop),
    /// The stored data cannot be read: the entity is parked with this reason.
    Park(String),
    /// The key is not bound, and this input cannot bind it.
    NotBound,
    /// The entity is being destroyed.
    Destroyed,
}

impl From<Stop> for Halt {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

/// The turn of an entity that is bound, or that this turn binds, with the data stored beside the record.
pub(super) struct Open<'a, R> {
    pub(super) turn: Turn<'a, R>,
    pub(super) mark: Option<Mark>,
    pub(super) ending: Option<Ending>,
    pub(super) applying: Vec<Applying>,
    pub(super) claims: Vec<String>,
    pub(super) asked: Vec<Asked>,
    /// The new state; `None` if this turn does not set the state.
    pub(super) state: Option<Bytes>,
}

pub(super) type Turned = Result<Next, Halt>;

impl<T, D, A> Author<T, D, A>
where
    T: Acts<D, A>,
    D: Send + Sync + 'static,
    A: 'static,
{
    pub(super) fn take(&self, memory: &mut Memory<T, Record<T>>, seen: Seen<'_>, input: &Input) -> Next {
        let (name, turned) = match input {
            Input::Call { verb, body, ticket, .. } => {
                (verb.as_str(), self.called(memory, seen, (verb, body), Asker::Call(*ticket)))
            }
            Input::Message { verb, body, id, .. } => {
                (verb.as_str(), self.called(memory, seen, (verb, body), Asker::Message(*id)))
            }
            Input::Alarm { .. } => ("alarm", self.rang(memory, seen)),
            Input::Done { work, attempt, cause, outcome } => {
                (work.as_str(), self.done(memory, seen, (work.as_str(), *attempt), cause, outcome))
            }
            Input::Gone { ticket } => ("gone", self.gone(memory, seen, *ticket)),
            Input::Changed => ("changed", self.changed(memory, seen)),
        };
        turned.unwrap_or_else(|halt| self.halted(halt, seen.key, name))
    }

    fn halted(&self, halt: Halt, key: &Key, verb: &str) -> Next {
        match halt {
            Halt::Stop(Stop::Read(ranges)) => Next::Read(ranges),
            Halt::Stop(Stop::Failed(error)) => Next::Refuse(Error::Declined(error)),
            Halt::Stop(Stop::Refuse(error)) => Next::Refuse(error),
            Halt::Stop(Stop::Malformed(reason)) => Next::Refuse(Error::Malformed { verb: verb.to_owned(), reason }),
            Halt::Park(reason) => Next::Park(reason),
            Halt::NotBound => Next::Refuse(Error::NotBound { key: key.clone() }),
            Halt::Destroyed => Next::Refuse(Error::Destroyed { key: key.clone() }),
        }
    }

    fn rang(&self, memory: &mut Memory<T, Record<T>>, seen: Seen<'_>) -> Turned {
        if seen.entity.is_none() {
            return Ok(Next::nothing());
        }
        self.check_state(memory, seen)?;
        let mut open = self.open(memory, seen)?;
        if open.ending.is_none() {
            self.kind.alarm(&mut open.turn)?;
        }
        self.close(memory, open, None, None)
    }

    fn gone(&self, memory: &mut Memory<T, Record<T>>, seen: Seen<'_>, ticket: Ticket) -> Turned {
        if seen.entity.is_none() {
            return Ok(Next::nothing());
        }
        let mut open = self.open(memory, seen)?;
        if open.ending.is_none() {
            self.kind.gone(&mut open.turn, ticket)?;
        }
        self.close(memory, open, None, None)
    }

    fn changed(&self, memory: &mut Memory<T, Record<T>>, seen: Seen<'_>) -> Turned {
        if seen.entity.is_none() {
            return Ok(Next::nothing());
        }
        let mut open = self.open(memory, seen)?;
        if open.ending.is_none() {
            self.kind.changed(&mut open.turn)?;
        }
        self.close(memory, open, None, None)
    }

    fn done(
        &self,
        memory: &mut Memory<T, Record<T>>,
        seen: Seen<'_>,
        (work, attempt): (&str, u32),
        cause: &Cause,
        outcome: &Outcome,
    ) -> Turned {
        let piece = Piecework::parse(work);
        match (cause, outcome) {
            (Cause::Listed, _) => self.work_done(memory, seen, (work, piece, attempt), outcome),
            (_, Outcome::Ok(produced)) => {
                let ticket = if let Cause::Call(ticket) = cause { Some(*ticket) } else { None };
                self.action_done(memory, seen, piece, produced, ticket)
            }
            (_, Outcome::Refused(refusal)) => Err(Stop::Malformed(refusal.to_string()).into()),
            (_, outcome) => Err(Stop::Refuse(error_of(outcome, seen.key, work)).into()),
        }
    }

    fn action_done(
        &self,
        memory: &mut Memory<T, Record<T>>,
        seen: Seen<'_>,
        piece: Piecework<'_>,
        produced: &Produced,
        ticket: Option<Ticket>,
    ) -> Turned {
        if let (Some(entity), Piecework::Action(_), Change::Keep) = (seen.entity, piece, produced.alarm) {
            return acted(memory.head(&entity.head).map_err(Halt::Park)?, produced, ticket);
        }
        let is_bound = seen.entity.is_some();
        let mut open = match seen.entity {
            Some(_) => self.open(memory, seen)?,
            None => self.born(seen, produced.state.clone().ok_or(Halt::NotBound)?),
        };
        if open.ending.is_some() {
            return Err(Halt::Destroyed);
        }
        let answer = match piece {
            // Another call was faster and bound the key: the state made here is dropped.
            Piecework::Create(create) if is_bound => {
                let answer = value(&self.start_bound(&mut open, create)?)?;
                return self.close(memory, open, Some(answer), ticket);
            }
            Piecework::Init("start") if is_bound => {
                let answer = value(&self.kind.restart(&mut open.turn))?;
                return self.close(memory, open, Some(answer), ticket);
            }
            Piecework::Create(_) | Piecework::Init("start") => value(&Started::Started)?,
            Piecework::Init(verb) => self.kind.verb(&mut open.turn, verb, &produced.value)?,
            _ => {
                open.state = produced.state.clone().or(open.state);
                Answer::Now(produced.value.clone())
            }
        };
        self.say(&mut open, produced);
        self.close(memory, open, Some(answer), ticket)
    }

    fn work_done(
        &self,
        memory: &mut Memory<T, Record<T>>,
        seen: Seen<'_>,
        (work, piece, attempt): (&str, Piecework<'_>, u32),
        outcome: &Outcome,
    ) -> Turned {
        if seen.entity.is_none() {
            return Ok(Next::nothing());
        }
        // If the state cannot be read, no attempt will succeed, so the entity is parked.
        if matches!(outcome, Outcome::Refused(_)) {
            self.check_state(memory, seen)?;
        }
        let mut open = self.open(memory, seen)?;
        // The code was not run. This turn puts the claim.
        if matches!(outcome, Outcome::Refused(Refusal::NotClaimed)) {
            return self.close(memory, open, None, None);
        }
        match piece {
            Piecework::Destroy => return self.destroy_done(memory, open, outcome, seen.now.at),
            Piecework::Apply(number) => self.applied(&mut open, number, outcome)?,
            Piecework::Hook(hook, number) => self.hook_done(&mut open, (hook, number, attempt), outcome)?,
            Piecework::Action(verb) => self.asked_done(&mut open, (work, verb), outcome)?,
            Piecework::Init(_) | Piecework::Create(_) => {}
        }
        self.close(memory, open, None, None)
    }

    fn hook_done(
        &self,
        open: &mut Open<'_, Record<T>>,
        (hook, number, attempt): (&str, u64, u32),
        outcome: &Outcome,
    ) -> Result<(), Stop> {
        let applies = T::CODE.hooks.iter().any(|code| code.name == hook && code.applies);
        if let (Outcome::Ok(produced), true) = (outcome, applies) {
            let value = decode(&produced.value).map_err(Stop::Malformed)?;
            let mark = Some(open.turn.mark());
            open.applying.push(Applying { hook: hook.to_owned(), number, attempt, value, mark });
            self.say(open, produced);
            return Ok(());
        }
        let done = Done { hook: hook.to_owned(), number, attempt };
        self.kind.done(&mut open.turn, &done, ended(outcome))?;
        self.ended_by_kind(open)?;
        if let Outcome::Ok(produced) = outcome {
            open.state = produced.state.clone();
            self.say(open, produced);
        }
        Ok(())
    }

    /// Adds the messages and events of the code to the commit that takes its success.
    pub(super) fn say(&self, open: &mut Open<'_, Record<T>>, produced: &Produced) {
        open.turn.commit.send.extend(produced.send.iter().cloned());
        open.turn.commit.emit.extend(produced.emit.iter().cloned());
        if produced.alarm != Change::Keep {
            self.kind.alarm_set(&mut open.turn);
            open.turn.said_alarm(produced.alarm);
        }
    }

    fn applied(&self, open: &mut Open<'_, Record<T>>, number: u64, outcome: &Outcome) -> Result<(), Stop> {
        let Some(index) = open.applying.iter().position(|applying| applying.number == number) else { return Ok(()) };
        let applying = open.applying.remove(index);
        if Bug::AppliedTwice.planted() && applying.attempt < 9 {
            open.applying.push(Applying { attempt: 9, ..applying.clone() });
        }
        if let Outcome::Ok(produced) = outcome {
            open.state = produced.state.clone();
        }
        let done = Done { hook: applying.hook, number: applying.number, attempt: applying.attempt };
        self.kind.done(&mut open.turn, &done, ended(outcome))?;
        self.ended_by_kind(open)?;
        Ok(())
    }

    pub(super) fn listed(
        &self,
        (head, works, rows): (&Head<Record<T>>, &mut Works, &Kept),
        entity: &Entity,
        now: Millis,
    ) -> Vec<Work> {
        if let Some(ending) = &head.ending {
            let (attempt, mark) = (ending.attempt, ending.mark);
            let work = Work { attempt, borrow: Borrow::Exclusive, mark, ..Work::new("destroy/1") };
            return if ending.is_due(now) { vec![work] } else { Vec::new() };
        }
        let shown = shown(&head.record, entity, now);
        let pieces = transacting::within_limit::<T>(self.kind.work(&shown));
        let is_written = |piece: &Piece| T::CODE.hooks.iter().any(|hook| hook.name == piece.hook);
        // A piece that has ended and is to be applied is still listed by the kind, which hears of the end
        // after that.
        let is_ended = |piece: &Piece| head.applying.iter().any(|applying| applying.number == piece.number);
        let pieces = pieces.filter(|piece| is_written(piece) && !is_ended(piece));
        let make = |piece: Piece| {
            let borrow = hook_borrow::<T>(piece.hook);
            let piece = self.kind.prepared(&shown, piece);
            let row = rows.of(&piece);
            let in_row = row.and_then(|row| <T::Kind as Kind>::mark_in(row));
            let mark = piece.mark.or(in_row).or(head.mark);
            // A transaction has a limit of its own, because the time that it waits for other transactions is
            // not the time of its code.
            let goes_first = transacting::is_transactional_hook::<T>(piece.hook);
            let work = Work { borrow, mark, goes_first, ..piece.into_work(row) };
            if goes_first { Work { timeout: None, silence: None, ..work } } else { work }
        };
        let running = works.of(pieces, make);
        head.applying.iter().map(running::apply).chain(asking::works::<T>(head)).chain(running).collect()
    }

    pub(super) fn check_state(&self, memory: &mut Memory<T, Record<T>>, seen: Seen<'_>) -> Result<(), Halt> {
        seen.entity.map_or(Ok(()), |entity| memory.check_state(&entity.state)).map_err(Halt::Park)
    }

    pub(super) fn born<'a>(&self, seen: Seen<'a>, state: Bytes) -> Open<'a, Record<T>> {
        let mut turn = self.turn_of(Record::<T>::default(), &seen);
        self.kind.born(&mut turn);
        let mark = (!T::Kind::MARKS_WORK).then_some(seen.now.mark);
        Open {
            turn,
            mark,
            ending: None,
            applying: Vec::new(),
            claims: Vec::new(),
            asked: Vec::new(),
            state: Some(state),
        }
    }

    pub(super) fn open<'a>(
        &self,
        memory: &mut Memory<T, Record<T>>,
        seen: Seen<'a>,
    ) -> Result<Open<'a, Record<T>>, Halt> {
        let entity = seen.entity.ok_or(Halt::NotBound)?;
        let Head { record, mark, ending, applying, claims, asked } =
            memory.take_head(&entity.head).map_err(Halt::Park)?;
        Ok(Open { turn: self.turn_of(record, &seen), mark, ending, applying, claims, asked, state: None })
    }

    /// Builds the commit of a turn. The head is written only if it has changed.
    pub(super) fn close(
        &self,
        memory: &mut Memory<T, Record<T>>,
        mut open: Open<'_, Record<T>>,
        answer: Option<Answer>,
        ticket: Option<Ticket>,
    ) -> Turned {
        self.claim(&mut open);
        let Open { mut turn, mark, ending, applying, claims, asked, state } = open;
        if turn.commit.destroy {
            self.kind.ends(&mut turn);
        }
        let before = turn.entity().map(|entity| &entity.head);
        let Turn { record, mut commit, remembered, .. } = turn;
        memory.keep_rows(&commit, remembered);
        let head = Head { record, mark, ending, applying, claims, asked };
        let bytes = encode(&head).map_err(Stop::Malformed)?;
        commit.head = (before != Some(&bytes)).then(|| bytes.clone());
        memory.set_head(bytes, head);
        commit.state = state;
        match (answer, ticket) {
            (Some(Answer::Now(value)), Some(ticket)) => commit.replies.push((To::Ticket(ticket), Ok(value))),
            (Some(Answer::Held(name)), Some(_)) => commit.hold = Some(name),
            _ => {}
        }
        Ok(Next::Commit(commit))
    }
}

/// Builds the commit of an action that does not concern its kind. The record is unchanged, so it is not
/// encoded to find that out.
pub(super) fn acted<R>(head: &Head<R>, produced: &Produced, ticket: Option<Ticket>) -> Turned {
    if head.ending.is_some() {
        return Err(Halt::Destroyed);
    }
    let replies = ticket.map(|ticket| (To::Ticket(ticket), Ok(produced.value.clone())));
    Ok(Next::Commit(Commit {
        state: produced.state.clone(),
        send: produced.send.clone(),
        emit: produced.emit.clone(),
        replies: replies.into_iter().collect(),
        ..Commit::default()
    }))
}

pub(super) fn shown<'a, R>(record: &'a R, entity: &'a Entity, now: Millis) -> Shown<'a, R> {
    let (id, definition) = (entity.id, entity.definition.as_str());
    Shown { id, definition, record, word: &entity.status.word, alarm: entity.alarm.map(Into::into), now: now.into() }
}

fn hook_borrow<T: OfKind>(hook: &str) -> Borrow {
    let writes = T::CODE.hooks.iter().any(|code| code.name == hook && code.writes);
    if writes { Borrow::Exclusive } else { Borrow::Shared }
}

pub(super) fn value<V: crate::Stored>(value: &V) -> Result<Answer, Stop> {
    Answer::value(value)
}

/// Returns the error for the caller of an action whose code returned no value.
pub(super) fn error_of(outcome: &Outcome, key: &Key, verb: &str) -> Error {
    match outcome {
        Outcome::Failed(error) => Error::Failed(error.clone()),
        Outcome::Panicked(message) => Error::Panicked { key: key.clone(), message: message.clone() },
        Outcome::Refused(refusal) => Error::Malformed { verb: verb.to_owned(), reason: refusal.to_string() },
        Outcome::Ok(_) | Outcome::TimedOut | Outcome::Silent => Error::Deadline { key: key.clone() },
    }
}

pub(super) fn reply(ticket: Option<Ticket>, value: Bytes) -> Next {
    Next::Commit(ticket.map_or_else(Commit::default, |ticket| Commit::reply(ticket, Ok(value))))
}

pub(super) fn ended(outcome: &Outcome) -> Ended {
    match outcome {
        Outcome::Ok(_) => Ended::Ok,
        Outcome::Failed(error) => {
            Ended::Failed(decode(error).unwrap_or_else(|_| Failure::from("it failed, and its error cannot be read")))
        }
        Outcome::Refused(refusal) => Ended::Failed(refusal.to_string().into()),
        Outcome::Panicked(message) => Ended::Failed(format!("it panicked: {message}").into()),
        Outcome::TimedOut => Ended::Failed("it ran longer than its timeout".into()),
        Outcome::Silent => Ended::Failed("it gave no sign of life for longer than its limit".into()),
    }
}
