//! What `#[primitive]` makes of an `impl` block. Generated code implements these traits; nobody else does.

use std::{any::type_name, marker::PhantomData, pin::Pin, sync::Arc};

use bytes::Bytes;

use crate::{
    Address, Call, Context, Desk, Failure, Provide, Stored, context::Outbox, decode, encode, kind::Kind, stored::Codec,
};

/// A definition: an author's struct with `#[primitive]` on its `impl`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a primitive",
    label = "not a primitive",
    note = "write `#[primitive(object)]` (or continuous, buffer …) on `impl {Self}`"
)]
pub trait Primitive: Sized + Send + 'static {
    /// How it behaves: the options of its kind.
    type Kind: Kind;
    /// What its callers hold: the kind's verbs and the author's actions.
    type Handle;

    /// What there is in the `impl` block.
    const CODE: Code;

    /// How the state is stored. As a bound of the trait, a struct without serde would be an error wherever it is named.
    fn codec() -> Codec<Self>;

    /// The options, as the attribute says.
    fn kind() -> Self::Kind;

    /// The handle of one key.
    fn handle(address: Address) -> Self::Handle;

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
}

/// Whether code acts on nothing outside.
pub type Pure = bool;

/// The author's code, run with the services `D` as a part of the app `A`.
pub trait Runs<D, A>: Primitive {
    /// Runs a `&self` action or hook.
    fn read<'a>(&'a self, name: &'a str, given: Given, env: &'a Env<D, A>) -> Running<'a>;

    /// Runs a `&mut self` action or hook.
    fn write<'a>(&'a mut self, name: &'a str, given: Given, env: &'a Env<D, A>) -> Running<'a>;

    /// Makes a state: by the `#[create]` of this name, or by `#[init]`, whose name here is `#init`.
    fn make<'a>(name: &'a str, given: Given, env: &'a Env<D, A>) -> Making<'a, Self>;
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
    /// Its input, or what it returned, cannot be read or written.
    Malformed(String),
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
}

/// Something that a hook takes: `Batch<T>` by `#[flush]`.
#[diagnostic::on_unimplemented(
    message = "`#[{H}]` does not take `{Self}`",
    label = "not what `#[{H}]` takes",
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

/// What code runs with: services, circumstances, and the clients of the app's other primitives.
pub struct Env<D, A> {
    services: Arc<D>,
    context: Context,
    app: PhantomData<fn() -> A>,
}

impl<D, A> Env<D, A> {
    pub(crate) fn new(services: Arc<D>, context: Context) -> Self {
        Self { services, context, app: PhantomData }
    }

    /// The service of a type.
    pub fn service<T: ?Sized>(&self) -> &T
    where
        D: Provide<T>,
    {
        self.services.provide()
    }

    /// The circumstances.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The client of another primitive of the app.
    pub fn client<T: PartOf<A> + Primitive>(&self) -> Client<T> {
        Client { outbox: self.context.outbox(), desk: self.context.desk(), name: T::NAME, primitive: PhantomData }
    }
}

impl<D, A> std::fmt::Debug for Env<D, A> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Env").field("services", &type_name::<D>()).field("context", &self.context).finish()
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

/// The client of another primitive, in an entity's code: take it as a parameter, `contacts: &Client<ContactSync>`.
///
/// `contacts.get("org-456").add(contact).await` calls and waits, with the entities that wait for this one in mind: a call
/// in a circle is refused (M3). `contacts.send(contacts.get("org-456").add(contact))` does not wait: the message is a part
/// of this code's commit, and happens exactly once if the code succeeds (M1).
pub struct Client<T> {
    outbox: Outbox,
    desk: Desk,
    name: &'static str,
    primitive: PhantomData<fn() -> T>,
}

impl<T: Primitive> Client<T> {
    /// The handle of one key.
    pub fn get(&self, key: impl AsRef<[u8]>) -> T::Handle {
        T::handle(self.desk.address(self.name, key))
    }

    /// Sends the call as a message, with the commit of this code's success; nobody waits for its answer.
    pub fn send<V, E>(&self, call: Call<V, E>) {
        self.outbox.send(call);
    }
}

impl<T> std::fmt::Debug for Client<T> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Client({})", self.name)
    }
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

/// The error of a hook: it is told and never received, so any will do.
#[diagnostic::on_unimplemented(
    message = "the error `{Self}` cannot be told: it is not an `Error`",
    label = "not a `std::error::Error`",
    note = "implement `std::error::Error` for it, or return `Result<_, drystone::Failure>`: `?` turns any error (anyhow's too) into a `Failure`"
)]
pub trait HookError: Into<Failure> {}

#[diagnostic::do_not_recommend]
impl<E: Into<Failure>> HookError for E {}

/// The two types of a `Result`, whatever the alias that it is behind.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a `Result`, although its name says so",
    label = "not a `Result`",
    note = "write `Result<T, E>`, or give the type another name"
)]
pub trait Outcome {
    /// What it is when all went well.
    type Ok;
    /// Its error.
    type Err;
}

impl<T, E> Outcome for Result<T, E> {
    type Ok = T;
    type Err = E;
}

