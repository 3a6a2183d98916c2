//! The verbs that every entity has, whatever its kind.

use std::{fmt, marker::PhantomData};

use super::view::View;
use crate::{
    Address, Args, Call, CallError, Error, Never, OfKind, Primitive, Stored,
    author::Begins,
    decode,
    kind::{Kind, Started},
    runtime::kernel::Explain,
};

/// A handle to one key of a primitive, with the verbs of every entity. `client.cart("key")` returns a handle
/// that adds the verbs of the kind and the author's actions, and dereferences to this type.
pub struct Handle<T> {
    address: Address,
    primitive: PhantomData<fn() -> T>,
}

impl<T: OfKind> Handle<T> {
    /// Starts the entity. An unbound key is bound with a state from `#[init]`, or else from `Default`; a
    /// primitive with neither is a compile error, and takes [`start_with`](Self::start_with). A stopped or
    /// failed entity resumes with its stored state. See [`Started`].
    pub fn start(&self) -> Call<Started>
    where
        T::Begins: Begins<T>,
    {
        self.address.call("start", Args::new())
    }

    /// Binds the key with this state. A running entity stays as it is. A stopped or failed entity keeps its
    /// state, so the call is refused with [`Error::KeepsState`]; [`replace`](Self::replace) sets the state
    /// in any status.
    #[expect(clippy::needless_pass_by_value, reason = "the state is handed over")]
    pub fn start_with(&self, state: T) -> Call<Started> {
        self.address.call("start", Args::new().with(T::codec(), &state))
    }

    /// Sets the state, in any status. Waits for running code that holds the struct.
    #[expect(clippy::needless_pass_by_value, reason = "the state is handed over")]
    pub fn replace(&self, state: T) -> Call<()> {
        self.address.call("replace", Args::new().with(T::codec(), &state))
    }

    /// Returns the stored state; `None` if the key is unbound.
    pub fn state(&self) -> Call<Option<T>> {
        Call::new(&self.address, "state", Args::new(), state_of::<T>, decode::<Never>)
    }

    /// Returns the status; `None` if the key is unbound.
    pub fn status(&self) -> Call<Option<<T::Kind as Kind>::Status>> {
        self.address.call("status", Args::new())
    }
}

impl<T: Primitive> Handle<T> {
    /// Makes the handle of an address.
    pub fn new(address: Address) -> Self {
        Self { address, primitive: PhantomData }
    }

    /// Ends the entity (E8). When this call answers, the end is durable. A `#[destroy]` hook then runs and
    /// is retried if it fails; after that everything is removed, and the key is free. Returns `false` if
    /// nothing was bound.
    pub fn destroy(&self) -> Call<bool> {
        self.address.call("destroy", Args::new())
    }

    /// Ends the entity without running its `#[destroy]` hook.
    pub fn force_destroy(&self) -> Call<bool> {
        self.address.call("force_destroy", Args::new())
    }

    /// Explains what the entity waits for.
    pub async fn explain(&self) -> Result<Explain, Error> {
        self.address.explain().await
    }

    /// Returns everything stored of the entity: `primitive:type`, `name`, `state`, `config` and `meta`;
    /// `None` if the key is unbound.
    pub async fn view(&self) -> Result<Option<View>, Error> {
        self.address.view().await
    }

    /// Resumes a parked entity, once the cause is mended. Returns `false` if the entity was not parked.
    pub async fn unpark(&self) -> Result<bool, Error> {
        self.address.unpark().await
    }

    /// Returns the key.
    pub fn key(&self) -> &[u8] {
        self.address.key()
    }

    /// Returns the address, for the verbs of a kind.
    pub fn address(&self) -> &Address {
        &self.address
    }
}

/// Reads the answer of `state`, which has no bytes for an unbound key.
fn state_of<T: OfKind>(bytes: &[u8]) -> Result<Option<T>, String> {
    if bytes.is_empty() { Ok(None) } else { T::codec().read(bytes).map(Some) }
}

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        Self { address: self.address.clone(), primitive: PhantomData }
    }
}

impl<T> fmt::Debug for Handle<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.address, out)
    }
}

/// Lets `?` turn the error of a call without an error type of its own into an [`Error`].
impl From<CallError<Never>> for Error {
    fn from(error: CallError<Never>) -> Self {
        match error {
            CallError::Failed(never) => match never {},
            CallError::Fault(error) => error,
        }
    }
}

const _: fn() = || {
    fn is_stored<T: Stored>() {}
    is_stored::<Started>();
};
