//! Handlers made of closures, so that a test defines its kind in a line or two.

#![expect(clippy::needless_pass_by_value, reason = "numbers and texts are handed in as they stand")]

use std::{collections::BTreeMap, future::ready, pin::Pin, sync::Arc, time::Duration};

use bytes::Bytes;
use drystone_runtime::{
    Borrow, Call, Cause, Change, Commit, Cx, DeadLetter, Definition, Entity, Error, Handler, Hot, Input, Key,
    Lifecycle, Message, Millis, Needed, Next, Now, Outcome, Produced, Registry, Rows, To, Work,
};

/// Running work, boxed.
pub type Code = Pin<Box<dyn Future<Output = Outcome> + Send>>;

type OnTurn = Box<dyn Fn(&Turn<'_>) -> Next + Send + Sync>;
type OnWork = Box<dyn Fn(&Entity, &Rows, Millis) -> Needed<Vec<Work>> + Send + Sync>;
type OnRun = Box<dyn Fn(Option<&Entity>, &Work, Cx) -> Code + Send + Sync>;

/// A kind made of closures.
pub struct Toy {
    name: &'static str,
    config: Bytes,
    verbs: BTreeMap<&'static str, (Borrow, OnTurn)>,
    others: OnTurn,
    works: OnWork,
    runs: OnRun,
}

/// The view of a turn that a toy's closures get.
pub struct Turn<'a> {
    /// The entity, if one is bound.
    pub entity: Option<&'a Entity>,
    /// The rows that were read for the turn.
    pub rows: &'a Rows,
    /// The input of the turn.
    pub input: &'a Input,
    /// The time of the turn.
    pub now: Millis,
}

