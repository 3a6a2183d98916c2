//! The end of an entity: it is accepted at once, `#[destroy]` runs as work, and then one commit removes
//! everything (E8).

use bytes::Bytes;
use drystone_runtime::{Millis, Next, Outcome, Status, Ticket};

use super::{
    Author, Record,
    head::Ending,
    memory::Memory,
    turning::{Halt, Open, Turned, ended, reply},
    verbs::Verb,
};
use crate::{
    Acts,
    kind::{Answer, Ended, Stop},
};

impl<T, D, A> Author<T, D, A>
where
    T: Acts<D, A>,
    D: Send + Sync + 'static,
    A: 'static,
{
    pub(super) fn called_while_ending(
        &self,
        memory: &mut Memory<T, Record<T>>,
        open: Open<'_, Record<T>>,
        verb: Verb,
        ticket: Option<Ticket>,
    ) -> Turned {
        let is_given_up = open.ending.as_ref().is_some_and(|ending| ending.at.is_none());
        match verb {
            Verb::Destroy { force: true } => self.destroy(memory, open, true, ticket),
            // The hook was given up. Another `destroy` tries it again.
            Verb::Destroy { force: false } if is_given_up => self.destroy(memory, open, false, ticket),
            Verb::Destroy { force: false } => Ok(reply(ticket, Bytes::from_static(b"true"))),
            Verb::State => Ok(reply(ticket, Bytes::new())),
            Verb::Status => Ok(reply(ticket, Bytes::from_static(b"null"))),
            _ => Err(Halt::Destroyed),
        }
    }

    pub(super) fn destroy(
        &self,
        memory: &mut Memory<T, Record<T>>,
        mut open: Open<'_, Record<T>>,
        force: bool,
        ticket: Option<Ticket>,
    ) -> Turned {
        let answer = Answer::Now(Bytes::from_static(b"true"));
        self.abandon_asked(&mut open)?;
        if force || !T::CODE.has_destroy {
            open.turn.destroy();
        } else {
            begin(&mut open);
        }
        self.close(memory, open, Some(answer), ticket)
    }

    /// Handles the end of an entity by its kind: a `#[destroy]` still runs first.
    pub(super) fn ended_by_kind(&self, open: &mut Open<'_, Record<T>>) -> Result<(), Stop> {
        if open.turn.commit.destroy {
            self.abandon_asked(open)?;
        }
        if open.turn.commit.destroy && T::CODE.has_destroy {
            open.turn.commit.destroy = false;
            begin(open);
        }
        Ok(())
    }

    pub(super) fn destroy_done(
        &self,
        memory: &mut Memory<T, Record<T>>,
        mut open: Open<'_, Record<T>>,
        outcome: &Outcome,
        now: Millis,
    ) -> Turned {
        let Some(mut ending) = open.ending.take() else { return Ok(Next::nothing()) };
        match (outcome, ended(outcome)) {
            (Outcome::Ok(produced), _) => {
                self.say(&mut open, produced);
                open.turn.destroy();
            }
            (_, Ended::Failed(error)) => ending.failed(error, now),
            (_, Ended::Ok) => {}
        }
        if ending.at.is_none() {
            open.turn.set_status(Status::failing("destroy failed"));
        }
        open.turn.set_alarm(ending.alarm());
        open.ending = Some(ending);
        self.close(memory, open, None, None)
    }
}

fn begin<R>(open: &mut Open<'_, R>) {
    let now = open.turn.now;
    // A hook that was given up and is tried again is still the same piece of work.
    let mark = open.ending.as_ref().map_or(Some(open.turn.mark()), |ending| ending.mark);
    open.ending = Some(Ending::begin(now, mark));
    open.applying.clear();
    open.turn.commit.evict = true;
    open.turn.set_status(Status::live("ending"));
    open.turn.set_alarm(Some(now));
}
