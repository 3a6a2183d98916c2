//! A call on its way: what is asked of which entity, and how its answer is read.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use drystone_runtime::{self as runtime, Cx, Kernel, Key, Message, Name};

use crate::{Args, CallError, Error, Never, Stored, decode, handler::malformed, testing::Relay};

/// Where calls are made: outside, or in an entity's code, whose callers wait for it (M3).
#[derive(Clone)]
pub struct Desk {
    line: Line,
    /// Whether all primitives share one space of keys (E2).
    is_shared: bool,
}

#[derive(Clone)]
enum Line {
    Outside(Kernel),
    /// Outside of a world of the test kit, which polls what is asked of it itself.
    World(Kernel, Relay),
    Inside(Cx),
}

impl Desk {
    /// The desk of code outside of any entity.
    pub(crate) fn outside(kernel: Kernel, is_shared: bool) -> Self {
        Self { line: Line::Outside(kernel), is_shared }
    }

    /// The desk of a test.
    pub(crate) fn of_world(kernel: Kernel, relay: Relay, is_shared: bool) -> Self {
        Self { line: Line::World(kernel, relay), is_shared }
    }

    /// The desk of an entity's code.
    pub(crate) fn inside(cx: Cx, is_shared: bool) -> Self {
        Self { line: Line::Inside(cx), is_shared }
    }

    /// The address of a key of a definition.
    pub fn address(&self, definition: impl Into<Name>, key: impl AsRef<[u8]>) -> Address {
        Address { desk: self.clone(), definition: definition.into(), key: Bytes::copy_from_slice(key.as_ref()) }
    }

    /// Calls an entity.
    pub(crate) async fn call(self, call: runtime::Call) -> Result<Bytes, Error> {
        match self.line {
            Line::World(kernel, relay) => {
                relay.ask(async move { kernel.call(call).await }).await.unwrap_or(Err(Error::Closing))
            }
            Line::Outside(kernel) => kernel.call(call).await,
            Line::Inside(cx) => cx.call(call).await,
        }
    }

    /// Asks the kernel something; `None` in an entity's code.
    pub(crate) async fn ask<T: Send + 'static, F>(&self, ask: impl FnOnce(Kernel) -> F) -> Option<Result<T, Error>>
    where
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        match &self.line {
            Line::Outside(kernel) => Some(ask(kernel.clone()).await),
            Line::World(kernel, relay) => Some(relay.ask(ask(kernel.clone())).await.unwrap_or(Err(Error::Closing))),
            Line::Inside(_) => None,
        }
    }
}

impl fmt::Debug for Desk {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Desk").field("is_shared", &self.is_shared).finish_non_exhaustive()
    }
}

/// The space of a definition's keys.
pub(crate) fn space_of(definition: &Name, is_shared: bool) -> Name {
    if is_shared { Name::new(SHARED_SPACE) } else { definition.clone() }
}

/// The space that all primitives of an app share.
pub(crate) const SHARED_SPACE: &str = "app";

/// One key of one definition, and where to call it.
#[derive(Clone)]
pub struct Address {
    desk: Desk,
    definition: Name,
    key: Bytes,
}

impl Address {
    /// The definition's name.
    pub fn definition(&self) -> &str {
        &self.definition
    }

    /// The key.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The key with its space; an error if it is empty or too long (K3).
    pub fn full_key(&self) -> Result<Key, Error> {
        Key::new(space_of(&self.definition, self.desk.is_shared), self.key.clone())
    }

    /// Asks the kernel something about this key; `None` in an entity's code.
    pub(crate) async fn ask<T: Send + 'static, F>(&self, ask: impl FnOnce(Kernel, Key) -> F) -> Option<Result<T, Error>>
    where
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let key = match self.full_key() {
            Ok(key) => key,
            Err(error) => return Some(Err(error)),
        };
        self.desk.ask(|kernel| ask(kernel, key)).await
    }

    /// A call of a verb that answers with `T` or refuses with `E`.
    pub fn call<T: Stored, E: Stored>(&self, verb: &'static str, args: Args) -> Call<T, E> {
        Call::new(self, verb, args, decode::<T>, decode::<E>)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}({})", self.definition, self.key.escape_ascii())
    }
}