/// The return value of a hook.
pub fn hook_ended<T, E: HookError>(
    ended: Result<T, E>,
    write: impl FnOnce(&T) -> Result<Bytes, Thrown>,
) -> Result<Bytes, Thrown> {
    match ended {
        Ok(value) => write(&value),
        Err(error) => Err(Thrown::Failed(encode(&error.into())?)),
    }
}

/// The return value of an action that can fail.
pub fn action_ended<T, E>(ended: Result<T, E>, value: Codec<T>, error: Codec<E>) -> Result<Bytes, Thrown> {
    match ended {
        Ok(answer) => Ok(value.write(&answer)?),
        Err(thrown) => Err(Thrown::Failed(error.write(&thrown)?)),
    }
}

/// The return value of code that cannot fail.
pub fn returned<T>(value: &T, codec: Codec<T>) -> Result<Bytes, Thrown> {
    Ok(codec.write(value)?)
}

/// The return value of a hook that returns nothing.
pub fn nothing(_: &()) -> Result<Bytes, Thrown> {
    Ok(Bytes::new())
}

/// The state that an `#[init]` made. Its error is told and not handed over: each action has an error type of its own, and
/// callers would read it as that.
pub fn made<T, E: HookError>(made: Result<T, E>) -> Result<T, Thrown> {
    made.map_err(|error| Thrown::Malformed(format!("no state could be made: {}", error.into())))
}

/// The state that a `#[create]` made. It is called by its own name, so its error is its caller's.
pub fn created<T, E>(created: Result<T, E>, error: Codec<E>) -> Result<T, Thrown> {
    match created {
        Ok(state) => Ok(state),
        Err(thrown) => Err(Thrown::Failed(error.write(&thrown)?)),
    }
}

/// What `#[flush]` takes beside a `#[reduce]` that folds into `V`.
#[diagnostic::on_unimplemented(
    message = "`#[reduce]` folds into `{V}`, and the hook takes `{Self}`",
    label = "not what `#[reduce]` folds into",
    note = "write `Folded<{V}>`"
)]
pub trait FoldedFrom<V> {}

impl<V> FoldedFrom<V> for crate::kinds::buffer::Folded<V> {}

/// That what is folded is what the hook takes: they meet as JSON, where no type is left.
pub fn folded<F: FoldedFrom<V>, V>() {}

/// What a hook returns beside an `#[apply]` that takes `V`.
#[diagnostic::on_unimplemented(
    message = "`#[apply]` takes `{V}`, and the hook returns `{Self}`",
    label = "not what `#[apply]` takes",
    note = "write the same type in both"
)]
pub trait AppliedAs<V> {}

impl<V> AppliedAs<V> for V {}

/// That what a hook returns is what is applied: they meet as JSON, where no type is left.
pub fn applied<R: AppliedAs<V>, V>() {}

/// How a hook's input is read and an item of it checked.
pub struct Taken<P> {
    /// Reads it.
    pub take: fn(Given) -> Result<P, String>,
    /// Whether one item is one of it.
    pub check_item: fn(&[u8]) -> Result<(), String>,
}

impl<P> std::fmt::Debug for Taken<P> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Taken({})", type_name::<P>())
    }
}

/// How the hook `H` takes a `P`: the one place where generated code asks for it, so that a mistake is one error.
pub fn taken<P: TakenBy<H>, H>() -> Taken<P> {
    Taken { take: P::take, check_item: P::check_item }
}

/// Reads a folded value and an item, folds, and writes: what `#[reduce]` becomes.
pub fn fold<V: Stored + Default, I: Stored>(
    folded: Option<&[u8]>,
    item: &[u8],
    fold: fn(&mut V, I),
) -> Result<Bytes, String> {
    let mut value: V = folded.map_or_else(|| Ok(V::default()), decode)?;
    fold(&mut value, decode(item)?);
    encode(&value)
}

/// Code whose future must be `Send`; the error is at the author's function.
pub fn sendable<F: Future + Send>(future: F) -> F {
    future
}

/// Whether a type is a `Result`, and whether it has a default: an inherent item wins over the trait's.
pub struct Probe<T>(PhantomData<T>);

impl<T, E> Probe<Result<T, E>> {
    /// It is.
    pub const IS_RESULT: bool = true;
}

impl<T: Default> Probe<T> {
    /// Its default.
    pub fn initial() -> Option<T> {
        Some(T::default())
    }
}

/// What [`Probe`] says of all other types.
pub trait Fallback<T> {
    /// It is not.
    const IS_RESULT: bool = false;

    /// It has none.
    fn initial() -> Option<T> {
        None
    }
}

impl<T> Fallback<T> for Probe<T> {}

/// Refuses an action that has the name of a verb of its kind: it would hide the verb.
#[track_caller]
pub const fn not_a_verb(verbs: &[&str], name: &str) {
    let mut index = 0;
    while index < verbs.len() {
        assert!(!same(verbs[index], name), "this is a verb of the kind; give the action another name");
        index += 1;
    }
}

const fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut index = 0;
    while index < one.len() {
        if one[index] != other[index] {
            return false;
        }
        index += 1;
    }
    true
}
