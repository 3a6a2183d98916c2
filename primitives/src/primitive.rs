//! The traits of a `#[primitive]` block. Only macro-generated code implements them.

use std::{future::ready, pin::Pin, sync::Arc, time::Duration};

use bytes::Bytes;
use drystone_runtime::Definition;

use crate::{Address, Desk, Env, Error, Transaction, kind::Kind, values::stored::Codec};

/// A definition: an author's struct with `#[primitive]` or `#[workflow]` on its `impl`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a primitive",
    label = "not a primitive",
    note = "write `#[primitive(object)]` (or continuous, buffer …) or `#[workflow]` on `impl {Self}`"
)]
pub trait Primitive: Sized + Send + 'static {
    /// The handle that callers hold, with the verbs of the kind and the author's actions.
    type Handle;

    /// Returns the handle of one key.
    fn handle(address: Address) -> Self::Handle;
}

/// A primitive with the behaviour of a kind: one with `#[primitive]`.
pub trait OfKind: Primitive {
    /// The options of its kind: how the primitive behaves.
    type Kind: Kind;

    /// Whether `start()` can make a state: [`WithInit`](crate::author::WithInit) or
    /// [`IfDefault`](crate::author::IfDefault).
    type Begins;

    /// The names in the `impl` block.
    const CODE: Code;

    /// Returns how the state is stored. A bound of the trait would make a struct without serde an error at
    /// every use.
    fn codec() -> Codec<Self>;

    /// Returns the options that the attribute sets.
    fn kind() -> Self::Kind;

    /// Returns a first state, if `Self` is `Default`.
    fn initial() -> Option<Self>;

    /// Folds an item into the folded value before it: `#[reduce]`.
    fn reduce(_folded: Option<&[u8]>, _item: &[u8]) -> Result<Bytes, String> {
        Err("it has no `#[reduce]`".to_owned())
    }

    /// Checks that the hook can take an item; the error has the path and the reason.
    fn check_item(_item: &[u8]) -> Result<(), String> {
        Ok(())
    }
}

/// The names in an `impl` block, and the needs of each function.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    /// The author's own actions.
    pub actions: &'static [Action],
    /// The hooks of the kind.
    pub hooks: &'static [HookCode],
    /// The author's constructors: `#[create]`.
    pub creates: &'static [Create],
    /// Whether there is an `#[init]`, and if so, whether it acts on nothing outside.
    pub init: Option<Pure>,
    /// Whether there is a `#[destroy]`.
    pub has_destroy: bool,
    /// Whether the `#[destroy]` is transactional (W6).
    pub destroy_transaction: bool,
    /// Whether there is a `#[reduce]`.
    pub has_reduce: bool,
}

/// An action of the author.
#[derive(Clone, Copy, Debug)]
pub struct Action {
    /// The name of the action.
    pub name: &'static str,
    /// Whether it takes `&mut self`.
    pub writes: bool,
    /// Whether the action acts on nothing outside, because it has neither services nor clients.
    pub pure: Pure,
    /// Whether the action writes, takes only its input, and awaits nothing. Such an action runs within the
    /// turn of its call.
    pub plain: bool,
    /// Whether the action writes tables of the author in a transaction (W6), and how long that may take.
    pub transaction: Option<Option<Duration>>,
}

/// A constructor of the author: `#[create]`.
#[derive(Clone, Copy, Debug)]
pub struct Create {
    /// The name of the constructor.
    pub name: &'static str,
    /// Whether the constructor acts on nothing outside, because it has neither services nor clients.
    pub pure: Pure,
}

/// A hook of the kind, as the author wrote it.
#[derive(Clone, Copy, Debug)]
pub struct HookCode {
    /// The name of the hook.
    pub name: &'static str,
    /// Whether it takes `&mut self`.
    pub writes: bool,
    /// Whether its return value is given to `#[apply]`.
    pub applies: bool,
    /// Whether the hook writes tables of the author in a transaction (W6).
    pub transaction: bool,
}

/// Whether code acts on nothing outside.
pub type Pure = bool;

