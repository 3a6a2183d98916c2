//! An entity that counts calls and messages. As a relay, it also passes each call on as a message.

use std::{pin::Pin, sync::Arc};

use bytes::Bytes;
use drystone_runtime::{
    Borrow, Commit, Cx, Definition, Entity, Handler, Hot, Input, Key, Message, Millis, Name, Needed, Next, Now,
    Outcome, Rows, Status, Ticket, To, Work,
};

use super::part::Part;
use crate::{
    crash::{SPACE, log::Entry, op::Op},
    refuse::{malformed, unknown},
};

/// Callers who wait for a count that is not reached yet are held under this name.
const COUNTED: Name = Name::new("counted");

/// Counts operations and logs them.
pub(in crate::crash) struct Counter;

impl Counter {
    pub(in crate::crash) fn definition() -> Definition {
        let (name, space) = ("counter".into(), SPACE.into());
        Definition { kind: "counter".into(), name, space, config: Bytes::new(), handler: Arc::new(Self) }
    }

    /// The count in a counter's state.
    pub(in crate::crash) fn count(entity: &Entity) -> u64 {
        entity.state.first_chunk().map_or(0, |count| u64::from_be_bytes(*count))
    }

    fn call(count: u64, verb: &str, body: &[u8], ticket: Ticket) -> Next {
        if verb == "forget" {
            return forget(count > 0, ticket);
        }
        let Some(op) = Op::decode(body) else { return malformed(verb) };
        Next::Commit(match verb {
            "add" => add(count, op, Some(ticket)),
            "relay" => Commit { send: vec![pass_on(op)], ..add(count, op, Some(ticket)) },
            "reach" if count < op.0 => Commit { hold: Some(COUNTED), ..Commit::default() },
            "reach" => Commit::reply(ticket, Ok(number(count))),
            _ => return unknown("counter", verb, &["add", "relay", "reach", "forget"]),
        })
    }
}

/// Destroys an entity of a judged round. An unbound key stays unbound.
pub(in crate::crash) fn forget(is_there: bool, caller: Ticket) -> Next {
    Next::Commit(Commit { destroy: is_there, ..Commit::reply(caller, Ok(Bytes::new())) })
}

/// Counts one more operation: count, log and answers, in one commit.
fn add(count: u64, op: Op, caller: Option<Ticket>) -> Commit {
    let who = caller.map(To::Ticket).into_iter().chain([To::All(COUNTED)]);
    Commit {
        state: Some(number(count + 1)),
        put: vec![Entry { nth: count + 1, op, crashed: false }.row()],
        replies: who.map(|to| (to, Ok(number(count + 1)))).collect(),
        status: (count == 0).then(|| Status::resting("counting")),
        ..Commit::default()
    }
}

fn pass_on(op: Op) -> Message {
    let to = Key { space: SPACE.into(), key: op.sink().into() };
    Message { to, definition: "counter".into(), verb: "add".into(), body: op.encode() }
}

fn number(value: u64) -> Bytes {
    value.to_be_bytes().to_vec().into()
}

impl Handler for Counter {
    fn borrow(&self, _: &str) -> Borrow {
        Borrow::Exclusive
    }

    fn turn(&self, _: &mut Hot, _: &Key, entity: Option<&Entity>, _: &Rows, input: &Input, _: Now) -> Next {
        let count = entity.map_or(0, Self::count);
        match input {
            Input::Call { verb, body, ticket, .. } => Self::call(count, verb, body, *ticket),
            Input::Message { verb, body, .. } => {
                Part::Messages.moved();
                Op::decode(body).map_or_else(|| malformed(verb), |op| Next::Commit(add(count, op, None)))
            }
            _ => Next::nothing(),
        }
    }

    fn work(&self, _: &mut Hot, _: &Entity, _: &Rows, _: Millis) -> Needed<Vec<Work>> {
        Needed::Ready(Vec::new())
    }

    fn run(&self, _: &mut Hot, _: Option<&Entity>, _: &Work, _: Cx) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        unreachable!("a counter lists no work")
    }
}
