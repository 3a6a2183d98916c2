//! Calls and messages: a verb of every entity, of the kind, or of the author, on a key that is bound, ending
//! or unbound.

use bytes::Bytes;
use drystone_runtime::Next;

use super::{
    Author, Record,
    memory::Memory,
    running::{self, Asker},
    turning::{Halt, Open, Seen, Turned, reply, shown, value},
    verbs::Verb,
};
use crate::{
    Acts, Error, OfKind, Params, encode,
    kind::{Answer, Kind, Started, Stop},
};

impl<T, D, A> Author<T, D, A>
where
    T: Acts<D, A>,
    D: Send + Sync + 'static,
    A: 'static,
{
    pub(super) fn called(
        &self,
        memory: &mut Memory<T, Record<T>>,
        seen: Seen<'_>,
        (name, body): (&str, &Bytes),
        asker: Asker,
    ) -> Turned {
        let ticket = asker.ticket();
        let Some(verb) = self.verb(name) else { return Err(Stop::Refuse(self.unknown(name)).into()) };
        let Some(entity) = seen.entity else {
            return self.called_unbound(memory, seen, (name, verb, body), asker);
        };
        let head = memory.head(&entity.head).map_err(Halt::Park)?;
        if head.ending.is_some() {
            let open = self.open(memory, seen)?;
            return self.called_while_ending(memory, open, verb, ticket);
        }
        match verb {
            Verb::State => return Ok(reply(ticket, entity.state.clone())),
            Verb::Status => {
                let status = self.kind.status(&shown(&head.record, entity, seen.now.at));
                return Ok(reply(ticket, encode(&status).map_err(Stop::Malformed)?));
            }
            Verb::Action(action) if action.transaction.is_some() => {
                self.check_state(memory, seen)?;
                let open = self.open(memory, seen)?;
                return self.ask(memory, seen, open, (action, body, asker));
            }
            Verb::Action(action) => {
                if let Some(next) = self.act(memory, (seen, entity), (action, body), ticket)? {
                    return Ok(next);
                }
                self.check_state(memory, seen)?;
                return Ok(Next::Run(running::action(action, asker, body)));
            }
            Verb::Start | Verb::Create(_) | Verb::Replace | Verb::Destroy { .. } | Verb::Kind { .. } => {}
        }
        let mut open = self.open(memory, seen)?;
        let answer = match verb {
            Verb::Start if !is_given_a_state(body) => value(&self.kind.restart(&mut open.turn))?,
            Verb::Start | Verb::Create(_) => value(&self.start_bound(&mut open, name)?)?,
            Verb::Replace => {
                open.state = Some(state_in::<T>(body)?);
                Answer::done()
            }
            Verb::Destroy { force } => return self.destroy(memory, open, force, ticket),
            _ => self.kind.verb(&mut open.turn, name, body)?,
        };
        self.close(memory, open, Some(answer), ticket)
    }

    fn called_unbound(
        &self,
        memory: &mut Memory<T, Record<T>>,
        seen: Seen<'_>,
        (name, verb, body): (&str, Verb, &Bytes),
        asker: Asker,
    ) -> Turned {
        let ticket = asker.ticket();
        match verb {
            Verb::Start if is_given_a_state(body) => {
                let open = self.born(seen, state_in::<T>(body)?);
                self.close(memory, open, Some(value(&Started::Started)?), ticket)
            }
            Verb::Create(create) => Ok(Next::Run(running::create(create, asker, body))),
            // The answer is empty if there is no state: `null` is the state of a struct without fields.
            Verb::State => Ok(reply(ticket, Bytes::new())),
            Verb::Status => Ok(reply(ticket, Bytes::from_static(b"null"))),
            Verb::Destroy { .. } => Ok(reply(ticket, Bytes::from_static(b"false"))),
            Verb::Action(action) if action.transaction.is_some() => {
                let state = if action.writes { initial::<T>()? } else { None };
                let open = self.born(seen, state.ok_or(Halt::NotBound)?);
                self.ask(memory, seen, open, (action, body, asker))
            }
            Verb::Action(action) if action.writes && self.can_make() => {
                Ok(Next::Run(running::action(action, asker, body)))
            }
            Verb::Start | Verb::Kind { binds: true } if T::CODE.init.is_some() => {
                Ok(Next::Run(running::init::<T>(name, asker, body)))
            }
            Verb::Start => {
                let open = self.born(seen, initial::<T>()?.ok_or_else(no_state)?);
                self.close(memory, open, Some(value(&Started::Started)?), ticket)
            }
            Verb::Kind { binds: true } => {
                let mut open = self.born(seen, initial::<T>()?.ok_or(Halt::NotBound)?);
                let answer = self.kind.verb(&mut open.turn, name, body)?;
                self.close(memory, open, Some(answer), ticket)
            }
            Verb::Kind { binds: false } => match self.kind.unbound(name) {
                Some(Answer::Now(value)) => Ok(reply(ticket, value)),
                _ => Err(Halt::NotBound),
            },
            Verb::Replace | Verb::Action(_) => Err(Halt::NotBound),
        }
    }

    /// Handles a start with a state or arguments on a bound key. An entity that has stopped or failed keeps
    /// its state, so the start is refused: otherwise the given state would be lost silently (C2).
    pub(super) fn start_bound(&self, open: &mut Open<'_, Record<T>>, verb: &str) -> Result<Started, Stop> {
        let status = open.turn.entity().map(|entity| entity.status.word.to_string()).unwrap_or_default();
        match self.kind.restart(&mut open.turn) {
            Started::Resumed => {
                let (key, verb) = (open.turn.key().clone(), verb.to_owned());
                Err(Stop::Refuse(Error::KeepsState { key, verb, status }))
            }
            started => Ok(started),
        }
    }

    /// Whether a state can be made if the caller gives none (E1).
    fn can_make(&self) -> bool {
        T::CODE.init.is_some() || T::initial().is_some()
    }
}

/// Whether a `start` has a state, which is the only parameter that `start` can take.
fn is_given_a_state(body: &[u8]) -> bool {
    Params::read(body, 0).is_err()
}

/// Returns the state of a primitive that is `Default`; `None` if it is not.
fn initial<T: OfKind>() -> Result<Option<Bytes>, Stop> {
    T::initial().map(|state| T::codec().write(&state).map_err(Stop::Malformed)).transpose()
}

/// Returns the error of a `start` without a state on an unbound key, for a primitive whose state cannot be
/// made.
fn no_state() -> Stop {
    Stop::Malformed(
        "nothing is bound to the key, and no state can be made: give `start` the state to begin with".to_owned(),
    )
}

/// Returns the state that a caller gives, decoded once and encoded again as all states are.
fn state_in<T: OfKind>(body: &[u8]) -> Result<Bytes, Stop> {
    let state: T =
        Params::read(body, 1).and_then(|mut params| params.take_with(T::codec())).map_err(Stop::Malformed)?;
    let bytes = T::codec().write(&state).map_err(Stop::Malformed)?;
    T::codec().read(&bytes).map_err(|reason| Stop::Malformed(format!("the state could not be read back: {reason}")))?;
    Ok(bytes)
}
