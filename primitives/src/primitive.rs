//! What `#[primitive]` makes of an `impl` block. Generated code implements these traits; nobody else does.

use std::{future::ready, pin::Pin, sync::Arc, time::Duration};

use bytes::Bytes;
use drystone_runtime::Definition;

use crate::{Address, Desk, Env, Error, Transaction, kind::Kind, stored::Codec};

/// A definition: an author's struct with `#[primitive]` or `#[workflow]` on its `impl`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a primitive",
    label = "not a primitive",
    note = "write `#[primitive(object)]` (or continuous, buffer …) or `#[workflow]` on `impl {Self}`"
)]
pub trait Primitive: Sized + Send + 'static {
    /// What its callers hold: its verbs, and the author's own.
    type Handle;

    /// The handle of one key.
    fn handle(address: Address) -> Self::Handle;
}

/// A primitive that a kind gives its behaviour: one with `#[primitive]`.
pub trait OfKind: Primitive {
    /// How it behaves: the options of its kind.
    type Kind: Kind;

    /// Whether `start()` can make a state: [`WithInit`](crate::author::WithInit) or [`IfDefault`](crate::author::IfDefault).
    type Begins;

    /// What there is in the `impl` block.
    const CODE: Code;

    /// How the state is stored. As a bound of the trait, a struct without serde would be an error wherever it is named.
    fn codec() -> Codec<Self>;

    /// The options, as the attribute says.
    fn kind() -> Self::Kind;

    /// A state to begin with, if `Self` is `Default`.
    fn initial() -> Option<Self>;

    /// Folds an item into what was folded before: `#[reduce]`.
    fn reduce(_folded: Option<&[u8]>, _item: &[u8]) -> Result<Bytes, String> {
        Err("it has no `#[reduce]`".to_owned())
    }

    /// Whether an item is one that its hook takes; the path and the reason if not.
    fn check_item(_item: &[u8]) -> Result<(), String> {
        Ok(())
    }
}

/// The names in an `impl` block, and what each needs.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    /// The author's own actions.
    pub actions: &'static [Action],
    /// The hooks of its kind.
    pub hooks: &'static [HookCode],
    /// The author's constructors: `#[create]`.
    pub creates: &'static [Create],
    /// Whether there is an `#[init]`, and whether it acts on nothing outside.
    pub init: Option<Pure>,
    /// Whether there is a `#[destroy]`.
    pub has_destroy: bool,
    /// Whether it is transactional (W6).
    pub destroy_transaction: bool,
    /// Whether there is a `#[reduce]`.
    pub has_reduce: bool,
}

/// An action of the author's.
#[derive(Clone, Copy, Debug)]
pub struct Action {
    /// Its name.
    pub name: &'static str,
    /// `&mut self`.
    pub writes: bool,
    /// Whether it acts on nothing outside: it has neither services nor clients.
    pub pure: Pure,
    /// Whether it writes, takes nothing but its input, and waits for nothing: it is run within the turn of its call.
    pub plain: bool,
    /// Whether it writes tables of the author's, in a transaction (W6), and how long that may take.
    pub transaction: Option<Option<Duration>>,
}

/// A constructor of the author's: `#[create]`.
#[derive(Clone, Copy, Debug)]
pub struct Create {
    /// Its name.
    pub name: &'static str,
    /// Whether it acts on nothing outside: it has neither services nor clients.
    pub pure: Pure,
}

/// A hook of the kind's, as the author wrote it.
#[derive(Clone, Copy, Debug)]
pub struct HookCode {
    /// Its name.
    pub name: &'static str,
    /// `&mut self`.
    pub writes: bool,
    /// Whether what it returns is given to `#[apply]`.
    pub applies: bool,
    /// Whether it writes tables of the author's, in a transaction (W6).
    pub transaction: bool,
}

/// Whether code acts on nothing outside.
pub type Pure = bool;

/// A primitive that runs with the services `D` as a part of the app `A`.
pub trait Runs<D, A>: Primitive {
    /// Its definition, under the name of its field.
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

/// The author's code under way: what it returned, as JSON.
pub type Running<'a> = Pin<Box<dyn Future<Output = Result<Bytes, Thrown>> + Send + 'a>>;

/// A state in the making.
pub type Making<'a, T> = Pin<Box<dyn Future<Output = Result<T, Thrown>> + Send + 'a>>;

/// Why code did not return a value.
#[derive(Debug)]
pub enum Thrown {
    /// The author's own error, as JSON.
    Failed(Bytes),
    /// Its input cannot be read.
    Malformed(String),
    /// What it returned cannot be written.
    Unwritable(String),
    /// There is no such code.
    Unknown,
}

impl From<String> for Thrown {
    fn from(reason: String) -> Self {
        Self::Malformed(reason)
    }
}

/// What a piece of code is given: a JSON text, and rows for a hook that takes many items.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// The parameters of an action or a constructor; what its kind tells a hook.
    pub body: Bytes,
    /// Items, in order.
    pub rows: Vec<Bytes>,
    /// Which run of a hook it is; `None` for other code.
    pub run: Option<HookRun>,
}

/// Which run of a hook.
#[derive(Clone, Debug, Default)]
pub struct HookRun {
    /// Its [work id](crate::Context::work_id).
    pub id: String,
    /// Its number.
    pub number: u64,
    /// Which attempt of it, from 1.
    pub attempt: u32,
}

/// Something that a hook takes: `Batch<T>` by `#[flush]`.
#[diagnostic::on_unimplemented(
    message = "this hook does not take `{Self}`",
    label = "not what the hook takes",
    note = "see the page of the kind for what its hook is given; services are taken by reference: `&T`"
)]
pub trait TakenBy<H>: Sized {
    /// Reads it.
    fn take(given: Given) -> Result<Self, String>;

    /// Whether one item is one of it.
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
    /// Its field.
    const NAME: &'static str;
}

/// An app: the struct with `#[derive(Primitives)]`, run with the services `D`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an app",
    label = "not an app",
    note = "list the primitives in a struct: `#[derive(Primitives)] struct App {{ cart: Cart }}`"
)]
pub trait App<D>: Primitives {
    /// Hands each primitive to `registrar`, by the name of its field.
    fn register(registrar: &mut crate::Registrar<D, Self>);
}

/// An app, whatever its services are.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an app",
    label = "not an app",
    note = "list the primitives in a struct: `#[derive(Primitives)] struct App {{ cart: Cart }}`"
)]
pub trait Primitives: Sized + 'static {
    /// Its typed client: one method per field.
    type Client;

    /// The client at a desk.
    fn client(desk: Desk) -> Self::Client;
}
