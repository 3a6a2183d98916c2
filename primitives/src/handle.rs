//! What every entity can be asked, whatever its kind.

use std::{fmt, marker::PhantomData};

use crate::{
    Address, Args, Call, CallError, Error, Never, OfKind, Primitive, Stored,
    author::Begins,
    decode,
    kind::{Kind, Started},
    runtime::kernel::Explain,
    view::View,
};

/// One key of a primitive: the verbs of every entity. The kind's own verbs and the author's actions are on the handle that
/// `client.cart("key")` gives, which dereferences to this.
pub struct Handle<T> {
    address: Address,
    primitive: PhantomData<fn() -> T>,
}

impl<T: OfKind> Handle<T> {
    /// Starts the entity. An unbound key is bound with a state from `#[init]`, or else from `Default`; a primitive with
    /// neither is a compile error, and takes [`start_with`](Self::start_with). An entity that has stopped or failed resumes with
    /// the state that it has. See [`Started`].
    pub fn start(&self) -> Call<Started>
    where
        T::Begins: Begins<T>,
    {
        self.address.call("start", Args::new())
    }

    /// Binds the key with this state. A running entity stays as it is. One that has stopped or failed keeps its state, so this
    /// call is refused with [`Error::KeepsState`]; [`replace`](Self::replace) sets the state in any status.
    #[expect(clippy::needless_pass_by_value, reason = "the state is handed over")]
    pub fn start_with(&self, state: T) -> Call<Started> {
        self.address.call("start", Args::new().with(T::codec(), &state))
    }

    /// Sets the state, in any status; waits for code that holds it.
    #[expect(clippy::needless_pass_by_value, reason = "the state is handed over")]
    pub fn replace(&self, state: T) -> Call<()> {
        self.address.call("replace", Args::new().with(T::codec(), &state))
    }

    /// The state as it is stored; `None` if the key is unbound.
    pub fn state(&self) -> Call<Option<T>> {
        Call::new(&self.address, "state", Args::new(), state_of::<T>, decode::<Never>)
    }

    /// Where it stands; `None` if the key is unbound.
    pub fn status(&self) -> Call<Option<<T::Kind as Kind>::Status>> {
        self.address.call("status", Args::new())
    }
}

impl<T: Primitive> Handle<T> {
    /// The handle of an address.
    pub fn new(address: Address) -> Self {
        Self { address, primitive: PhantomData }
    }

    /// Ends the entity (E8): accepted at once, and durable when this answers. A `#[destroy]` runs first, and is tried
    /// again if it fails; then everything goes, and the key is free. `false` if nothing was bound.
    pub fn destroy(&self) -> Call<bool> {
        self.address.call("destroy", Args::new())
    }

    /// Ends the entity without its `#[destroy]`.
    pub fn force_destroy(&self) -> Call<bool> {
        self.address.call("force_destroy", Args::new())
    }

    /// What it waits for.
    pub async fn explain(&self) -> Result<Explain, Error> {
        self.address.explain().await
    }

    /// Everything stored of it: `primitive:type`, `name`, `state`, `config` and `meta`; `None` if the key is unbound.
    pub async fn view(&self) -> Result<Option<View>, Error> {
        self.address.view().await
    }

    /// Lets it go on if it is parked, once what parked it is mended. `false` if it was not parked.
    pub async fn unpark(&self) -> Result<bool, Error> {
        self.address.unpark().await
    }

    /// The key.
    pub fn key(&self) -> &[u8] {
        self.address.key()
    }

    /// The address, for the verbs of a kind.
    pub fn address(&self) -> &Address {
        &self.address
    }
}

/// What `state` answers: nothing at all for a key that is unbound.
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

/// For calls whose error is never the author's: `?` on them gives an [`Error`].
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
