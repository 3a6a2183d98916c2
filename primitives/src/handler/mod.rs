//! The one handler behind every primitive. It joins the pure functions of a kind and the author's code to
//! the kernel.
//!
//! This handler does what all kinds have in common: binding (E1), the author's actions (E3, E5), `start`,
//! `replace`, `state`, `status` and `destroy` (E8), and `#[apply]`. A kind sees only its [`Turn`].

mod asked;
mod asking;
mod calling;
mod ending;
mod head;
mod memory;
mod plain;
mod running;
mod transacting;
mod turning;
mod verbs;

use std::{marker::PhantomData, pin::Pin, sync::Arc};

use drystone_runtime::{
    Borrow, Cause, Cx, Definition, Entity, Handler, Hot, Input, Key, Millis, Name, Needed, Next, Now, Outcome, Rows,
    Ticket, Work,
};

use self::{
    memory::Memory,
    turning::Seen,
    verbs::{OWN_VERBS, Verb},
};
use crate::{
    Acts, Error, OfKind,
    app::key_space::space_of,
    encode,
    kind::{Kind, Turn},
};

pub(crate) use running::is_asked_for;

/// The handler of one definition.
pub(crate) struct Author<T: OfKind, D, A> {
    name: Name,
    kind: T::Kind,
    services: Arc<D>,
    is_shared: bool,
    app: PhantomData<fn() -> A>,
}

/// Builds the definition of a primitive whose behaviour a kind gives. `name` is the name of its field in the
/// app.
pub fn define<T, D, A>(name: &'static str, services: Arc<D>, is_shared: bool) -> Result<Definition, Error>
where
    T: Acts<D, A>,
    D: Send + Sync + 'static,
    A: 'static,
{
    let name = Name::new(name).checked()?;
    let kind = T::kind();
    let config = encode(&kind).map_err(|reason| Error::Malformed { verb: name.to_string(), reason })?;
    let space = space_of(&name, is_shared);
    let handler = Author::<T, D, A> { name: name.clone(), kind, services, is_shared, app: PhantomData };
    Ok(Definition { name, kind: Name::new(T::Kind::NAME), space, config, handler: Arc::new(handler) })
}

type Record<T> = <<T as OfKind>::Kind as Kind>::Record;

impl<T, D, A> Handler for Author<T, D, A>
where
    T: Acts<D, A>,
    D: Send + Sync + 'static,
    A: 'static,
{
    fn borrow(&self, verb: &str) -> Borrow {
        match self.verb(verb) {
            Some(Verb::Replace) => Borrow::Exclusive,
            // The call is recorded at once, and the code borrows the struct later (W6).
            Some(Verb::Action(action)) if action.transaction.is_some() => Borrow::None,
            Some(Verb::Action(action)) if action.writes => Borrow::Exclusive,
            Some(Verb::Action(_)) => Borrow::Shared,
            _ => Borrow::None,
        }
    }

    fn turn(&self, hot: &mut Hot, key: &Key, entity: Option<&Entity>, rows: &Rows, input: &Input, now: Now) -> Next {
        let memory = Memory::of(hot);
        self.take(memory, Seen { key, entity, rows, now, input }, input)
    }

    fn work(&self, hot: &mut Hot, entity: &Entity, _: &Rows, now: Millis) -> Needed<Vec<Work>> {
        let memory = Memory::<T, Record<T>>::of(hot);
        match memory.listing(&entity.head) {
            Ok(known) => Needed::Ready(self.listed(known, entity, now)),
            // The kernel parks the entity with this message, so it is not lost silently (E10).
            Err(reason) => panic!("its record cannot be read: {reason}"),
        }
    }

    fn run(
        &self,
        hot: &mut Hot,
        entity: Option<&Entity>,
        work: &Work,
        cx: Cx,
    ) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        self.start(hot, entity, work, cx)
    }

    fn scripts(&self) -> Vec<Name> {
        transacting::scripts::<T>()
    }
}

impl<T: OfKind, D, A> Author<T, D, A> {
    fn unknown(&self, verb: &str) -> Error {
        let actions = T::CODE.actions.iter().map(|action| action.name);
        let creates = T::CODE.creates.iter().map(|create| create.name);
        let known = OWN_VERBS.iter().chain(T::Kind::VERBS).copied().chain(actions).chain(creates);
        Error::UnknownVerb {
            definition: self.name.to_string(),
            verb: verb.to_owned(),
            known: known.map(str::to_owned).collect(),
        }
    }

    fn turn_of<'a>(&self, record: Record<T>, seen: &Seen<'a>) -> Turn<'a, Record<T>> {
        let author = crate::kind::Author { code: T::CODE, reduce: T::reduce, check_item: T::check_item };
        Turn::new(record, seen.now, seen.key, seen.entity, seen.rows, author).asked_by(caller(seen.input))
    }
}

/// Returns the caller that waits for the result of an input.
fn caller(input: &Input) -> Option<Ticket> {
    match input {
        Input::Call { ticket, .. } | Input::Done { cause: Cause::Call(ticket), .. } => Some(*ticket),
        _ => None,
    }
}
