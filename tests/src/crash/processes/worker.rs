//! An entity that works. Each piece of work acts on another entity and ends once. One piece kills the
//! process a few times.

use std::{pin::Pin, sync::Arc};

use bytes::Bytes;
use drystone_runtime::{
    Borrow, Call, Commit, Cx, Definition, Entity, Handler, Hot, Input, Key, Millis, Name, Needed, Next, Now, Outcome,
    Produced, Rows, Status, Ticket, To, Work, WorkId,
};

use crate::{
    crash::{
        SPACE,
        judging::{guilt, said::Said},
        log::Entry,
        op::{GUILTY, Op, ledger},
        parts::{
            counter::forget,
            part::Part,
            pieces::{Pieces, name},
        },
    },
    refuse::{malformed, unknown},
};

/// Callers who wait for the worker to have nothing left to do are held under this name.
const IDLE: Name = Name::new("idle");

/// Works on all its pieces at the same time.
pub(in crate::crash) struct Worker;

impl Worker {
    pub(in crate::crash) fn definition() -> Definition {
        let (name, space) = ("worker".into(), SPACE.into());
        Definition { kind: "worker".into(), name, space, config: Bytes::new(), handler: Arc::new(Self) }
    }

    fn call(mut pieces: Pieces, is_there: bool, verb: &str, body: &[u8], ticket: Ticket) -> Next {
        if verb == "forget" {
            return forget(is_there, ticket);
        }
        let Some(op) = Op::decode(body) else { return malformed(verb) };
        Next::Commit(match verb {
            "work" => {
                pieces.open.push((op, 1));
                let (head, status) = (Some(pieces.encode()), Some(Status::live("working")));
                Commit { head, status, ..Commit::reply(ticket, Ok(Bytes::new())) }
            }
            "idle" if !pieces.open.is_empty() => Commit { hold: Some(IDLE), ..Commit::default() },
            "idle" => Commit::reply(ticket, Ok(Bytes::new())),
            _ => return unknown("worker", verb, &["work", "idle", "forget"]),
        })
    }

    fn done(mut pieces: Pieces, work: &WorkId, outcome: &Outcome) -> Commit {
        let Some(place) = pieces.find(work) else { return Commit::default() };
        let crashed = match outcome {
            Outcome::Ok(_) => pieces.open[place].0 == GUILTY,
            _ => {
                pieces.open[place].1 += 1;
                return Commit { head: Some(pieces.encode()), ..Commit::default() };
            }
        };
        let (op, _) = pieces.open.remove(place);
        pieces.ended += 1;
        let row = Entry { nth: pieces.ended, op, crashed }.row();
        let commit = Commit { head: Some(pieces.encode()), put: vec![row], ..Commit::default() };
        if pieces.open.is_empty() { at_rest(commit) } else { commit }
    }
}

fn at_rest(commit: Commit) -> Commit {
    let replies = vec![(To::All(IDLE), Ok(Bytes::new()))];
    Commit { status: Some(Status::resting("idle")), replies, ..commit }
}

/// Runs one piece of work, which adds itself to the ledger. The idempotency key makes it count once, however
/// often it runs.
async fn piece(op: Op, cx: Cx) -> Outcome {
    Part::Work.moved();
    Said::Ran(op).aloud();
    if op == GUILTY {
        guilt::kill("work");
        return Outcome::Ok(Produced::default());
    }
    let call = Call::new("counter", ledger(op.round()), "add", op.encode()).once(name(op));
    match cx.call(call).await {
        Ok(_) => Outcome::Ok(Produced::default()),
        Err(error) => Outcome::Failed(error.to_string().into()),
    }
}

impl Handler for Worker {
    fn borrow(&self, _: &str) -> Borrow {
        Borrow::None
    }

    fn turn(&self, _: &mut Hot, _: &Key, entity: Option<&Entity>, _: &Rows, input: &Input, _: Now) -> Next {
        let Some(pieces) = entity.map_or(Some(Pieces::default()), |entity| Pieces::decode(&entity.head)) else {
            return Next::Park("a worker's record is cut".into());
        };
        match input {
            Input::Call { verb, body, ticket, .. } => Self::call(pieces, entity.is_some(), verb, body, *ticket),
            Input::Done { work, outcome, .. } => Next::Commit(Self::done(pieces, work, outcome)),
            _ => Next::nothing(),
        }
    }

    fn work(&self, _: &mut Hot, entity: &Entity, _: &Rows, _: Millis) -> Needed<Vec<Work>> {
        Needed::Ready(Pieces::decode(&entity.head).map(|pieces| pieces.work()).unwrap_or_default())
    }

    fn run(
        &self,
        _: &mut Hot,
        _: Option<&Entity>,
        work: &Work,
        cx: Cx,
    ) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        match Op::decode(&work.input) {
            Some(op) => Box::pin(piece(op, cx)),
            None => Box::pin(async { Outcome::Failed("there is no operation in it".into()) }),
        }
    }
}
