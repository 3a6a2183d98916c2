//! A call: the entity, the verb, the input, and the functions that read the answer.

use std::{
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use drystone_runtime::{self as runtime, Cx, Kernel, Key, Message, Name, kernel::WeakKernel};

use crate::{Args, CallError, Error, Never, Stored, app::key_space::space_of, decode};

/// The place that calls are made from: outside all entities, or inside an entity's code. A call from inside
/// carries the chain of entities that wait for it (M3).
#[derive(Clone)]
pub struct Desk {
    line: Line,
    /// Whether all primitives share one key space (E2).
    is_shared: bool,
}

#[derive(Clone)]
enum Line {
    Outside(Kernel),
    /// Outside, where calls go by a transport.
    Through(Arc<dyn Transport>),
    Inside(Cx),
    /// In the body of a workflow, which makes its calls through its `Flow`.
    Body,
}

/// A way to a kernel for callers that cannot reach it by themselves.
pub(crate) trait Transport: Send + Sync {
    /// Makes a call.
    fn call(&self, call: runtime::Call) -> Answer;

    /// Asks the kernel for something that is not a call. `ask` keeps its own answer. It may run again if its
    /// error says that the answer was lost.
    fn carry<'a>(&'a self, ask: &'a (dyn Fn(Kernel) -> Asking + Send + Sync)) -> Carried<'a>;

    /// Returns 64 bits for a caller that needs random ones. They do not depend on crashes: a caller that is
    /// repeated with a crash draws the same bits.
    fn random(&self) -> u64;
}

/// A question to a kernel.
pub(crate) type Asking = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

/// A question on its way to the kernel and back.
pub(crate) type Carried<'a> = Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'a>>;

impl Desk {
    /// The desk of code outside all entities.
    pub(crate) fn outside(kernel: Kernel, is_shared: bool) -> Self {
        Self { line: Line::Outside(kernel), is_shared }
    }

    /// The desk of code outside whose calls go by a transport.
    pub(crate) fn through(transport: Arc<dyn Transport>, is_shared: bool) -> Self {
        Self { line: Line::Through(transport), is_shared }
    }

    /// The desk of code inside an entity.
    pub(crate) fn inside(cx: Cx, is_shared: bool) -> Self {
        Self { line: Line::Inside(cx), is_shared }
    }

    /// The desk of a workflow body. This desk refuses calls, because a body calls through its `Flow`.
    pub(crate) fn body() -> Self {
        Self { line: Line::Body, is_shared: false }
    }

    pub(crate) fn is_body(&self) -> bool {
        matches!(self.line, Line::Body)
    }

    /// Returns the address of a key of a definition.
    pub fn address(&self, definition: impl Into<Name>, key: impl AsRef<[u8]>) -> Address {
        Address { desk: self.clone(), definition: definition.into(), key: Bytes::copy_from_slice(key.as_ref()) }
    }

    /// Returns 64 random bits of the driver, so that a test kit decides what is drawn.
    pub(crate) fn random(&self) -> Result<u64, Error> {
        match &self.line {
            Line::Outside(kernel) => Ok(kernel.random()),
            Line::Through(passage) => Ok(passage.random()),
            Line::Inside(cx) => cx.weak_kernel().random().ok_or(Error::Closing),
            Line::Body => Err(in_a_body()),
        }
    }

    /// Makes a call. Each kind of line has a future of its own, so that the future of a plain call stays as
    /// small as it can be.
    pub(crate) fn call(self, call: runtime::Call) -> Answer {
        match self.line {
            Line::Outside(kernel) => Box::pin(async move { kernel.call(call).await }),
            Line::Inside(cx) => Box::pin(async move { cx.call(call).await }),
            Line::Through(transport) => transport.call(call),
            Line::Body => Box::pin(std::future::ready(Err(in_a_body()))),
        }
    }

    /// Makes a call, and passes its answer to `then` without an await in between. So a caller that is
    /// dropped either leaves the call, or drops the value that `then` made.
    pub(crate) async fn call_then<T: Send + 'static>(
        self,
        call: runtime::Call,
        then: impl FnOnce(Bytes, WeakKernel) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        match self.line {
            Line::Inside(cx) => then(cx.call(call).await?, cx.weak_kernel()),
            Line::Outside(kernel) => then(kernel.call(call).await?, kernel.weak_kernel()),
            Line::Through(transport) => {
                let then = Arc::new(Mutex::new(Some(then)));
                let ask = |kernel: Kernel| {
                    let (call, then) = (call.clone(), then.clone());
                    async move {
                        let answer = kernel.call(call).await?;
                        let then = then.lock().unwrap_or_else(PoisonError::into_inner).take();
                        then.map_or(Err(Error::Closing), |then| then(answer, kernel.weak_kernel()))
                    }
                };
                carried(&*transport, ask).await
            }
            Line::Body => Err(in_a_body()),
        }
    }

    /// Asks the kernel for something that is not a call. Refused inside an entity's code.
    pub(crate) async fn ask<T: Send + 'static, F>(&self, ask: impl Fn(Kernel) -> F + Send + Sync) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        match &self.line {
            Line::Outside(kernel) => ask(kernel.clone()).await,
            Line::Through(transport) => carried(&**transport, ask).await,
            Line::Inside(_) => {
                let reason = "it can be asked by code outside of entities only".to_owned();
                Err(Error::Malformed { verb: "explain".to_owned(), reason })
            }
            Line::Body => Err(in_a_body()),
        }
    }
}

