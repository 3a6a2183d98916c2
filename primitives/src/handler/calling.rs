//! Calls and messages: a verb of every entity, of the kind, or of the author; on a key that is bound, ending, or not there.

use bytes::Bytes;
use drystone_runtime::Next;

use super::{
    Author, Record,
    memory::Memory,
    running::{self, Asker},
    turning::{Halt, Seen, Turned, reply, shown, value},
    verbs::Verb,
};
use crate::{
    Acts, OfKind, Params, encode,
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
                let status = self.kind.status(&shown(&head.record, entity, seen.now));
                return Ok(reply(ticket, encode(&status).map_err(Stop::Malformed)?));
            }
            Verb::Action(action) => {
                self.check_state(memory, seen)?;
                return Ok(Next::Run(running::action(action, asker, body)));
            }
            Verb::Start | Verb::Create(_) | Verb::Replace | Verb::Destroy { .. } | Verb::Kind { .. } => {}
        }
        let mut open = self.open(memory, seen)?;
        let answer = match verb {
            Verb::Start | Verb::Create(_) => value(&self.kind.restart(&mut open.turn))?,
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
            Verb::Start => {
                let open = self.born(seen, state_in::<T>(body)?);
                self.close(memory, open, Some(value(&Started::Started)?), ticket)
            }
            Verb::Create(create) => Ok(Next::Run(running::create(create, asker, body))),
            // No text, for the state of a struct without fields is `null`.
            Verb::State => Ok(reply(ticket, Bytes::new())),
            Verb::Status => Ok(reply(ticket, Bytes::from_static(b"null"))),
            Verb::Destroy { .. } => Ok(reply(ticket, Bytes::from_static(b"false"))),
            Verb::Action(action) if action.writes && self.can_make() => {
                Ok(Next::Run(running::action(action, asker, body)))
            }
            Verb::Kind { binds: true } if T::CODE.init.is_some() => {
                Ok(Next::Run(running::init::<T>(name, asker, body)))
            }
            Verb::Kind { binds: true } => {
                let state = T::initial().ok_or(Halt::NotBound)?;
                let mut open = self.born(seen, T::codec().write(&state).map_err(Stop::Malformed)?);
                let answer = self.kind.verb(&mut open.turn, name, body)?;
                self.close(memory, open, Some(answer), ticket)
            }
            Verb::Replace | Verb::Kind { .. } | Verb::Action(_) => Err(Halt::NotBound),
        }
    }

    /// Whether a state can be made without being given one (E1).
    fn can_make(&self) -> bool {
        T::CODE.init.is_some() || T::initial().is_some()
    }
}

/// The state that a caller hands in, read once and written as we write it.
fn state_in<T: OfKind>(body: &[u8]) -> Result<Bytes, Stop> {
    let state: T =
        Params::read(body, 1).and_then(|mut params| params.take_with(T::codec())).map_err(Stop::Malformed)?;
    let bytes = T::codec().write(&state).map_err(Stop::Malformed)?;
    T::codec().read(&bytes).map_err(|reason| Stop::Malformed(format!("the state could not be read back: {reason}")))?;
    Ok(bytes)
}