impl Toy {
    /// A kind without any verbs.
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            config: Bytes::new(),
            verbs: BTreeMap::new(),
            others: Box::new(settles),
            works: Box::new(|_, _, _| Needed::Ready(Vec::new())),
            runs: Box::new(|_, _, _| Box::pin(ready(Outcome::Ok(Produced::default())))),
        }
    }

    /// Sets the configuration.
    #[must_use]
    pub fn config(mut self, config: &'static str) -> Self {
        self.config = config.into();
        self
    }

    /// Adds a verb that borrows the struct exclusively. It may also come as a message.
    #[must_use]
    pub fn action(self, verb: &'static str, turn: impl Fn(&Turn<'_>) -> Next + Send + Sync + 'static) -> Self {
        self.verb(verb, Borrow::Exclusive, turn)
    }

    /// Adds a verb of the kind itself, which borrows nothing.
    #[must_use]
    pub fn own(self, verb: &'static str, turn: impl Fn(&Turn<'_>) -> Next + Send + Sync + 'static) -> Self {
        self.verb(verb, Borrow::None, turn)
    }

    /// Adds a verb that reads.
    #[must_use]
    pub fn read(self, verb: &'static str, turn: impl Fn(&Turn<'_>) -> Next + Send + Sync + 'static) -> Self {
        self.verb(verb, Borrow::Shared, turn)
    }

    /// Sets the turn for every input that is neither a call nor a message.
    #[must_use]
    pub fn otherwise(mut self, turn: impl Fn(&Turn<'_>) -> Next + Send + Sync + 'static) -> Self {
        self.others = Box::new(turn);
        self
    }

    /// Sets which work should run.
    #[must_use]
    pub fn lists(self, works: impl Fn(&Entity, Millis) -> Vec<Work> + Send + Sync + 'static) -> Self {
        self.lists_rows(move |entity, _, now| Needed::Ready(works(entity, now)))
    }

    /// Sets which work should run, depending on rows.
    #[must_use]
    pub fn lists_rows(
        mut self,
        works: impl Fn(&Entity, &Rows, Millis) -> Needed<Vec<Work>> + Send + Sync + 'static,
    ) -> Self {
        self.works = Box::new(works);
        self
    }

    /// Sets the code that runs the work.
    #[must_use]
    pub fn runs(mut self, runs: impl Fn(Option<&Entity>, &Work, Cx) -> Code + Send + Sync + 'static) -> Self {
        self.runs = Box::new(runs);
        self
    }

    /// A registry with this kind as its only definition.
    pub fn alone(self) -> Registry {
        registry([self])
    }

    fn verb(
        mut self,
        verb: &'static str,
        borrow: Borrow,
        turn: impl Fn(&Turn<'_>) -> Next + Send + Sync + 'static,
    ) -> Self {
        self.verbs.insert(verb, (borrow, Box::new(turn)));
        self
    }
}

impl Handler for Toy {
    fn borrow(&self, verb: &str) -> Borrow {
        self.verbs.get(verb).map_or(Borrow::Exclusive, |(borrow, _)| *borrow)
    }

    fn turn(
        &self,
        _: &mut Hot,
        _: &Key,
        entity: Option<&Entity>,
        rows: &Rows,
        input: &Input,
        Now { at: now, .. }: Now,
    ) -> Next {
        let turn = Turn { entity, rows, input, now };
        match input {
            Input::Call { verb, .. } | Input::Message { verb, .. } => match self.verbs.get(verb.as_str()) {
                Some((_, code)) => code(&turn),
                None => Next::Refuse(Error::UnknownVerb {
                    definition: self.name.to_owned(),
                    verb: verb.to_string(),
                    known: self.verbs.keys().map(ToString::to_string).collect(),
                }),
            },
            _ => (self.others)(&turn),
        }
    }

    fn work(&self, _: &mut Hot, entity: &Entity, rows: &Rows, now: Millis) -> Needed<Vec<Work>> {
        (self.works)(entity, rows, now)
    }

    fn run(&self, _: &mut Hot, entity: Option<&Entity>, work: &Work, cx: Cx) -> Code {
        (self.runs)(entity, work, cx)
    }
}

impl Turn<'_> {
    /// The state as a number. 0 on an unbound key.
    pub fn total(&self) -> u64 {
        self.entity.map_or(0, |entity| number(&entity.state))
    }

    /// The body of the call or message, as text.
    pub fn body(&self) -> String {
        match self.input {
            Input::Call { body, .. } | Input::Message { body, .. } => text(body),
            _ => String::new(),
        }
    }

    /// The body of the call or message, as a number.
    pub fn number(&self) -> u64 {
        self.body().parse().unwrap_or(0)
    }

    /// A commit that writes nothing and answers the caller, if there is a caller.
    pub fn says(&self, reply: impl ToString) -> Commit {
        match self.input {
            Input::Call { ticket, .. } => Commit::reply(*ticket, Ok(reply.to_string().into())),
            _ => Commit::default(),
        }
    }

    /// A commit that sets the state, and answers the caller with it.
    pub fn sets(&self, state: impl ToString) -> Commit {
        Commit { state: Some(state.to_string().into()), ..self.says(state) }
    }
}

/// The default turn of a toy. The end of work writes its state and sends its messages; its value or its
/// error answers the caller. All other inputs change nothing.
pub fn settles(turn: &Turn<'_>) -> Next {
    let Input::Done { cause, outcome, .. } = turn.input else { return Next::nothing() };
    let reply = |reply| match cause {
        Cause::Call(ticket) => vec![(To::Ticket(*ticket), reply)],
        _ => Vec::new(),
    };
    match outcome {
        Outcome::Ok(produced) => Next::Commit(Commit {
            state: produced.state.clone(),
            send: produced.send.clone(),
            replies: reply(Ok(produced.value.clone())),
            ..Commit::default()
        }),
        Outcome::Failed(error) => Next::Refuse(Error::Failed(error.clone())),
        Outcome::Refused(refusal) => Next::Refuse(Error::Failed(refusal.to_string().into())),
        Outcome::Panicked(message) => Next::Refuse(Error::Panicked { key: key("?"), message: message.clone() }),
        other => Next::Refuse(Error::Failed(format!("{other:?}").into())),
    }
}