fn in_a_body() -> Error {
    let reason = "the body of a workflow calls by its flow: write `flow.call(..)`".to_owned();
    Error::Malformed { verb: "call".to_owned(), reason }
}

/// Asks the kernel by a transport, and returns the answer.
async fn carried<T: Send + 'static, F>(
    transport: &dyn Transport,
    ask: impl Fn(Kernel) -> F + Send + Sync,
) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>> + Send + 'static,
{
    let answer = Arc::new(Mutex::new(None));
    let asking = |kernel: Kernel| -> Asking {
        let (asked, answer) = (ask(kernel), answer.clone());
        Box::pin(async move {
            let value = asked.await?;
            *answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
            Ok(())
        })
    };
    transport.carry(&asking).await?;
    let value = answer.lock().unwrap_or_else(PoisonError::into_inner).take();
    value.ok_or(Error::Closing)
}

impl fmt::Debug for Desk {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self.line {
            Line::Outside(_) => "Desk(outside)",
            Line::Through(_) => "Desk(by a transport)",
            Line::Inside(_) => "Desk(in an entity's code)",
            Line::Body => "Desk(in the body of a workflow)",
        })
    }
}

/// A key of a definition, and the desk for calls to the key.
#[derive(Clone)]
pub struct Address {
    desk: Desk,
    definition: Name,
    key: Bytes,
}

impl Address {
    /// Returns the definition's name.
    pub fn definition(&self) -> &str {
        &self.definition
    }

    /// Returns the key.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Returns the key with its key space; an error if the key is empty or too long (K3).
    pub fn full_key(&self) -> Result<Key, Error> {
        Key::new(space_of(&self.definition, self.desk.is_shared), self.key.clone())
    }

    pub(crate) fn desk(&self) -> &Desk {
        &self.desk
    }

    /// Makes a call of a verb that answers with `T` or refuses with `E`.
    pub fn call<T: Stored, E: Stored>(&self, verb: &'static str, args: Args) -> Call<T, E> {
        Call::new(self, verb, args, decode::<T>, decode::<E>)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}({})", self.definition, self.key.escape_ascii())
    }
}

/// The deadline of a caller that waits for a result and sets no deadline: longer than any program runs.
pub(crate) const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// A call that is not made yet: await it, or first set its deadline or its idempotency key.
///
/// ```no_run
/// # use drystone::{Call, CallError, Never, d};
/// # async fn show(call: Call<u32>) -> Result<(), CallError<Never>> {
/// let count = call.idempotency_key("order-9").deadline(d!("5s")).await?;
/// # Ok(()) }
/// ```
#[must_use = "a call does nothing until it is awaited"]
pub struct Call<T, E = Never> {
    address: Address,
    verb: &'static str,
    /// The encoded input, or the reason why it cannot be encoded.
    body: Result<Bytes, String>,
    once: Option<Bytes>,
    deadline: Option<Duration>,
    read: fn(&[u8]) -> Result<T, String>,
    thrown: fn(&[u8]) -> Result<E, String>,
}

impl<T, E> Call<T, E> {
    /// Makes a call of `verb` at `address`, with the functions that read its answer and its error.
    pub fn new(
        address: &Address,
        verb: &'static str,
        args: Args,
        read: fn(&[u8]) -> Result<T, String>,
        thrown: fn(&[u8]) -> Result<E, String>,
    ) -> Self {
        let (address, body) = (address.clone(), args.finish());
        Self { address, verb, body, once: None, deadline: None, read, thrown }
    }

