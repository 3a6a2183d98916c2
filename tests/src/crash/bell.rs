//! The entity that is woken: armed by one operation, it rings once, not before its time.

use std::{pin::Pin, sync::Arc, time::Duration};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use drystone_runtime::{
    Borrow, Change, Commit, Cx, Definition, Entity, Handler, Hot, Input, Key, Millis, Name, Needed, Next, Outcome,
    Rows, Status, Ticket, To, Work,
};

use super::{
    SPACE,
    op::Op,
    refuse::{malformed, unknown},
};

/// Under this name wait those who want to hear it.
const RUNG: Name = Name::new("rung");

/// Rings when its alarm is due.
pub(super) struct Bell;

/// What a bell has been through, as its record says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Past {
    pub(super) armed: u32,
    pub(super) rung: u32,
    /// How often of those before its time.
    pub(super) early: u32,
}

impl Past {
    pub(super) fn decode(mut head: &[u8]) -> Option<Self> {
        let mut next = || head.try_get_u32().ok();
        Some(Self { armed: next()?, rung: next()?, early: next()? })
    }

    fn encode(self) -> Bytes {
        let mut head = BytesMut::with_capacity(12);
        [self.armed, self.rung, self.early].into_iter().for_each(|count| head.put_u32(count));
        head.freeze()
    }
}

impl Bell {
    pub(super) fn definition() -> Definition {
        let (name, space) = ("bell".into(), SPACE.into());
        Definition { kind: "bell".into(), name, space, config: Bytes::new(), handler: Arc::new(Self) }
    }

    fn call(past: Past, verb: &str, body: &[u8], ticket: Ticket, now: Millis) -> Next {
        let Some(op) = Op::decode(body) else { return malformed(verb) };
        Next::Commit(match verb {
            "arm" => Commit {
                head: Some(Past { armed: past.armed + 1, ..past }.encode()),
                alarm: Change::Set(now.after(Duration::from_millis(op.alarm_ms()))),
                status: Some(Status::live("armed")),
                ..Commit::reply(ticket, Ok(Bytes::new()))
            },
            "rung" if past.rung == 0 => Commit { hold: Some(RUNG), ..Commit::default() },
            "rung" => Commit::reply(ticket, Ok(Bytes::new())),
            _ => return unknown("bell", verb, &["arm", "rung"]),
        })
    }

    fn ring(past: Past, at: Millis, now: Millis) -> Commit {
        let early = past.early + u32::from(now < at);
        Commit {
            head: Some(Past { rung: past.rung + 1, early, ..past }.encode()),
            alarm: Change::Clear,
            status: Some(Status::resting("rung")),
            replies: vec![(To::All(RUNG), Ok(Bytes::new()))],
            ..Commit::default()
        }
    }
}

impl Handler for Bell {
    fn borrow(&self, _: &str) -> Borrow {
        Borrow::None
    }

    fn turn(&self, _: &mut Hot, _: &Key, entity: Option<&Entity>, _: &Rows, input: &Input, now: Millis) -> Next {
        let Some(past) = entity.map_or(Some(Past::default()), |entity| Past::decode(&entity.head)) else {
            return Next::Park("a bell's record has three counts".into());
        };
        match input {
            Input::Call { verb, body, ticket } => Self::call(past, verb, body, *ticket, now),
            Input::Alarm { at } => Next::Commit(Self::ring(past, *at, now)),
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
    fn a_record_comes_back_as_it_was() {
        let past = Past { armed: 1, rung: 2, early: 3 };
        assert_eq!(Past::decode(&past.encode()), Some(past));
        assert_eq!(Past::decode(b"short"), None);
    }
}
