//! Where dead letters go: a list of them.

use std::pin::Pin;

use drystone_runtime::{
    Borrow, Commit, Cx, DeadLetter, Entity, Handler, Hot, Input, Key, Millis, Needed, Next, Outcome, Rows, Status, Work,
};

use super::{
    OBITUARY,
    codec::{Reader, Record, Writer},
    malformed, unknown_verb,
};

/// The messages that died, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pile(pub Vec<u64>);

impl Record for Pile {
    fn write(&self, out: &mut Writer) {
        out.numbers(&self.0);
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        from.numbers().map(Self)
    }
}

/// The handler.
pub(super) struct Letters;

impl Handler for Letters {
    fn borrow(&self, _: &str) -> Borrow {
        Borrow::Exclusive
    }

    fn turn(&self, _: &mut Hot, _: &Key, entity: Option<&Entity>, _: &Rows, input: &Input, _: Millis) -> Next {
        let Some(mut pile) = Pile::decode(entity.map_or(&[], |entity| &entity.state)) else {
            return Next::Park("not a pile".to_owned());
        };
        let Input::Message { verb, body, .. } = input else { return Next::nothing() };
        if *verb == OBITUARY {
            // Taken, and that is all: nothing is written but that it was.
            return Next::nothing();
        }
        if verb != "letter" {
            return unknown_verb("letters", verb);
        }
        // Every body of a toy's message begins with its number.
        let uid = DeadLetter::decode(body)
            .and_then(|letter| letter.body.first_chunk::<8>().map(|number| u64::from_be_bytes(*number)));
        let Some(uid) = uid else { return malformed(verb) };
        pile.0.push(uid);
        let status = Some(Status::resting("keeping"));
        Next::Commit(Commit { state: Some(pile.encode()), status, ..Commit::default() })
    }

    fn work(&self, _: &mut Hot, _: &Entity, _: &Rows, _: Millis) -> Needed<Vec<Work>> {
        Needed::Ready(Vec::new())
    }

    fn run(&self, _: &mut Hot, _: Option<&Entity>, _: &Work, _: Cx) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        unreachable!("letters list no work")
    }
}
