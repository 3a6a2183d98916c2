//! The entity that is written to. A `put` is one pure turn, one commit of 200 bytes, and an answer of eight
//! bytes.

use std::{pin::Pin, sync::Arc};

use bytes::{Bytes, BytesMut};
use drystone_runtime::{
    Borrow, Commit, Cx, Definition, Entity, Handler, Hot, Input, Key, Millis, Needed, Next, Now, Outcome, Rows, To,
    Work,
};

/// The bytes of a state: a count and padding.
const STATE_BYTES: usize = 200;
const COUNT_BYTES: usize = 8;

/// Counts its calls.
pub(super) struct Adder;

impl Adder {
    pub(super) fn definition() -> Definition {
        let (name, space) = ("adder".into(), "load".into());
        Definition { kind: "adder".into(), name, space, config: Bytes::new(), handler: Arc::new(Self) }
    }

    /// The state of an adder that was never called.
    pub(super) fn state() -> Bytes {
        Bytes::from_static(&[0; STATE_BYTES])
    }
}

impl Handler for Adder {
    fn borrow(&self, _: &str) -> Borrow {
        Borrow::Exclusive
    }

    fn turn(&self, _: &mut Hot, _: &Key, entity: Option<&Entity>, _: &Rows, input: &Input, _: Now) -> Next {
        let Input::Call { body, ticket, .. } = input else { return Next::nothing() };
        let count = entity.and_then(|entity| entity.state.first_chunk()).map_or(0, |count| u64::from_be_bytes(*count));
        let mut state = BytesMut::with_capacity(STATE_BYTES);
        state.extend_from_slice(&(count + 1).to_be_bytes());
        state.extend_from_slice(body);
        let state = state.freeze();
        let replies = vec![(To::Ticket(*ticket), Ok(state.slice(..COUNT_BYTES)))];
        Next::Commit(Commit { state: Some(state), replies, ..Commit::default() })
    }

    fn work(&self, _: &mut Hot, _: &Entity, _: &Rows, _: Millis) -> Needed<Vec<Work>> {
        Needed::Ready(Vec::new())
    }

    fn run(&self, _: &mut Hot, _: Option<&Entity>, _: &Work, _: Cx) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        unreachable!("an adder lists no work")
    }
}

/// The body of a call: the whole new state except for the count.
pub(super) fn body() -> Bytes {
    Bytes::from_static(&[1; STATE_BYTES - COUNT_BYTES])
}
