//! The entity that is woken: its alarm counts and is cleared in one commit.

use std::{pin::Pin, sync::Arc};

use bytes::{BufMut, Bytes, BytesMut};
use drystone_runtime::{
    Borrow, Change, Commit, Cx, Definition, Entity, Error, Handler, Hot, Input, Key, Millis, Needed, Next, Outcome,
    Rows, Work,
};

/// Counts how often it rang.
pub(super) struct Bell;

/// What a bell's state says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rung {
    pub(super) times: u64,
    /// What the last alarm was set for.
    pub(super) due: i64,
}

impl Rung {
    /// Reads a state; of a bell that never rang, it is zero.
    pub(super) fn decode(state: &Bytes) -> Option<Self> {
        let (times, due) = (state.get(..8)?.try_into().ok()?, state.get(8..16)?.try_into().ok()?);
        Some(Self { times: u64::from_be_bytes(times), due: i64::from_be_bytes(due) })
    }

    pub(super) fn encode(self) -> Bytes {
        let mut state = BytesMut::with_capacity(16);
        state.put_u64(self.times);
        state.put_i64(self.due);
        state.freeze()
    }
}

impl Bell {
    pub(super) fn definition() -> Definition {
        let (name, space) = ("bell".into(), "load".into());
        Definition { kind: "bell".into(), name, space, config: Bytes::new(), handler: Arc::new(Self) }
    }
}

impl Handler for Bell {
    fn borrow(&self, _: &str) -> Borrow {
        Borrow::None
    }

    fn turn(&self, _: &mut Hot, _: &Key, entity: Option<&Entity>, _: &Rows, input: &Input, _: Millis) -> Next {
        match (input, entity.and_then(|entity| Rung::decode(&entity.state))) {
            (Input::Alarm { at }, Some(rung)) => {
                let state = Some(Rung { times: rung.times + 1, due: at.0 }.encode());
                Next::Commit(Commit { state, alarm: Change::Clear, ..Commit::default() })
            }
            (Input::Call { verb, .. }, _) => Next::Refuse(Error::UnknownVerb {
                definition: "bell".into(),
                verb: verb.to_string(),
                known: Vec::new(),
            }),
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
        let rung = Rung { times: 1, due: -7 };
        assert_eq!(Rung::decode(&rung.encode()), Some(rung));
        assert_eq!(Rung::decode(&Bytes::from_static(b"short")), None);
    }
}
