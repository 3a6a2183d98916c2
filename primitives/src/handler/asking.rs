//! Transactional actions (W6):
//! `#[action(transaction)] fn book(&mut self, total: u64, sql: &mut Transaction<'_>)`.
//!
//! An ordinary action leaves nothing before its only commit. A transactional action writes rows of the
//! author's in a transaction of its own, so its call is recorded first: the turn that takes the call keeps
//! it in the head, puts the parameters into a row, and holds the caller. From then on the action runs as a
//! transactional hook does, with that row as its claim (see [`transacting`](super::transacting)), also after
//! a crash. A caller that repeats the call with the same idempotency key is held for the same answer.

use bytes::Bytes;
use drystone_runtime::{Commit, DeadLetter, Input, Limit, Name, Next, Outcome, Range, Reply, To, Work};

use super::{
    Author, Record,
    asked::{Asked, Once, Sent},
    head::Head,
    memory::Memory,
    running::Asker,
    transacting::LANE,
    turning::{Halt, Open, Seen, Turned, error_of},
};
use crate::{
    Acts, Error,
    kind::{Answer, Stop},
    kinds,
    primitive::Action,
};

/// The actions of one entity that are recorded at once.
const ASKED_MAX: usize = 256;

/// The bytes of recorded actions that messages asked for. If the entity ends, one commit sends all of them
/// to the dead letters (K3).
const SENT_BYTES_MAX: usize = 2 << 20;

/// How often the action of a message is tried.
const ATTEMPTS_MAX: u32 = 3;

impl<T, D, A> Author<T, D, A>
where
    T: Acts<D, A>,
    D: Send + Sync + 'static,
    A: 'static,
{
    /// Records the action that a call or a message asks for.
    pub(super) fn ask(
        &self,
        memory: &mut Memory<T, Record<T>>,
        seen: Seen<'_>,
        mut open: Open<'_, Record<T>>,
        (action, body, asker): (&Action, &Bytes, Asker),
    ) -> Turned {
        let (once, message) = asked_by(seen.input, body);
        if let Some(once) = &once
            && let Some(known) = open.asked.iter().find(|asked| asked.is_repeated_by(once))
        {
            if !known.is_same(once) {
                return Err(Stop::Refuse(Error::IdempotencyMismatch { key: seen.key.clone() }).into());
            }
            return Ok(Next::Commit(Commit { hold: Some(known.name()), ..Commit::default() }));
        }
        check_room(&open.asked, message.as_ref())?;
        // The result that the code leaves in this row is an object, so the two are never taken for each
        // other.
        if body.first() != Some(&b'[') {
            return Err(Stop::Malformed("the parameters of an action are an array".to_owned()).into());
        }
        let (work, once) = (asker.name("action:", action.name), once.as_ref().map(Once::of));
        open.turn.put(LANE, work.clone(), body.clone());
        let name = Name::from(work.clone());
        open.asked.push(Asked { work, attempt: 1, mark: Some(seen.now.mark), once, message });
        self.close(memory, open, Some(Answer::Held(name)), asker.ticket())
    }

    /// Takes the end of a recorded action.
    pub(super) fn asked_done(
        &self,
        open: &mut Open<'_, Record<T>>,
        (work, verb): (&str, &str),
        outcome: &Outcome,
    ) -> Result<(), Stop> {
        let Some(index) = open.asked.iter().position(|asked| asked.work == work) else { return Ok(()) };
        let reply: Reply = match outcome {
            Outcome::Ok(produced) => Ok(produced.value.clone()),
            other => Err(error_of(other, open.turn.key(), verb)),
        };
        let asked = &mut open.asked[index];
        if reply.is_err() && asked.message.is_some() && asked.attempt < ATTEMPTS_MAX {
            asked.attempt += 1;
            return Ok(());
        }
        let asked = open.asked.remove(index);
        if let Err(error) = &reply {
            self.bury(open, &asked, error)?;
        }
        open.turn.remove(LANE, asked.work.clone());
        if let Outcome::Ok(produced) = outcome {
            open.state = produced.state.clone().or(open.state.take());
            self.say(open, produced);
        }
        let commit = &mut open.turn.commit;
        commit.replies.push((To::All(asked.name()), reply.clone()));
        commit.remember.extend(asked.once.map(|once| (once.idempotency(), reply)));
        Ok(())
    }

    /// Drops the recorded actions because the entity ends. The kernel answers their callers; their messages
    /// become dead letters.
    pub(super) fn abandon_asked(&self, open: &mut Open<'_, Record<T>>) -> Result<(), Stop> {
        let key = open.turn.key().clone();
        for asked in std::mem::take(&mut open.asked) {
            self.bury(open, &asked, &Error::Destroyed { key: key.clone() })?;
            open.turn.remove(LANE, asked.work);
        }
        Ok(())
    }

    /// Sends the message of a recorded action to the dead letters (M4). An action that a caller asked for
    /// leaves no dead letter.
    fn bury(&self, open: &mut Open<'_, Record<T>>, asked: &Asked, error: &Error) -> Result<(), Stop> {
        let Some(message) = &asked.message else { return Ok(()) };
        let work = Bytes::copy_from_slice(asked.work.as_bytes());
        let rows = open.turn.rows(Range::at(LANE, work.clone()))?;
        let body = rows.first().filter(|row| row.key == work).map(|row| row.body.clone()).unwrap_or_default();
        let verb = asked.work.trim_start_matches("action:").rsplit_once('/').map_or("", |(verb, _)| verb);
        let dead = DeadLetter {
            id: message.id(),
            from: message.from(),
            to: open.turn.key().clone(),
            definition: self.name.clone(),
            verb: Name::from(verb.to_owned()),
            body,
            reason: error.to_string(),
            error: error.own().cloned().unwrap_or_default(),
            attempts: asked.attempt,
        };
        open.turn.send(kinds::dead_message(dead.encode()));
        Ok(())
    }
}

/// Returns the work of the recorded actions.
pub(super) fn works<T: crate::OfKind>(head: &Head<Record<T>>) -> impl Iterator<Item = Work> {
    head.asked.iter().map(|asked| {
        let borrow = super::transacting::borrow_of_action::<T>(&asked.work);
        let (attempt, mark) = (asked.attempt, asked.mark);
        Work { attempt, borrow, mark, goes_first: true, ..Work::new(asked.name()) }
    })
}

/// Returns the idempotency key of a call, or the message that asks.
fn asked_by(input: &Input, body: &Bytes) -> (Option<drystone_runtime::Idempotency>, Option<Sent>) {
    match input {
        Input::Call { once, .. } => (once.clone(), None),
        Input::Message { from, id, .. } => (None, Some(Sent::of(*id, from, body))),
        _ => (None, None),
    }
}

fn check_room(asked: &[Asked], message: Option<&Sent>) -> Result<(), Halt> {
    let bytes: usize = asked.iter().filter_map(|asked| asked.message.as_ref()).map(|sent| sent.bytes).sum();
    match message {
        None if asked.len() < ASKED_MAX => Ok(()),
        None => Err(Stop::Refuse(Error::Overloaded { what: Limit::CallsPerKey }).into()),
        Some(sent) if asked.len() < ASKED_MAX && bytes + sent.bytes <= SENT_BYTES_MAX => Ok(()),
        // A message that is refused in this way is retried later.
        Some(_) => Err(Stop::Failed(Bytes::from_static(b"\"too many actions wait for their transactions\"")).into()),
    }
}
