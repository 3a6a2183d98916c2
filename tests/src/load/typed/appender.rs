//! A handler written by hand that stores what a buffer stores: a row per call, a head as long as a buffer's,
//! and a dropped lane when the batch is full.

use std::{pin::Pin, sync::Arc};

use bytes::{BufMut, Bytes, BytesMut};
use drystone_runtime::{
    Borrow, Commit, Cx, Definition, DropLane, Entity, Handler, Hot, Input, Key, Lane, Millis, Needed, Next, Now,
    Outcome, Row, Rows, Status, To, Work,
};

/// The bytes of an item.
pub(super) const ITEM_BYTES: usize = 100;
/// The bytes of a buffer's record while it collects.
const HEAD_BYTES: usize = 190;
/// The number of items in a batch of the buffer.
const LANE_MAX: u64 = 1_000;

/// Appends the items of its calls.
pub(super) struct Appender;

/// The body of a call.
pub(super) fn item() -> Bytes {
    Bytes::from_static(&[b'i'; ITEM_BYTES])
}

impl Appender {
    pub(super) fn definition() -> Definition {
        let (name, space) = ("appender".into(), "load".into());
        Definition { kind: "appender".into(), name, space, config: Bytes::new(), handler: Arc::new(Self) }
    }
}

fn count(entity: &Entity) -> u64 {
    entity.head.first_chunk().map_or(0, |count| u64::from_be_bytes(*count))
}

fn head(count: u64) -> Bytes {
    let mut head = BytesMut::with_capacity(HEAD_BYTES);
    head.put_u64(count);
    head.put_bytes(b'h', HEAD_BYTES - size_of::<u64>());
    head.freeze()
}

fn lane(count: u64) -> Lane {
    format!("lane/{}", count / LANE_MAX).into()
}

impl Handler for Appender {
    fn borrow(&self, _: &str) -> Borrow {
        Borrow::None
    }

    fn turn(&self, _: &mut Hot, _: &Key, entity: Option<&Entity>, _: &Rows, input: &Input, _: Now) -> Next {
        let Input::Call { body, ticket, .. } = input else { return Next::nothing() };
        let before = entity.map_or(0, count);
        let after = before + 1;
        let row = Row { lane: lane(before), key: before.to_be_bytes().to_vec().into(), body: body.clone() };
        let is_full = after.is_multiple_of(LANE_MAX);
        // A commit cannot put a row into a lane that it drops, so the last row is left out.
        let (put, drop) =
            if is_full { (None, Some(DropLane { lane: row.lane, held: false })) } else { (Some(row), None) };
        Next::Commit(Commit {
            head: Some(head(after)),
            status: entity.is_none().then(|| Status::live("buffering")),
            put: put.into_iter().collect(),
            drop: drop.into_iter().collect(),
            replies: vec![(To::Ticket(*ticket), Ok(Bytes::from_static(b"added")))],
            ..Commit::default()
        })
    }

    fn work(&self, _: &mut Hot, _: &Entity, _: &Rows, _: Millis) -> Needed<Vec<Work>> {
        Needed::Ready(Vec::new())
    }

    fn run(&self, _: &mut Hot, _: Option<&Entity>, _: &Work, _: Cx) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        unreachable!("an appender lists no work")
    }
}