/// A primitive that runs with the services `D` as a part of the app `A`.
pub trait Runs<D, A>: Primitive {
    /// Makes the definition, under the name of the primitive's field.
    fn define(name: &'static str, services: Arc<D>, is_shared: bool) -> Result<Definition, Error>;
}

/// The author's code, run with the services `D` as a part of the app `A`.
pub trait Acts<D, A>: OfKind {
    /// Runs a `&self` action or hook.
    fn read<'a>(&'a self, name: &'a str, given: Given, env: &'a Env<D, A>) -> Running<'a>;

    /// Runs a `&mut self` action or hook.
    fn write<'a>(&'a mut self, name: &'a str, given: Given, env: &'a Env<D, A>) -> Running<'a>;

    /// Runs a `&mut self` action that takes nothing but its input and waits for nothing.
    fn act(&mut self, _name: &str, _given: Given) -> impl Future<Output = Result<Bytes, Thrown>> + Send {
        ready(Err(Thrown::Unknown))
    }

    /// Makes a state: by the `#[create]` of this name, or by `#[init]`, whose name here is `#init`.
    fn make<'a>(name: &'a str, given: Given, env: &'a Env<D, A>) -> Making<'a, Self>;

    /// Runs a transactional hook or action.
    fn transact(&mut self, _name: &str, _given: Given, _sql: &mut Transaction<'_>) -> Result<Bytes, Thrown> {
        Err(Thrown::Unknown)
    }
}

/// Running author code; its return value is encoded as JSON.
pub type Running<'a> = Pin<Box<dyn Future<Output = Result<Bytes, Thrown>> + Send + 'a>>;

/// A state that is being made.
pub type Making<'a, T> = Pin<Box<dyn Future<Output = Result<T, Thrown>> + Send + 'a>>;

/// Why code returned no value.
#[derive(Debug)]
pub enum Thrown {
    /// The author's own error, as JSON.
    Failed(Bytes),
    /// The input cannot be read.
    Malformed(String),
    /// The return value cannot be encoded.
    Unwritable(String),
    /// The name is unknown.
    Unknown,
}

impl From<String> for Thrown {
    fn from(reason: String) -> Self {
        Self::Malformed(reason)
    }
}

/// The input of a piece of code: a JSON text, and rows for a hook that takes many items.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// The parameters of an action or a constructor, or the JSON that a kind gives its hook.
    pub body: Bytes,
    /// Items, in order.
    pub rows: Vec<Bytes>,
    /// The run of the hook; `None` for other code.
    pub run: Option<HookRun>,
}

/// One run of a hook.
#[derive(Clone, Debug, Default)]
pub struct HookRun {
    /// The [work id](crate::Context::work_id) of the run.
    pub id: String,
    /// The number of the run.
    pub number: u64,
    /// The number of the attempt, from 1.
    pub attempt: u32,
}

/// A type that a hook takes: `Batch<T>` for `#[flush]`.
#[diagnostic::on_unimplemented(
    message = "this hook does not take `{Self}`",
    label = "not what the hook takes",
    note = "see the page of the kind for what its hook is given; services are taken by reference: `&T`"
)]
pub trait TakenBy<H>: Sized {
    /// Reads the value.
    fn take(given: Given) -> Result<Self, String>;

    /// Checks that one item can be a part of the value.
    fn check_item(_item: &[u8]) -> Result<(), String> {
        Ok(())
    }
}

/// A primitive that is one field of an app.
#[diagnostic::on_unimplemented(
    message = "the app `{A}` has no primitive `{Self}`, or has it twice",
    label = "not one field of `{A}`",
    note = "add one field of type `{Self}` to `{A}`, which has `#[derive(Primitives)]`"
)]
pub trait PartOf<A> {
    /// The name of the field.
    const NAME: &'static str;
}

/// An app: the struct with `#[derive(Primitives)]`, run with the services `D`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an app",
    label = "not an app",
    note = "list the primitives in a struct: `#[derive(Primitives)] struct App {{ cart: Cart }}`"
)]
pub trait App<D>: Primitives {
    /// Registers each primitive under the name of its field.
    fn register(registrar: &mut crate::Registrar<D, Self>);
}

/// An app, whatever its services.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an app",
    label = "not an app",
    note = "list the primitives in a struct: `#[derive(Primitives)] struct App {{ cart: Cart }}`"
)]
pub trait Primitives: Sized + 'static {
    /// The typed client: one method per field.
    type Client;

    /// Returns the client whose calls are made from this desk.
    fn client(desk: Desk) -> Self::Client;
}
