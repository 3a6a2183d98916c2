//! A caller: its code calls the next caller on a given path, which may return to an earlier one.

use std::{pin::Pin, time::Duration};

use bytes::Bytes;
use drystone_runtime::{
    Borrow, Call, Cause, Commit, Cx, Entity, Error, Handler, Hot, Input, Key, Millis, Needed, Next, Now, Outcome,
    Produced, Rows, Status, Work,
};

use super::{
    List, Stage,
    codec::{Record, pack, unpack},
    malformed, unknown_verb,
};
use crate::sim::drawing::roster::Number;

/// The rest of a path: up to seven members, the next one in the lowest byte. No caller has the number 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way(pub u64);

/// The answer of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Visit {
    /// The visit reached the end of the path.
    There = 0,
    /// The visit was refused where the path returned to an earlier caller (M3).
    Cycle = 1,
}

impl Way {
    /// The path through these members, in order.
    pub fn through(members: &[Number]) -> Self {
        Self(members.iter().rev().fold(0, |way, member| way << 8 | u64::from(*member)))
    }

    /// The next member, and the path after it.
    pub fn next(self) -> Option<(Number, Self)> {
        (self.0 != 0).then_some((self.0 as Number, Self(self.0 >> 8)))
    }
}

/// The handler.
pub(super) struct Caller(pub(super) Stage);

impl Handler for Caller {
    fn borrow(&self, _: &str) -> Borrow {
        Borrow::Exclusive
    }

    fn turn(&self, _: &mut Hot, _: &Key, _: Option<&Entity>, _: &Rows, input: &Input, _: Now) -> Next {
        match input {
            Input::Call { verb, body, .. } => asked(verb, body),
            Input::Done { cause: Cause::Call(ticket), outcome: Outcome::Ok(produced), .. } => Next::Commit(Commit {
                state: produced.state.clone(),
                status: Some(Status::resting("visited")),
                ..Commit::reply(*ticket, Ok(produced.value.clone()))
            }),
            Input::Done { cause: Cause::Call(ticket), .. } => {
                Next::Commit(Commit::reply(*ticket, Err(Error::Failed(Bytes::from_static(b"no way")))))
            }
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
        let list = List::of(entity).unwrap_or_default();
        let [number, way] = unpack(&work.input).expect("turns refuse what is no visit");
        Box::pin(visit(self.0.clone(), cx, work.clone(), list, number, Way(way)))
    }
}

fn asked(verb: &str, body: &Bytes) -> Next {
    let Some([number, _]) = unpack(body) else { return malformed(verb) };
    if verb != "visit" {
        return unknown_verb("caller", verb);
    }
    let id = format!("visit/{number:x}");
    Next::Run(Work { borrow: Borrow::Exclusive, input: body.clone(), ..Work::new(id) })
}

async fn visit(stage: Stage, cx: Cx, work: Work, mut list: List, number: u64, way: Way) -> Outcome {
    let _running = stage.world.ledger.enter(&stage, &cx, &work);
    let visit = match way.next() {
        None => Visit::There,
        Some((next, rest)) => {
            let key = stage.world.cast.member(next).key.key.clone();
            let call = Call::new("caller", key, "visit", pack(&[number, rest.0])).deadline(Duration::from_secs(2));
            match cx.call(call).await {
                Ok(bytes) if bytes == pack(&[Visit::There as u64]) => Visit::There,
                Ok(_) | Err(Error::Cycle { .. }) => Visit::Cycle,
                Err(_) => return Outcome::Failed(Bytes::from_static(b"no way")),
            }
        }
    };
    list.0.push(number);
    Outcome::Ok(Produced { value: pack(&[visit as u64]), state: Some(list.encode()), ..Produced::default() })
}