    /// Sets an idempotency key. Repeated calls with the same key are executed once and get the same answer
    /// (E12). Not for a call that the body of a workflow makes: that call is executed once without a key.
    pub fn idempotency_key(mut self, key: impl AsRef<[u8]>) -> Self {
        self.once = Some(Bytes::copy_from_slice(key.as_ref()));
        self
    }

    /// Sets how long to wait at most; the default is 30 seconds. Not for a call that the body of a workflow
    /// makes: write `flow.call(..).within("5s")` there.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// A call whose parameters cannot be encoded. Awaiting it returns the reason.
    pub(crate) fn unwritable(address: &Address, verb: &'static str, reason: String) -> Self
    where
        T: Stored,
        E: Stored,
    {
        Self { body: Err(reason), ..address.call(verb, Args::new()) }
    }

    /// Takes the call apart for a workflow body, which records calls instead of awaiting them. An option
    /// that would have no effect in a body becomes an error.
    pub(crate) fn asked(self) -> Asked<T, E> {
        let Self { address: Address { definition, key, .. }, verb, body, once, deadline, read, thrown } = self;
        // A body waits forever anyway, so a deadline of `FOR_EVER` is not an error.
        let unheard = match (once, deadline.filter(|deadline| *deadline < FOR_EVER)) {
            (Some(_), _) => Some("`.idempotency_key(..)`: a body's call is made once without it; leave it out"),
            (_, Some(_)) => Some("`.deadline(..)`: write `.within(\"5s\")` behind what the flow gives"),
            (None, None) => None,
        };
        let body = unheard.map_or(body, |what| Err(format!("in the body of a workflow `{verb}` does not hear {what}")));
        Asked { definition, key, verb, body, read, thrown }
    }

    /// Returns the same call with another verb.
    pub(crate) fn asking(self, verb: &'static str) -> Self {
        Self { verb, ..self }
    }

    /// Returns the call as a message that a commit sends; an error if the call cannot be encoded.
    pub(crate) fn into_message(self) -> Result<Message, Error> {
        let body = self.body.map_err(|reason| malformed(self.verb, reason))?;
        let to = self.address.full_key()?;
        Ok(Message { to, definition: self.address.definition, verb: Name::new(self.verb), body })
    }
}

/// The parts of a call.
pub(crate) struct Asked<T, E> {
    pub(crate) definition: Name,
    pub(crate) key: Bytes,
    pub(crate) verb: &'static str,
    pub(crate) body: Result<Bytes, String>,
    pub(crate) read: fn(&[u8]) -> Result<T, String>,
    pub(crate) thrown: fn(&[u8]) -> Result<E, String>,
}

impl<T, E> IntoFuture for Call<T, E> {
    type Output = Result<T, CallError<E>>;
    type IntoFuture = Calling<T, E>;

    fn into_future(self) -> Calling<T, E> {
        let Self { address, verb, body, once, deadline, read, thrown } = self;
        let Address { desk, definition, key } = address;
        let answer: Answer = match body {
            Err(reason) => Box::pin(async move { Err(malformed(verb, reason)) }),
            Ok(body) => {
                let call = runtime::Call::new(definition, key, verb, body);
                let call = match once {
                    Some(once) => call.once(once),
                    None => call,
                };
                desk.call(match deadline {
                    Some(deadline) => call.deadline(deadline),
                    None => call,
                })
            }
        };
        Calling { answer, verb, read, thrown }
    }
}

fn malformed(verb: &str, reason: String) -> Error {
    Error::Malformed { verb: verb.to_owned(), reason }
}

impl<T, E> fmt::Debug for Call<T, E> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Call({} of {:?})", self.verb, self.address)
    }
}

/// The answer to a call, as bytes.
pub(crate) type Answer = Pin<Box<dyn Future<Output = Result<Bytes, Error>> + Send>>;

/// A call in flight. Dropping it stops waiting; a call that has begun may still take effect.
#[must_use = "futures do nothing unless polled"]
pub struct Calling<T, E> {
    answer: Answer,
    verb: &'static str,
    read: fn(&[u8]) -> Result<T, String>,
    thrown: fn(&[u8]) -> Result<E, String>,
}

impl<T, E> Future for Calling<T, E> {
    type Output = Result<T, CallError<E>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.answer.as_mut().poll(context).map(|answer| {
            let unreadable = |reason| malformed(self.verb, format!("its answer cannot be read: {reason}"));
            match answer {
                Ok(bytes) => (self.read)(&bytes).map_err(|reason| CallError::Fault(unreadable(reason))),
                Err(Error::Failed(bytes) | Error::Declined(bytes)) => Err(match (self.thrown)(&bytes) {
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
