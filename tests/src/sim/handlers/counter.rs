//! A counter: a list of numbers in the order of their addition. Its answers name a place in the list, so
//! that the checks can compare answers with the store.

use std::{future::ready, pin::Pin};

use bytes::Bytes;
use drystone_runtime::{
    Borrow, Cause, Commit, Cx, Entity, Error, Handler, Hot, Input, Key, Message, Millis, Name, Needed, Next, Now,
    Outcome, Produced, Rows, Status, Ticket, Work,
};

use super::{
    Stage, answer,
    codec::{Reader, Record, Writer, pack, unpack},
    malformed, unknown_verb,
};
use crate::sim::faults::panics::on_purpose;

/// The added numbers, in order. The first one names the incarnation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List(pub Vec<u64>);

impl Record for List {
    fn write(&self, out: &mut Writer) {
        out.numbers(&self.0);
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        from.numbers().map(Self)
    }
}

impl List {
    /// The list of an entity, or `None` if its state is not a list.
    pub fn of(entity: Option<&Entity>) -> Option<Self> {
        entity.map_or(Some(Self::default()), |entity| Self::decode(&entity.state))
    }

    /// The answer of every call: the incarnation and the length of the list. Empty for an unbound key.
    fn told(&self) -> Bytes {
        self.0.first().map_or_else(Bytes::new, |first| pack(&[*first, self.0.len() as u64]))
    }
}

/// The verb of the message that a destroyed counter sends, with its whole list.
pub const OBITUARY: Name = Name::new("obituary");

/// The handler.
pub(super) struct Counter(pub(super) Stage);

impl Handler for Counter {
    fn borrow(&self, verb: &str) -> Borrow {
        if verb == "get" { Borrow::Shared } else { Borrow::Exclusive }
    }

    fn turn(&self, _: &mut Hot, _: &Key, entity: Option<&Entity>, _: &Rows, input: &Input, _: Now) -> Next {
        let Some(list) = List::of(entity) else { return Next::Park("not a list".to_owned()) };
        match input {
            Input::Call { verb, body, ticket, .. } => self.asked(list, verb, body, Some(*ticket)),
            Input::Message { verb, body, .. } => self.asked(list, verb, body, None),
            Input::Done { cause, outcome, .. } => ended(entity, cause, outcome),
            _ => Next::nothing(),
        }
    }

    fn work(&self, _: &mut Hot, _: &Entity, _: &Rows, _: Millis) -> Needed<Vec<Work>> {
        Needed::Ready(Vec::new())
    }

    fn run(
        &self,
        _: &mut Hot,
        entity: Option<&Entity>,
        work: &Work,
        cx: Cx,
    ) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        self.0.begins(entity, work, &cx);
        let list = List::of(entity).expect("turns park what is no list");
        let [number] = unpack(&work.input).expect("turns refuse what is no number");
        let end = move || added(list, number);
        if work.pure { Box::pin(ready(end())) } else { Box::pin(self.0.clone().play(cx, work.clone(), end)) }
    }
}

impl Counter {
    fn asked(&self, list: List, verb: &str, body: &Bytes, ticket: Option<Ticket>) -> Next {
        let Some([number]) = unpack(body) else { return malformed(verb) };
        match verb {
            "get" => Next::Commit(Commit { replies: answer(ticket, Ok(list.told())), ..Commit::default() }),
            "add" => Next::Commit(settled(added(list, number), ticket)),
            "run" => Next::Run(code(number, body, true)),
            "slow" => Next::Run(code(number, body, false)),
            "fail" => Next::Refuse(Error::Failed(Bytes::from_static(b"as asked"))),
            "panic" => on_purpose("as asked"),
            "destroy" if list.0.is_empty() => {
                Next::Commit(Commit { replies: answer(ticket, Ok(Bytes::new())), ..Commit::default() })
            }
            "destroy" => {
                let (replies, send) = (answer(ticket, Ok(list.told())), vec![self.obituary(&list)]);
                Next::Commit(Commit { destroy: true, replies, send, ..Commit::default() })
            }
            _ => unknown_verb("counter", verb),
        }
    }

    /// Makes the message that a destroyed counter sends. An addition and the end in the same write leave no
    /// other trace, so the witness reads this.
    fn obituary(&self, list: &List) -> Message {
        let to = self.0.world.cast.letters().clone();
        Message { to, definition: "letters".into(), verb: OBITUARY, body: list.encode() }
    }
}

fn code(number: u64, body: &Bytes, pure: bool) -> Work {
    let id = format!("add/{number:x}");
    let timeout = Some(std::time::Duration::from_millis(300));
    Work { borrow: Borrow::Exclusive, pure, input: body.clone(), timeout, ..Work::new(id) }
}

fn added(mut list: List, number: u64) -> Outcome {
    list.0.push(number);
    Outcome::Ok(Produced { value: list.told(), state: Some(list.encode()), ..Produced::default() })
}

fn ended(entity: Option<&Entity>, cause: &Cause, outcome: &Outcome) -> Next {
    match (cause, outcome) {
        (Cause::Call(ticket), outcome) => Next::Commit(told_of(entity, outcome.clone(), *ticket)),
        (Cause::Message(_), Outcome::Ok(_)) => Next::Commit(settled(outcome.clone(), None)),
        // The message is retried, and becomes a dead letter in the end (M4).
        (Cause::Message(_), _) => Next::Refuse(Error::Failed(Bytes::from_static(b"did not end well"))),
        (Cause::Listed, _) => Next::nothing(),
    }
}

fn told_of(entity: Option<&Entity>, outcome: Outcome, ticket: Ticket) -> Commit {
    let key = entity.map_or_else(|| Key { space: "app".into(), key: Bytes::new() }, |entity| entity.key.clone());
    match outcome {
        Outcome::Ok(_) => settled(outcome, Some(ticket)),
        Outcome::Panicked(message) => Commit::reply(ticket, Err(Error::Panicked { key, message })),
        Outcome::Failed(error) => Commit::reply(ticket, Err(Error::Failed(error))),
        Outcome::Refused(refusal) => Commit::reply(ticket, Err(Error::Failed(refusal.to_string().into()))),
        Outcome::TimedOut | Outcome::Silent => Commit::reply(ticket, Err(Error::Failed(Bytes::from_static(b"no end")))),
    }
}

fn settled(outcome: Outcome, ticket: Option<Ticket>) -> Commit {
    let Outcome::Ok(produced) = outcome else { return Commit::default() };
    Commit {
        state: produced.state,
        status: Some(Status::resting("counting")),
        replies: answer(ticket, Ok(produced.value)),
        ..Commit::default()
    }
}