/// A call: await it, or say first how long to wait and how to recognise a repeat.
///
/// ```no_run
/// # use drystone::{Call, CallError, Never, d};
/// # async fn show(call: Call<u32>) -> Result<(), CallError<Never>> {
/// let count = call.idempotency_key("order-9").deadline(d!("5s")).await?;
/// # Ok(()) }
/// ```
#[must_use = "a call does nothing until it is awaited"]
pub struct Call<T, E = Never> {
    desk: Desk,
    call: runtime::Call,
    message: Message,
    error: Option<String>,
    read: fn(&[u8]) -> Result<T, String>,
    thrown: fn(&[u8]) -> Result<E, String>,
}

impl<T, E> Call<T, E> {
    /// A call of `verb` at `address`, with the functions that read its answer and its error.
    pub fn new(
        address: &Address,
        verb: &'static str,
        args: Args,
        read: fn(&[u8]) -> Result<T, String>,
        thrown: fn(&[u8]) -> Result<E, String>,
    ) -> Self {
        let (body, error) = match args.finish() {
            Ok(body) => (body, None),
            Err(reason) => (Bytes::new(), Some(reason)),
        };
        let Address { desk, definition, key } = address.clone();
        let to = Key { space: space_of(&definition, desk.is_shared), key: key.clone() };
        let message = Message { to, definition: definition.clone(), verb: Name::new(verb), body: body.clone() };
        Self { desk, call: runtime::Call::new(definition, key, verb, body), message, error, read, thrown }
    }

    /// Asked again with the same key, it is answered as it was the first time, and done once (E12).
    pub fn idempotency_key(mut self, key: impl AsRef<[u8]>) -> Self {
        self.call = self.call.once(Bytes::copy_from_slice(key.as_ref()));
        self
    }

    /// Waits at most so long: 30 seconds unless said.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.call = self.call.deadline(deadline);
        self
    }

    /// The call as a message, to be sent with a commit; or why it cannot be.
    pub(crate) fn into_message(self) -> Result<Message, Error> {
        match self.error {
            Some(reason) => Err(Error::Malformed { verb: self.message.verb.to_string(), reason }),
            None => Key::new(self.message.to.space.clone(), self.message.to.key.clone()).map(|_| self.message),
        }
    }
}

impl<T, E> IntoFuture for Call<T, E> {
    type Output = Result<T, CallError<E>>;
    type IntoFuture = Calling<T, E>;

    fn into_future(self) -> Calling<T, E> {
        let verb = self.message.verb;
        let answer: Answer = match self.error {
            Some(reason) => {
                let verb = verb.to_string();
                Box::pin(async move { Err(Error::Malformed { verb, reason }) })
            }
            None => Box::pin(self.desk.call(self.call)),
        };
        Calling { answer, verb, read: self.read, thrown: self.thrown }
    }
}

impl<T, E> fmt::Debug for Call<T, E> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Call({} of {})", self.message.verb, self.message.to)
    }
}

/// What a `&self` action fails with comes as it is; it may be a reason of ours, and is told as that.
pub(crate) fn told(error: Error, verb: &str) -> Error {
    match error {
        Error::Failed(thrown) => match malformed(&thrown) {
            Some(reason) => Error::Malformed { verb: verb.to_owned(), reason },
            None => Error::Failed(thrown),
        },
        error => error,
    }
}

type Answer = Pin<Box<dyn Future<Output = Result<Bytes, Error>> + Send>>;

/// A call under way. Dropping it leaves; a call that has begun may still take effect.
#[must_use = "futures do nothing unless polled"]
pub struct Calling<T, E> {
    answer: Answer,
    verb: Name,
    read: fn(&[u8]) -> Result<T, String>,
    thrown: fn(&[u8]) -> Result<E, String>,
}

impl<T, E> Future for Calling<T, E> {
    type Output = Result<T, CallError<E>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.answer.as_mut().poll(context).map(|answer| {
            let unreadable = |reason| Error::Malformed {
                verb: self.verb.to_string(),
                reason: format!("its answer cannot be read: {reason}"),
            };
            match answer.map_err(|error| told(error, &self.verb)) {
                Ok(bytes) => (self.read)(&bytes).map_err(|reason| CallError::Fault(unreadable(reason))),
                Err(Error::Failed(bytes)) => Err(match (self.thrown)(&bytes) {
                    Ok(error) => CallError::Failed(error),
                    Err(reason) => CallError::Fault(unreadable(reason)),
                }),
                Err(error) => Err(CallError::Fault(error)),
            }
        })
    }
}

impl<T, E> fmt::Debug for Calling<T, E> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Calling({})", self.verb)
    }
}
