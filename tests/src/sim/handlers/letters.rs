//! The entity that takes the dead letters of toys: a list of their numbers.

use std::pin::Pin;

use drystone_runtime::{
    Borrow, Commit, Cx, DeadLetter, Entity, Handler, Hot, Input, Key, Millis, Needed, Next, Now, Outcome, Rows, Status,
    Work,
};

use super::{
    OBITUARY, Stage, Uid,
    codec::{Reader, Record, Writer},
    malformed, unknown_verb,
};
use crate::sim::recording::{log::Class, outbox::posted_in, witness::published_in};

/// The numbers of the dead messages, in order.
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

/// The number of a message that may become a dead letter. The body of a toy's message begins with it. An
/// item replayed into a full queue has the number of the item, and an event that goes back to a full topic
/// the number of the event. No other message may die.
fn number_of(letter: &DeadLetter) -> Option<u64> {
    #[derive(serde::Deserialize)]
    struct Replayed {
        item: u64,
    }
    if let Some(number) = posted_in(&letter.verb, &letter.body) {
        return Some(number);
    }
    if letter.verb == "publish" {
        return published_in(&letter.body);
    }
    if letter.verb == "replay_item" {
        return serde_json::from_slice::<[Replayed; 1]>(&letter.body).ok().map(|[replayed]| replayed.item);
    }
    let number = letter.body.first_chunk().map(|number| u64::from_be_bytes(*number))?;
    Uid::of(number).map(|_| number)
}

/// The handler.
pub(super) struct Letters(pub(super) Stage);

impl Letters {
    /// Reports a dead message between primitives, which must never occur (M4).
    fn note(&self, letter: &DeadLetter) {
        let chronicle = &self.0.world.chronicle;
        chronicle.violation(Class::Broken, "M4", format!("a message of the primitives' own died: {letter:?}"));
    }
}

impl Handler for Letters {
    fn borrow(&self, _: &str) -> Borrow {
        Borrow::Exclusive
    }

    fn turn(&self, _: &mut Hot, _: &Key, entity: Option<&Entity>, _: &Rows, input: &Input, _: Now) -> Next {
        let Some(mut pile) = Pile::decode(entity.map_or(&[], |entity| &entity.state)) else {
            return Next::Park("not a pile".to_owned());
        };
        let Input::Message { verb, body, .. } = input else { return Next::nothing() };
        if *verb == OBITUARY {
            // The message is taken without any other effect.
            return Next::nothing();
        }
        if verb != "letter" {
            return unknown_verb("letters", verb);
        }
        let Some(letter) = DeadLetter::decode(body) else { return malformed(verb) };
        let Some(uid) = number_of(&letter) else {
            self.note(&letter);
            return malformed(verb);
        };
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