/// A toy that counts. `add n` adds and answers the total, `get` reads the total, and `peek` reads it by a
/// verb of the kind itself. `fail`, `panic` and `destroy` do what their names say.
pub fn adder() -> Toy {
    adder_named("adder")
}

/// The same toy under another name.
pub fn adder_named(name: &'static str) -> Toy {
    Toy::new(name)
        .action("add", |turn| Next::Commit(turn.sets(turn.total() + turn.number())))
        .action("fail", |_| Next::Refuse(Error::Failed("no".into())))
        .action("panic", |_| panic!("as asked"))
        .own("peek", |turn| Next::Commit(turn.says(turn.total())))
        .own("destroy", |turn| Next::Commit(Commit { destroy: true, ..turn.says("gone") }))
        .read("get", |turn| match turn.entity {
            Some(_) => Next::Commit(turn.says(turn.total())),
            None => Next::Refuse(Error::NotBound { key: key("?") }),
        })
}

/// A toy that takes dead letters. The state has one line per letter.
pub fn letters() -> Toy {
    Toy::new("letters").own("letter", |turn| {
        let Input::Message { body, .. } = turn.input else { return Next::nothing() };
        let dead = DeadLetter::decode(body).expect("the kernel writes letters that can be read");
        let line = format!("{} {} {} after {}: {}", dead.to, dead.verb, text(&dead.body), dead.attempts, dead.reason);
        let before = turn.entity.map_or_else(String::new, |entity| text(&entity.state) + "\n");
        Next::Commit(Commit { state: Some((before + &line).into()), ..Commit::default() })
    })
}

/// A registry with the definitions of these toys.
pub fn registry(toys: impl IntoIterator<Item = Toy>) -> Registry {
    toys.into_iter().fold(Registry::new(), |registry, toy| {
        registry.with(Definition {
            name: toy.name.into(),
            kind: "toy".into(),
            space: SPACE.into(),
            config: toy.config.clone(),
            handler: Arc::new(toy),
        })
    })
}

const SPACE: &str = "app";

/// A key of the toys' space.
pub fn key(key: &str) -> Key {
    Key { space: SPACE.into(), key: Bytes::copy_from_slice(key.as_bytes()) }
}

/// A call of a toy.
pub fn call(definition: &'static str, key: &str, verb: &'static str, body: impl ToString) -> Call {
    Call::new(definition, key.as_bytes().to_vec(), verb, body.to_string())
}

/// A call of `add` on an adder.
pub fn add(key: &str, number: u64) -> Call {
    call("adder", key, "add", number)
}

/// A message to a toy.
pub fn message(definition: &'static str, to: &str, verb: &'static str, body: impl ToString) -> Message {
    Message { to: key(to), definition: definition.into(), verb: verb.into(), body: body.to_string().into() }
}

/// A lifecycle event without fields.
pub fn event(name: &'static str) -> Lifecycle {
    Lifecycle { name: name.into(), fields: BTreeMap::new() }
}

/// An alarm that is set for this long from now.
pub fn alarm_in(now: Millis, span: Duration) -> Change<Millis> {
    Change::Set(now.after(span))
}

/// The outcome of work that sets a state.
pub fn ok(state: impl ToString) -> Outcome {
    let state: Bytes = state.to_string().into();
    Outcome::Ok(Produced { value: state.clone(), state: Some(state), ..Produced::default() })
}

/// The outcome of work that changes nothing.
pub fn done() -> Outcome {
    Outcome::Ok(Produced::default())
}

/// Bytes as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Bytes as a number. 0 if they are not a number.
pub fn number(bytes: &[u8]) -> u64 {
    text(bytes).parse().unwrap_or(0)
}
