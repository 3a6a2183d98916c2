//! An entity with an alarm. The alarm is set by a call or when the entity is bound. A ring is counted, and
//! the alarm cleared, in a single commit.

use std::{pin::Pin, sync::Arc, time::Duration};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use drystone_runtime::{
    Borrow, Change, Commit, Cx, Definition, Entity, Handler, Hot, Input, Key, Millis, Name, Needed, Next, Now, Outcome,
    Rows, Status, Ticket, To, Work,
};

use crate::refuse::{malformed, unknown};

/// Callers who wait for the bell to ring are held under this name.
const RUNG: Name = Name::new("rung");

/// A bell, which rings when its alarm is due.
pub(crate) struct Bell;

/// The past of a bell, as its state stores it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Past {
    pub(crate) armed: u32,
    pub(crate) rung: u32,
    /// How many times it rang too early.
    pub(crate) early: u32,
    /// The time for which the last alarm was set.
    pub(crate) due: i64,
}

impl Past {
    pub(crate) fn decode(mut state: &[u8]) -> Option<Self> {
        let mut next = || state.try_get_u32().ok();
        let (armed, rung, early) = (next()?, next()?, next()?);
        Some(Self { armed, rung, early, due: state.try_get_i64().ok()? })
    }

    pub(crate) fn encode(self) -> Bytes {
        let mut state = BytesMut::with_capacity(20);
        [self.armed, self.rung, self.early].into_iter().for_each(|count| state.put_u32(count));
        state.put_i64(self.due);
        state.freeze()
    }
}

impl Bell {
    pub(crate) fn definition(space: &'static str) -> Definition {
        let (name, space) = ("bell".into(), space.into());
        Definition { kind: "bell".into(), name, space, config: Bytes::new(), handler: Arc::new(Self) }
    }

    fn call(past: Past, is_there: bool, verb: &str, body: &[u8], ticket: Ticket, now: Millis) -> Next {
        Next::Commit(match verb {
            "arm" => match body.first_chunk() {
                Some(millis) => arm(past, Duration::from_millis(u64::from_be_bytes(*millis)), ticket, now),
                None => return malformed(verb),
            },
            "rung" if past.rung == 0 => Commit { hold: Some(RUNG), ..Commit::default() },
            "rung" => Commit::reply(ticket, Ok(Bytes::new())),
            "forget" => Commit { destroy: is_there, ..Commit::reply(ticket, Ok(Bytes::new())) },
            _ => return unknown("bell", verb, &["arm", "rung", "forget"]),
        })
    }
}

fn arm(past: Past, after: Duration, ticket: Ticket, now: Millis) -> Commit {
    Commit {
        state: Some(Past { armed: past.armed + 1, ..past }.encode()),
        alarm: Change::Set(now.after(after)),
        status: Some(Status::live("armed")),
        ..Commit::reply(ticket, Ok(Bytes::new()))
    }
}

/// A bell that was not armed by a call keeps the status that it was bound with. Then only count and alarm
/// are written.
fn ring(past: Past, at: Millis, now: Millis) -> Commit {
    let early = past.early + u32::from(now < at);
    Commit {
        state: Some(Past { rung: past.rung + 1, early, due: at.0, ..past }.encode()),
        alarm: Change::Clear,
        status: (past.armed > 0).then(|| Status::resting("rung")),
        replies: vec![(To::All(RUNG), Ok(Bytes::new()))],
        ..Commit::default()
    }
}

impl Handler for Bell {
    fn borrow(&self, verb: &str) -> Borrow {
        if verb == "arm" { Borrow::Exclusive } else { Borrow::None }
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
        let Some(past) = entity.map_or(Some(Past::default()), |entity| Past::decode(&entity.state)) else {
            return Next::Park("a bell's state is three counts and a time".into());
        };
        match input {
            Input::Call { verb, body, ticket, .. } => Self::call(past, entity.is_some(), verb, body, *ticket, now),
            Input::Alarm { at } => Next::Commit(ring(past, *at, now)),
            _ => Next::nothing(),
        }
    }

    fn work(&self, _: &mut Hot, _: &Entity, _: &Rows, _: Millis) -> Needed<Vec<Work>> {
        Needed::Ready(Vec::new())
    }

    fn run(&self, _: &mut Hot, _: Option<&Entity>, _: &Work, _: Cx) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        unreachable!("a bell lists no work")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_comes_back_as_it_was() {
        let past = Past { armed: 1, rung: 2, early: 3, due: -7 };
        assert_eq!(Past::decode(&past.encode()), Some(past));
        assert_eq!(Past::decode(b"short"), None);
    }
}
