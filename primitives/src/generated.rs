//! The functions and checks that macro-generated code calls. The work is done here, so that little is
//! compiled for each primitive.

use std::{any::type_name, marker::PhantomData};

use bytes::Bytes;

use crate::{
    Failure, Stored, decode, encode,
    primitive::{Given, TakenBy, Thrown},
    values::stored::Codec,
};

/// The error of a hook. It is reported but reaches no caller, so any error type will do.
#[diagnostic::on_unimplemented(
    message = "the error `{Self}` cannot be told: it is not an `Error`",
    label = "not a `std::error::Error`",
    note = "implement `std::error::Error` for it, or return `Result<_, drystone::Failure>`: `?` turns any error (anyhow's too) into a `Failure`"
)]
pub trait HookError: Into<Failure> {}

#[diagnostic::do_not_recommend]
impl<E: Into<Failure>> HookError for E {}

/// The two types of a `Result`, whatever alias it has.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a `Result`, although its name says so",
    label = "not a `Result`",
    note = "write `Result<T, E>`, or give the type another name"
)]
pub trait Outcome {
    /// The type of its value.
    type Ok;
    /// The type of its error.
    type Err;
}

impl<T, E> Outcome for Result<T, E> {
    type Ok = T;
    type Err = E;
}

/// Encodes the return value of a hook.
pub fn hook_ended<T, E: HookError>(
    ended: Result<T, E>,
    write: impl FnOnce(&T) -> Result<Bytes, Thrown>,
) -> Result<Bytes, Thrown> {
    match ended {
        Ok(value) => write(&value),
        Err(error) => Err(Thrown::Failed(encode(&error.into())?)),
    }
}

/// Encodes the return value of an action that can fail.
pub fn action_ended<T, E>(ended: Result<T, E>, value: Codec<T>, error: Codec<E>) -> Result<Bytes, Thrown> {
    match ended {
        Ok(answer) => value.write_answer(&answer).map_err(Thrown::Unwritable),
        Err(thrown) => Err(error.write_answer(&thrown).map_or_else(Thrown::Unwritable, Thrown::Failed)),
    }
}

/// Encodes the return value of code that cannot fail.
pub fn returned<T>(value: &T, codec: Codec<T>) -> Result<Bytes, Thrown> {
    codec.write_answer(value).map_err(Thrown::Unwritable)
}

/// Encodes the return value of a hook that returns nothing.
pub fn nothing(_: &()) -> Result<Bytes, Thrown> {
    Ok(Bytes::new())
}

/// Returns the state that an `#[init]` made. Its error becomes a message, because each action has an error
/// type of its own, and a caller would read this error as that type.
pub fn made<T, E: HookError>(made: Result<T, E>) -> Result<T, Thrown> {
    made.map_err(|error| Thrown::Malformed(format!("no state could be made: {}", error.into())))
}

/// Returns the state that a `#[create]` made. Its error goes to the caller, who called the `#[create]` by
/// name.
pub fn created<T, E>(created: Result<T, E>, error: Codec<E>) -> Result<T, Thrown> {
    match created {
        Ok(state) => Ok(state),
        Err(thrown) => Err(Thrown::Failed(error.write(&thrown)?)),
    }
}

/// A type that `#[flush]` can take beside a `#[reduce]` that folds into `V`.
#[diagnostic::on_unimplemented(
    message = "`#[reduce]` folds into `{V}`, and the hook takes `{Self}`",
    label = "not what `#[reduce]` folds into",
    note = "write `Folded<{V}>`"
)]
pub trait FoldedFrom<V> {}

/// Checks that the hook takes what the reducer makes. The two meet as JSON, where no type is left.
pub fn folded<F: FoldedFrom<V>, V>() {}

/// A type that a hook can return beside an `#[apply]` that takes `V`.
#[diagnostic::on_unimplemented(
    message = "`#[apply]` takes `{V}`, and the hook returns `{Self}`",
    label = "not what `#[apply]` takes",
    note = "write the same type in both"
)]
pub trait AppliedAs<V> {}

impl<V> AppliedAs<V> for V {}

/// Checks that `#[apply]` takes the return value of the hook. The two meet as JSON, where no type is left.
pub fn applied<R: AppliedAs<V>, V>() {}

/// The functions that read a hook's input and check an item of it.
pub struct Taken<P> {
    /// Reads the input.
    pub take: fn(Given) -> Result<P, String>,
    /// Checks that one item can be a part of the input.
    pub check_item: fn(&[u8]) -> Result<(), String>,
}

impl<P> std::fmt::Debug for Taken<P> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Taken({})", type_name::<P>())
    }
}

/// Returns how the hook `H` takes a `P`. Generated code asks only here, so a mistake is one error.
pub fn taken<P: TakenBy<H>, H>() -> Taken<P> {
    Taken { take: P::take, check_item: P::check_item }
}

/// Folds an item into the folded value before it, both encoded: the code of `#[reduce]`.
pub fn fold<V: Stored + Default, I: Stored>(
    folded: Option<&[u8]>,
    item: &[u8],
    fold: fn(&mut V, I),
) -> Result<Bytes, String> {
    let mut value: V = folded.map_or_else(|| Ok(V::default()), decode)?;
    fold(&mut value, decode(item)?);
    encode(&value)
}

/// Requires the future of author code to be `Send`, with the error at the author's function.
pub fn sendable<F: Future + Send>(future: F) -> F {
    future
}

/// Probes whether a type is a `Result`, and whether it has a default. It works because an inherent item wins
/// over an item of a trait.
pub struct Probe<T>(PhantomData<T>);

impl<T, E> Probe<Result<T, E>> {
    /// The type is a `Result`.
    pub const IS_RESULT: bool = true;
}

impl<T: Default> Probe<T> {
    /// Returns the default.
    pub fn initial() -> Option<T> {
        Some(T::default())
    }
}

/// The answers of a [`Probe`] for all other types.
pub trait Fallback<T> {
    /// The type is not a `Result`.
    const IS_RESULT: bool = false;

    /// Returns `None`: the type has no default.
    fn initial() -> Option<T> {
        None
    }
}

impl<T> Fallback<T> for Probe<T> {}

/// The requirement of `start()` on a primitive `T`: its state can be made (E1).
#[diagnostic::on_unimplemented(
    message = "`start()` cannot make the state of `{T}`: it is not `Default`, and has no `#[init]`",
    label = "no state to start with",
    note = "write `start_with(state)`; or derive `Default` for `{T}`; or write `#[init] async fn new() -> Self` in its block",
    note = "an entity that has stopped resumes with the state that it has: write `resume()`"
)]
pub trait Begins<T> {}

/// A primitive whose state can always be made: it has an `#[init]`, or no fields.
#[derive(Debug)]
pub enum WithInit {}

/// A primitive whose state can be made if it is `Default`.
#[derive(Debug)]
pub enum IfDefault {}

#[diagnostic::do_not_recommend]
impl<T> Begins<T> for WithInit {}

#[diagnostic::do_not_recommend]
impl<T: Default> Begins<T> for IfDefault {}

/// Refuses an action that has the name of a verb of its kind, because the action would hide the verb.
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
